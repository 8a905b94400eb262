// SPDX-License-Identifier: Apache-2.0
// A till of a shop: one connection to a running service, with the verbs of the API as functions.
// What a test is about (quantities, settings, instants) stands in the test, not here.
#pragma once

#include "tests/support/http_client.hpp"
#include "tests/support/service_process.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

using nlohmann::json;
using std::chrono::sys_time;
using instant = sys_time<std::chrono::microseconds>;

// Every way there is to take units from a level. What holds for one has to hold for all.
inline constexpr std::array<char const*, 4> strategies{"batched", "conditional_update",
                                                       "optimistic", "row_lock"};

struct line {
    std::string sku;
    std::int64_t quantity = 1;
    std::string location = "main";
};

struct level {
    std::int64_t on_hand = 0;
    std::int64_t reserved = 0;
    std::int64_t available = 0;

    bool operator==(level const&) const = default;
};

std::ostream& operator<<(std::ostream& out, level const& shown);

// One till. For one thread at a time; open several for a rush.
class shop {
public:
    explicit shop(service_process const& service);

    // Puts a new item on sale under a SKU nobody has used, and returns the SKU.
    std::string item(std::int64_t on_hand, json settings = json::object());

    // PUT /v1/stock/{sku}
    http_response put_item(std::string_view sku, json const& settings);

    // `more` holds what the request has besides its lines.
    http_response reserve(std::vector<line> const& lines, json more = json::object());
    http_response reserve(std::string const& sku, std::int64_t quantity = 1);

    // Reserves and returns the id. Throws when it is refused.
    std::string hold(std::vector<line> const& lines, json more = json::object());

    http_response confirm(std::string const& id, json const& body = nullptr);
    http_response release(std::string const& id);
    http_response extend(std::string const& id, std::int64_t ttl_seconds);

    // Returns of goods that go back on the shelf, unless `more` says otherwise.
    http_response give_back(std::string const& id, std::vector<line> const& lines,
                            json more = {{"restock", true}});

    http_response adjust(std::string_view sku, json const& body);
    http_response import_csv(std::string_view mode, std::string csv);

    http_response get(std::string const& target);
    http_response post(std::string const& target, json const& body);

    // Sends a body as it stands, JSON or not, with an Idempotency-Key of its own.
    http_response post_text(std::string const& target, std::string body);

    // What the shop sees of an item: its totals over all locations.
    level level_of(std::string_view sku);
    json item_of(std::string_view sku);
    json reservation(std::string const& id);

    // Every reservation a list with this query shows, page by page.
    std::vector<json> reservations(std::string const& query);

    // The whole ledger of an item, oldest line first.
    std::vector<json> movements(std::string_view sku);

    // What the ledger says the level is: the sum of all that ever happened to an item.
    level ledger_of(std::string_view sku);

    // Waits until a hold counts as expired, by asking. Throws after a few seconds.
    void wait_until_expired(std::string const& id);

    // True when every number in the database is the sum of its ledger and no promise is broken.
    // Throws with the violations otherwise.
    bool audit_ok();

    http_client& http() noexcept { return http_; }

private:
    std::vector<json> pages(std::string const& target);

    http_client http_;
};

// n tills of one service, connected and ready.
[[nodiscard]] std::vector<shop> shops(service_process const& service, std::size_t n);

// "201", or "409 insufficient-stock": the status, and the problem's code when it is one.
[[nodiscard]] std::string outcome(http_response const& answer);

// How often each outcome came, such as "1 x 201, 49 x 409 insufficient-stock".
[[nodiscard]] std::string tally(std::vector<http_response> const& answers);

[[nodiscard]] std::size_t count(std::vector<http_response> const& answers,
                                std::string_view wanted_outcome);

// The id in the answer to a reservation.
[[nodiscard]] std::string id_of(http_response const& answer);

// What a refusal says is still available of a SKU. Throws when it does not mention it.
[[nodiscard]] std::int64_t available_in(http_response const& refusal, std::string_view sku);

// The pointers of a validation problem, in the order given, parted by blanks.
[[nodiscard]] std::string pointers_in(http_response const& refusal);

// An RFC 3339 time in UTC, as the API writes it. Throws for any other shape.
[[nodiscard]] instant to_instant(std::string const& text);

// A name that no other call of this run has returned.
[[nodiscard]] std::string unique(std::string_view prefix);

// What random tests begin from: HOLDFAST_SEED, or a new number each run. Printed at the start.
[[nodiscard]] std::uint64_t seed();

} // namespace holdfast::test
