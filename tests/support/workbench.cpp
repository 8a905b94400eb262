// SPDX-License-Identifier: Apache-2.0
#include "tests/support/workbench.hpp"

#include "assets.hpp"
#include "service/audit.hpp"
#include "service/secrets.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/shop.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <stdexcept>

namespace holdfast {

std::ostream& operator<<(std::ostream& out, stock_level const& shown)
{
    return out << "on hand " << shown.on_hand << ", reserved " << shown.reserved << ", version "
               << shown.version;
}

} // namespace holdfast

namespace holdfast::test {

namespace {

constexpr auto actor = "clerk";
constexpr std::int64_t api_key_id = 1;

// The database all others are copied from. PostgreSQL copies one that nobody else is connected to,
// so whoever copies it connects to it.
database const& pattern()
{
    static database const made;
    static bool const is_migrated = [] {
        db::session session({.connection = made.connection_string()});
        return !db::migrate(session, all_migrations()).empty();
    }();
    if (!is_migrated)
        throw std::logic_error("there are no migrations");
    return made;
}

// Of a keyword given twice, libpq takes the last.
sql_session administrator()
{
    return sql_session(pattern().connection_string() + " user=postgres");
}

std::string request_text(std::vector<line_request> const& lines, reserve_options const& options)
{
    std::string text = options.customer.value_or("") + '\n' + std::to_string(options.ttl.count()) +
                       (options.confirm_at_once ? " at once\n" : "\n") +
                       (options.supersedes ? options.supersedes->str() : "") +
                       options.token.value_or("");
    for (auto const& each : lines)
        text += '\n' + each.at.sku.str() + '\n' + each.at.location.str() + '\n' +
                std::to_string(each.quantity);
    return text;
}

} // namespace

std::span<db::migration const> all_migrations()
{
    return assets::schema;
}

migrated_database::migrated_database()
{
    static std::atomic<int> count{0};
    name_ = "m_" + std::to_string(++count);
    auto session = administrator();
    auto const copied = session.value("SELECT current_database()");
    session.run("CREATE DATABASE " + name_ + " OWNER holdfast TEMPLATE " + copied);
    connection_string_ = pattern().connection_string() + " dbname=" + name_;
}

migrated_database::~migrated_database()
{
    auto const* wish = std::getenv("KEEP_TEST_DB");
    if (wish != nullptr && std::string_view(wish) == "1") {
        std::printf("test database: %s\n", connection_string_.c_str());
        return;
    }
    try {
        administrator().run("DROP DATABASE " + name_ + " WITH (FORCE)");
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s was not dropped: %s\n", name_.c_str(), error.what());
    }
}

void migrated_database::set(std::string_view setting, std::string_view value) const
{
    administrator().run("ALTER DATABASE " + name_ + " SET " + std::string(setting) + " = '" +
                        std::string(value) + "'");
}

workbench::workbench(migrated_database const& database, workbench_options const& options)
    : link({.connection = options.connection_string.empty() ? database.connection_string()
                                                            : options.connection_string}),
      strategies([this](std::string_view strategy, std::size_t conflicts) {
          counters.strategy_conflicts(strategy, conflicts);
      }),
      counters("test"), reservations(strategies,
                                     {.default_strategy = options.strategy,
                                      .open_holds_per_customer = options.open_holds_per_customer},
                                     counters),
      catalogue(options.strategy, strategies.names()), adjustments(counters), imports(counters),
      counts(counters), sql(database.connection_string())
{}

level_key workbench::item(units on_hand)
{
    level_key at{new_sku(), location()};
    auto command = change_of(at.sku);
    command.on_hand = on_hand;
    auto const made = catalogue.put(link, command);
    if (!made)
        throw std::runtime_error("the item was refused: " + word_of(made));
    return at;
}

result<holdfast::outcome<reservation>> workbench::reserve(std::vector<line_request> lines,
                                                          reserve_options const& options)
{
    auto sorted = merged(std::move(lines));
    auto const text = request_text(sorted, options);
    return reservations.reserve(link, {.key = key_for(options.key.value_or(unique("key")), text),
                                       .actor = actor,
                                       .lines = std::move(sorted),
                                       .customer = options.customer,
                                       .reference = std::nullopt,
                                       .ttl = options.ttl,
                                       .confirm_at_once = options.confirm_at_once,
                                       .supersedes = options.supersedes,
                                       .token = options.token});
}

uuid workbench::hold(level_key const& at, units quantity)
{
    auto const made = reserve({{at, quantity}});
    if (!made)
        throw std::runtime_error("the hold was refused: " + word_of(made));
    return made->value.id;
}

stock_level workbench::row(level_key const& at)
{
    auto const rows = sql.run("SELECT on_hand, reserved, version FROM stock_level"
                              " WHERE sku = $1 AND location = $2",
                              {at.sku.str(), at.location.str()});
    if (rows.size() != 1)
        throw std::runtime_error("no level of " + at.sku.str() + " at " + at.location.str());
    return {.on_hand = std::stoll(*rows[0][0]),
            .reserved = std::stoll(*rows[0][1]),
            .version = std::stoll(*rows[0][2])};
}

void workbench::let_lapse(uuid const& id)
{
    sql.run("WITH lapsed AS (UPDATE reservation SET expires_at = now() - interval '1 second'"
            " WHERE id = $1::uuid AND state = 'held' RETURNING id, expires_at)"
            " UPDATE reservation_line l SET held_until = lapsed.expires_at FROM lapsed"
            " WHERE l.reservation_id = lapsed.id",
            {id.str()});
}

std::string workbench::audit_findings()
{
    auto const report = run_audit(link);
    if (report.checked == 0)
        return "the audit looked at nothing";
    std::string text;
    for (auto const& v : report.violations)
        text += v.check + ' ' + v.sku + '@' + v.location + ": " + v.detail + '\n';
    return text;
}

bool somebody_waits(sql_session& session)
{
    return eventually(std::chrono::seconds(20), [&] {
        return session.value("SELECT count(*) FROM pg_stat_activity"
                             " WHERE datname = current_database() AND wait_event_type = 'Lock'") !=
               "0";
    });
}

request_key key_for(std::string text, std::string_view request)
{
    return {.api_key_id = api_key_id, .key = std::move(text), .fingerprint = fingerprint(request)};
}

request_key new_key(std::string_view request)
{
    return key_for(unique("key"), request);
}

put_item_command change_of(sku of)
{
    return {.sku = std::move(of),
            .actor = actor,
            .name = {},
            .on_sale = {},
            .sale_starts_at = {},
            .sale_ends_at = {},
            .max_per_customer = {},
            .low_stock_at = {},
            .strategy = {},
            .on_hand = {},
            .location = {}};
}

adjust_command correction_of(level_key at)
{
    return {.key = new_key(),
            .actor = actor,
            .at = std::move(at),
            .delta = {},
            .set_to = {},
            .expect_on_hand = {},
            .allow_short = false,
            .reason = "correction",
            .note = {},
            .reference = {}};
}

sku new_sku()
{
    return sku(unique("SKU"));
}

std::string word_of(errc code)
{
    std::string word(slug(code));
    std::ranges::replace(word, '-', '_');
    return word;
}

std::vector<std::string> modes_under_test()
{
    auto const* wish = std::getenv("HOLDFAST_STRATEGY_UNDER_TEST");
    strategy_registry const known;
    if (wish == nullptr)
        return known.names();
    if (!known.has(wish))
        throw std::invalid_argument("HOLDFAST_STRATEGY_UNDER_TEST names no strategy: " +
                                    std::string(wish));
    return {wish};
}

} // namespace holdfast::test
