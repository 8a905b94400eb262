// SPDX-License-Identifier: Apache-2.0
// A reservation (in prose: a hold) and its lines. held -> confirmed | released | expired, each
// final.
#pragma once

#include "stock/clock.hpp"
#include "stock/quantity.hpp"
#include "stock/sku.hpp"
#include "stock/uuid.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

enum class reservation_state { held, confirmed, released, expired };

[[nodiscard]] std::string_view to_string(reservation_state) noexcept;
[[nodiscard]] std::optional<reservation_state> parse_reservation_state(std::string_view) noexcept;

struct reservation_line {
    level_key at;
    units quantity = 0;
    units confirmed = 0; // of quantity, deducted for good
    units returned = 0;  // of confirmed, brought back
    units restocked = 0; // of returned, on the shelf again

    bool operator==(reservation_line const&) const = default;
};

struct reservation {
    uuid id = {};
    reservation_state state = reservation_state::held;
    std::vector<reservation_line> lines = {}; // sorted by (sku, location), each once
    std::optional<std::string> customer = {};
    std::optional<std::string> reference = {};
    std::string metadata = "{}"; // a compact JSON object
    timestamp created_at = {};
    timestamp expires_at = {};
    std::optional<timestamp> settled_at = {}; // when the final state was reached
    std::optional<uuid> supersedes = {};
    std::optional<uuid> superseded_by = {};
    bool has_just_ended = false; // a hold until the call that returns it
};

// What a request for one may have.
inline constexpr std::size_t lines_max = 100;
inline constexpr std::size_t name_length_max = 200; // characters of customer and reference
inline constexpr std::size_t metadata_bytes_max = 4096;
inline constexpr std::int64_t ttl_seconds_max = 604'800;

// A quantity wanted, confirmed or returned at one level.
struct line_request {
    level_key at;
    units quantity = 0;
};

// Sums lines that name the same level and sorts them: the order in which levels are locked.
[[nodiscard]] std::vector<line_request> merged(std::vector<line_request>);

} // namespace holdfast
