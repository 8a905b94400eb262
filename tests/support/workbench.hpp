// SPDX-License-Identifier: Apache-2.0
// The use cases in this process, on a database of their own: no HTTP, no service to start. What a
// test is about (quantities, settings, instants) stands in the test, not here.
#pragma once

#include "db/link.hpp"
#include "db/migrate.hpp"
#include "service/adjustments.hpp"
#include "service/catalogue.hpp"
#include "service/counts.hpp"
#include "service/imports.hpp"
#include "service/metrics.hpp"
#include "service/reservations.hpp"
#include "strategies/registry.hpp"
#include "tests/support/database.hpp"

#include <chrono>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// How a failed check shows a level.
std::ostream& operator<<(std::ostream& out, stock_level const& shown);

} // namespace holdfast

namespace holdfast::test {

// The schema files that are built into the program.
[[nodiscard]] std::span<db::migration const> all_migrations();

// A database with the program's schema in it: a copy of one that was migrated once for all of them.
// Made and dropped by the main thread only.
class migrated_database {
public:
    migrated_database();
    migrated_database(migrated_database const&) = delete;
    migrated_database& operator=(migrated_database const&) = delete;
    ~migrated_database();

    [[nodiscard]] std::string const& connection_string() const noexcept
    {
        return connection_string_;
    }

    [[nodiscard]] sql_session session() const { return sql_session(connection_string_); }

    // ALTER DATABASE … SET, which holds for the sessions that begin after it.
    void set(std::string_view setting, std::string_view value) const;

private:
    std::string name_;
    std::string connection_string_;
};

struct workbench_options {
    std::string strategy = "batched";
    units open_holds_per_customer = 0;
    std::string connection_string = {}; // another way to the same database, such as through a gate
};

// What a reservation in a test has besides its lines.
struct reserve_options {
    std::optional<std::string> customer = {};
    std::optional<std::string> key = {}; // a new one when absent
    std::chrono::seconds ttl{900};
    bool confirm_at_once = false;
    std::optional<uuid> supersedes = {};
    std::optional<std::string> token = {};
};

// One worker with a session of its own. For one thread at a time; several may share a database.
struct workbench {
    explicit workbench(migrated_database const& database, workbench_options const& options = {});
    workbench(workbench const&) = delete;
    workbench& operator=(workbench const&) = delete;

    // Puts a new item on sale under a SKU nobody has used. Returns its level at "main".
    level_key item(units on_hand);

    result<holdfast::outcome<reservation>> reserve(std::vector<line_request> lines,
                                                   reserve_options const& options = {});

    // Reserves and returns the id. Throws when it is refused.
    uuid hold(level_key const& at, units quantity);

    // The level as its row has it. Throws when there is none.
    [[nodiscard]] stock_level row(level_key const& at);

    // Makes the time of a hold pass: it reads as if it had expired a second ago.
    void let_lapse(uuid const& id);

    // Empty when the audit finds nothing; else what it found.
    [[nodiscard]] std::string audit_findings();

    db::link link;
    strategy_registry strategies;
    metrics counters;
    holdfast::reservations reservations;
    holdfast::catalogue catalogue;
    holdfast::adjustments adjustments;
    holdfast::imports imports;
    holdfast::counts counts;
    sql_session sql; // for what a test does behind the service's back
};

// A key nobody has used, for a request that reads like `request`.
[[nodiscard]] request_key new_key(std::string_view request = "");

// The same key means the same request only with the same words.
[[nodiscard]] request_key key_for(std::string text, std::string_view request);

// A change of an item that names no member yet.
[[nodiscard]] put_item_command change_of(sku of);

// A correction with a new key that says neither by how much nor to what.
[[nodiscard]] adjust_command correction_of(level_key at);

// A SKU nobody has used.
[[nodiscard]] sku new_sku();

// Waits until somebody waits for a lock in this session's database. False after a long time.
[[nodiscard]] bool somebody_waits(sql_session& session);

// The slug of a refusal with underscores, or "ok".
template <class T>
[[nodiscard]] std::string word_of(result<T> const& answer);

[[nodiscard]] std::string word_of(errc code);

// The modes to test: HOLDFAST_STRATEGY_UNDER_TEST, or all there are.
[[nodiscard]] std::vector<std::string> modes_under_test();

template <class T>
std::string word_of(result<T> const& answer)
{
    return answer ? "ok" : word_of(answer.error().code);
}

} // namespace holdfast::test
