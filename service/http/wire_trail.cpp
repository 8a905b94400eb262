// SPDX-License-Identifier: Apache-2.0
// The audit trail between messages and use cases.
#include "service/http/body_reader.hpp"
#include "service/http/text.hpp"
#include "service/http/wire.hpp"
#include "service/http/wire_page.hpp"
#include "service/json_writer.hpp"

#include <utility>

namespace holdfast::http {

namespace {

constexpr text_rule name_rule{.length_max = 300};

void write(json_writer& out, trail_entry const& entry)
{
    out.begin_object();
    out.member("id", std::to_string(entry.id));
    out.member("at", entry.at);
    out.member("actor", entry.actor);
    out.member("action", entry.action);
    out.member("subject", entry.subject);
    out.key("detail");
    out.raw(entry.detail);
    out.member("request_id", entry.request_id);
    out.end_object();
}

} // namespace

result<trail_filter> parse_trail_filter(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    trail_filter filter{.actor = query.text("actor", name_rule),
                        .subject = query.text("subject", name_rule),
                        .before = query.number_cursor(trail_list),
                        .limit = query.limit()};
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return filter;
}

std::string to_page(std::span<trail_entry const> found, std::size_t limit)
{
    return page(
        found, limit, [](json_writer& out, trail_entry const& entry) { write(out, entry); },
        [](trail_entry const& last) { return to_cursor(trail_list, std::to_string(last.id)); });
}

} // namespace holdfast::http
