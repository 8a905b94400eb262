// SPDX-License-Identifier: Apache-2.0
// Items, their levels and their ledger; corrections.

#include "service/http/handlers.hpp"
#include "service/http/outcome_reply.hpp"
#include "service/http/problem.hpp"
#include "service/http/text.hpp"
#include "service/http/wire.hpp"
#include "stock/percent.hpp"

namespace holdfast::http {

namespace {

// What Redis says of it, where it stands before the item.
boost::asio::awaitable<std::optional<fast_path::standing>> before_item(sku const& name,
                                                                       app& service)
{
    if (!service.roster.now()->contains(name.str()))
        co_return std::nullopt;
    std::optional const only(name);
    auto const standing = co_await service.inspector.show(only);
    if (standing.empty())
        co_return std::nullopt;
    co_return standing.front();
}

// Names the settings of an item, whatever becomes of its numbers.
void add_tag(reply& r, item const& of)
{
    r.headers.emplace_back("ETag", '"' + settings_tag(of.settings) + '"');
}

reply not_as_expected(item const& present, bool must_be_new, request const& req)
{
    refusal const why{.code = errc::precondition_failed,
                      .detail = must_be_new
                                    ? "There is such an item already; nothing was done."
                                    : "Others have changed the settings since; nothing was done."};
    auto answer = problem(why, req, to_json(present));
    add_tag(answer, present);
    return answer;
}

refusal not_conditional()
{
    return {.code = errc::precondition_required,
            .detail = "People send If-Match with the ETag of the item they saw, or "
                      "If-None-Match: * to make one."};
}

} // namespace

// GET /v1/stock
pending_reply list_items(request const& req, app& service)
{
    auto filter = parse_item_filter(req);
    if (!filter)
        co_return problem(filter.error(), req);

    auto const limit = filter->limit++;
    auto const list = [&](db::link& db) { return service.catalogue.list(db, *filter); };
    auto const found = co_await service.workers.run(list);

    co_return reply{.body = to_page(found, limit)};
}

// PUT /v1/stock/{sku}
pending_reply put_item(request const& req, app& service)
{
    auto const command = parse_put_item(req);
    if (!command)
        co_return problem(command.error(), req);
    // A person changes what is on a screen, and that may be old; a program says what shall be.
    if (req.who.staff_id && !command->if_match && !command->must_be_new)
        co_return problem(not_conditional(), req);

    auto const put = [&](db::link& db) { return service.catalogue.put(db, *command); };
    auto const answer = co_await service.workers.run(put);
    if (!answer)
        co_return problem(answer.error(), req);

    if (!answer->is_match)
        co_return not_as_expected(answer->item, command->must_be_new, req);

    reply put_reply{.status = answer->is_new ? 201 : 200, .body = to_json(answer->item)};
    add_tag(put_reply, answer->item);
    if (answer->is_new)
        put_reply.headers.emplace_back("Location",
                                       "/v1/stock/" + percent_encoded(command->sku.str()));
    co_return put_reply;
}

// GET /v1/stock/{sku}
pending_reply show_item(request const& req, app& service)
{
    auto const name = parse_sku(req);
    if (!name)
        co_return problem(name.error(), req);

    auto const show = [&](db::link& db) { return service.catalogue.show(db, *name); };
    auto const answer = co_await service.workers.run(show);
    if (!answer)
        co_return problem(answer.error(), req);

    auto const before = co_await before_item(*name, service);
    reply shown{.body = to_json(*answer, before)};
    add_tag(shown, *answer);
    co_return shown;
}

// GET /v1/stock/{sku}/why
pending_reply explain_item(request const& req, app& service)
{
    auto const query = parse_explanation_query(req);
    if (!query)
        co_return problem(query.error(), req);

    auto const look = [&](db::link& db) { return explain(db, query->sku, query->only); };
    auto const answer = co_await service.workers.run(look);
    if (!answer)
        co_return problem(answer.error(), req);

    co_return reply{.body = to_json(*answer)};
}

// POST /v1/stock/{sku}/adjustments
pending_reply adjust_stock(request const& req, app& service)
{
    auto const command = parse_adjust(req);
    if (!command)
        co_return problem(command.error(), req);

    auto const adjust = [&](db::link& db) { return service.adjustments.adjust(db, *command); };
    auto const answer = co_await service.workers.run(adjust);
    if (!answer)
        co_return problem(answer.error(), req);

    co_return done(*answer, 201);
}

// POST /v1/adjustments
pending_reply adjust_many(request const& req, app& service)
{
    auto const command = parse_bulk_adjust(req);
    if (!command)
        co_return problem(command.error(), req);

    auto const adjust = [&](db::link& db) { return service.adjustments.adjust_all(db, *command); };
    auto const answer = co_await service.workers.run(adjust);
    if (!answer)
        co_return problem(answer.error(), req);

    co_return done(*answer, 201);
}

// POST /v1/transfers
pending_reply transfer_stock(request const& req, app& service)
{
    auto const command = parse_transfer(req);
    if (!command)
        co_return problem(command.error(), req);

    auto const transfer = [&](db::link& db) { return service.adjustments.transfer(db, *command); };
    auto const answer = co_await service.workers.run(transfer);
    if (!answer)
        co_return problem(answer.error(), req);

    co_return done(*answer, 201);
}

// GET /v1/stock/{sku}/movements
pending_reply list_movements(request const& req, app& service)
{
    auto filter = parse_movement_filter(req);
    if (!filter)
        co_return problem(filter.error(), req);

    auto const limit = filter->limit++;
    auto const list = [&](db::link& db) { return service.catalogue.movements(db, *filter); };
    auto const answer = co_await service.workers.run(list);
    if (!answer)
        co_return problem(answer.error(), req);

    co_return reply{.body = to_page(*answer, limit)};
}

} // namespace holdfast::http
