// SPDX-License-Identifier: Apache-2.0
// What Redis says of an item against what PostgreSQL says, while both change.
//
// A unit that Redis may hand out is available in one of the buckets, or taken there by a request
// under way that PostgreSQL does not have yet; it is not when PostgreSQL has a request that Redis
// let through untaken and was not told of yet. Redis is looked at between two readings of
// PostgreSQL. Requests that PostgreSQL gets in between only make its later reading smaller, so what
// is missing by that one is missing for certain. What is too much is so for certain only if the
// level has the same version in both.
//
// Most of that is news: what ended, came back or was adjusted in PostgreSQL. Drift is what no news
// explains.
#pragma once

#include "db/fast_path.hpp"
#include "service/fast_path/admission.hpp"
#include "service/fast_path/calls.hpp"
#include "stock/quantity.hpp"
#include "stock/stock_level.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::fast_path {

// What PostgreSQL says of an item, by location.
using facts = std::map<std::string, db::fast_path::fact>;

[[nodiscard]] std::map<std::string, facts> by_sku(std::vector<db::fast_path::fact> const&);

// How many units Redis has to hand out at each location, requests that PostgreSQL has left out.
[[nodiscard]] std::map<std::string, units> handed_to_redis(std::vector<sight> const& buckets,
                                                           std::set<uuid> const& made);

struct difference {
    std::string location;
    units expected = 0; // available by PostgreSQL
    units found = 0;    // by Redis
};

// What is wrong for certain; found - expected is what has to go.
[[nodiscard]] std::vector<difference> differences(facts const& before, facts const& after,
                                                  std::map<std::string, units> const& found);

// A level that Redis was in line with, as PostgreSQL had it then.
struct agreed {
    std::int64_t version = 0;
    units available = 0;
    timestamp since; // by PostgreSQL's clock, when it was first read like this
};

using agreement = std::map<std::string, agreed>; // by location

// What is agreed on once Redis has been told what was wrong.
[[nodiscard]] agreement agree(agreement const& earlier, facts const& now);

// Of what is wrong, that which nothing in PostgreSQL explains: Redis was in line with the level,
// which is the same since then, and has been for so long that no news of it is on its way. News
// that comes after the level was read with it would be counted twice, and is soon seen to be. What
// was found is no more than a level may have, whatever somebody wrote.
[[nodiscard]] std::vector<difference> drifted(agreement const& earlier, facts const& now,
                                              std::vector<difference> const& wrong,
                                              std::chrono::milliseconds news_max);

[[nodiscard]] stock_level level_of(db::fast_path::fact const&);

// What a level is beside what its newest line of the ledger says.
struct ledger_fault {
    units expected = 0; // by the ledger
    units found = 0;
    std::string cause;
};

// Nothing when the ledger explains the level.
[[nodiscard]] std::optional<ledger_fault> ledger_fault_of(db::fast_path::fact const&);

// What each bucket gets and gives so that they have about the same: by bucket, then by location.
[[nodiscard]] std::vector<std::map<std::string, units>>
spread(std::vector<sight> const& buckets, std::vector<difference> const& wrong);

// Requests under way that are over: PostgreSQL has them, and nobody said so, or they have waited
// longer than any request may.
struct leftover {
    uuid id;
    int bucket = 0;
    fate what = fate::back;
};

[[nodiscard]] std::vector<leftover> leftovers(std::vector<sight> const& buckets,
                                              std::set<uuid> const& made);

// How many units those of them give back that nothing came of.
[[nodiscard]] std::map<std::string, units> given_back(std::vector<sight> const& buckets,
                                                      std::set<uuid> const& made);

} // namespace holdfast::fast_path
