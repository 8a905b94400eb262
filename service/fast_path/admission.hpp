// SPDX-License-Identifier: Apache-2.0
// What Redis makes of a request before PostgreSQL is asked: refused, or it may go on, with some of
// the units taken for it. Multi-SKU requests are taken SKU by SKU and undone when one refuses.
#pragma once

#include "redis/client.hpp"
#include "service/fast_path/calls.hpp"
#include "service/fast_path/queued_request.hpp"
#include "service/reservations.hpp"
#include "stock/result.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fast_path {

// An item that Redis stands before.
struct item {
    holdfast::sku sku;
    int buckets = 1;
    std::int64_t epoch = 0; // 0: not at the moment
    bool is_async = false;  // Redis may accept by itself what PostgreSQL is to have a moment later

    bool operator==(item const&) const = default;
};

using items = std::map<std::string, item, std::less<>>; // by SKU

// The lines of a request for one item.
struct part {
    item of;
    std::vector<line_request> lines;
    application wanted;
    int home = 0;
    int tried = 0;               // buckets
    std::vector<stand> stands;   // of its lines, over the buckets tried
    bool is_lost = false;        // Redis did not answer, or knows no such epoch
    bool is_to_be_noted = false; // at home, after it was served elsewhere
    bool may_only_replay = false;
    std::optional<fast_path::verdict> verdict = {};
    int bucket = 0;        // where it is pending
    std::string text = {}; // as it is queued already
};

class admission {
public:
    // Of the lines for items in the list; the command and the list outlive this. When others are
    // among the lines, or a hold is superseded, PostgreSQL decides, and Redis only has it pending.
    // It may be accepted by Redis alone if `may_be_queued`, and the item says so.
    admission(reserve_command const&, items const&, bool may_be_queued);
    admission(admission&&) = default;
    admission& operator=(admission&&) = default;

    [[nodiscard]] bool concerns_redis() const noexcept { return !parts_.empty(); }

    // Why the request is refused, if it is.
    [[nodiscard]] std::optional<refusal> refused() const;

    // Whether Redis has accepted it, now or when it was sent before; PostgreSQL need not be waited
    // for. Refusals: idempotency_key_reused, idempotency_key_in_progress.
    [[nodiscard]] std::optional<result<outcome<queued_request>>> accepted() const;

    // Whether it is refused unless an earlier request with its key has made something.
    [[nodiscard]] bool may_only_replay() const;

    // An item that Redis could not be asked about.
    [[nodiscard]] std::optional<item> lost() const;

    // What PostgreSQL has to be told of it.
    [[nodiscard]] uuid const& id() const noexcept { return id_; }
    [[nodiscard]] std::vector<fast_path_note> notes() const;

    [[nodiscard]] bool supersedes() const noexcept { return supersedes_.has_value(); }

    [[nodiscard]] std::vector<std::unique_ptr<part>>& parts() noexcept { return parts_; }
    [[nodiscard]] std::vector<std::unique_ptr<part>> const& parts() const noexcept
    {
        return parts_;
    }

private:
    [[nodiscard]] refusal shortage() const;

    uuid id_;
    request_key key_;
    std::optional<uuid> supersedes_;
    std::optional<queued_request> to_be_queued_;
    std::vector<std::unique_ptr<part>> parts_; // what they refer to in themselves stays in place
};

// What is to be told of a part, once it is known.
struct telling {
    item of;
    int bucket = 0;
    settlement what;
};

// Adds what a customer gave back of an item, as lines: units go to his home, and every bucket
// forgets what it knew of him, since each that served him has counted. Nothing when there is
// nothing to say.
void add_freed(std::vector<telling>& to, item const&, int home, settlement what);

// What came of a request that went on, for Redis. `answer` is empty when nothing did.
[[nodiscard]] std::vector<telling> tellings_of(admission const&,
                                               result<outcome<reservation>> const* answer);

// Asks Redis about all of them, those of one bucket in one call, and tells it what is known by now.
// Requests that end refused or lost have nothing taken afterwards. A redis::error of one call only
// makes its requests lost.
void admit(redis::client&, std::string_view prefix, std::span<admission* const>,
           std::span<telling const>);

} // namespace holdfast::fast_path
