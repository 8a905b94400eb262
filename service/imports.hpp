// SPDX-License-Identifier: Apache-2.0
// A catalogue or a delivery in one file: all of it or nothing, with every fault named by its row.
// What was applied can be undone for 30 days.
#pragma once

#include "db/imports.hpp"
#include "db/link.hpp"
#include "service/idempotency.hpp"
#include "service/metrics.hpp"
#include "service/trail.hpp"
#include "stock/result.hpp"
#include "stock/uuid.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// set: creates items and sets on hand; an item that is paused because the import that made it was
// undone is on sale again. add: adds to what is there. count: records a stocktake.
enum class import_mode { set, add, count };

enum class import_run { apply, preview };

struct import_command {
    request_key key;
    std::string actor;
    import_mode mode = import_mode::set;
    import_run run = import_run::apply;
    std::string_view csv; // as stock/csv.hpp reads it
    std::optional<std::string> request_id = {};
};

struct import_difference {
    std::size_t row = 0; // as an editor counts: the header is row 1
    level_key at;
    units on_hand_before = 0;
    units on_hand_after = 0;
    units short_after = 0;                       // units promised beyond what a stocktake found
    bool is_new = false;                         // the item did not exist
    std::vector<std::string_view> settings = {}; // of the item, those that change
};

struct import_report {
    std::optional<uuid> id; // of what was applied, and not before such ids were given
    import_mode mode = import_mode::set;
    import_run run = import_run::apply;
    std::size_t rows = 0;
    std::size_t created = 0; // rows whose item did not exist
    std::size_t changed = 0; // rows that change a level or a setting
    std::size_t unchanged = 0;
    std::vector<import_difference> differences; // the first 1000
    std::optional<timestamp> undone_at = {};    // of one that was applied before, if it was undone
};

// One that was applied, as it stands.
struct past_import {
    db::imports::row made;
    // Once it is undone: settings that others had changed since, and levels that somebody had said
    // a number for since. The first 1000 of each.
    std::vector<db::imports::kept_back> kept_back;
    std::vector<db::imports::moved_level> superseded;
};

struct import_filter {
    std::optional<uuid> before; // continue after this one: newest first
    std::size_t limit = 50;
};

struct undo_command {
    uuid id;
    staff by;
    bool allow_short = false;
};

// What stands in the ledger as the reference of what an import moved, or its undoing.
[[nodiscard]] std::string import_reference(uuid const&);

[[nodiscard]] std::string_view to_string(import_mode) noexcept;
[[nodiscard]] std::optional<import_mode> parse_import_mode(std::string_view) noexcept;

class imports {
public:
    explicit imports(metrics& m) : metrics_(m) {}

    // Refusals: idempotency_key_*, validation_failed (every faulty row; the first 100 are listed).
    [[nodiscard]] result<outcome<import_report>> run(db::link&, import_command const&) const;

    [[nodiscard]] std::vector<db::imports::row> list(db::link&, import_filter const&) const;

    // Refusals: not_found.
    [[nodiscard]] result<past_import> show(db::link&, uuid const&) const;

    // Moves every level back by as much as the import moved it, all of them or none, once; what
    // happened since stays. A level that was counted or set to a number since is left alone: that
    // number is the truth, with the import or without. Settings that are still what the import
    // wrote become what they were; items it made are paused. Refusals: not_found; of single rows
    // would_go_negative, would_be_short, quantity_overflow.
    [[nodiscard]] result<outcome<past_import>> undo(db::link&, undo_command const&) const;

private:
    metrics& metrics_;
};

} // namespace holdfast
