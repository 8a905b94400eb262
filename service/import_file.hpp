// SPDX-License-Identifier: Apache-2.0
// The file of an import, before anything is known of the items there are: its rows, and what is
// wrong with them.
#pragma once

#include "stock/csv.hpp"
#include "stock/quantity.hpp"
#include "stock/result.hpp"
#include "stock/sku.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// One row as the file has it. A setting that is absent or empty stays as it is.
struct import_row {
    std::size_t line = 0;
    level_key at;
    units quantity = 0;
    std::optional<std::string> name;
    std::optional<units> max_per_customer;
    std::optional<units> low_stock_at;
    std::optional<bool> on_sale;
};

// Collects the faults of a file, the first of them in full.
class fault_list {
public:
    // `of_sku` is empty where the row has none that can be named.
    void add(csv::cell_error what, std::string_view of_sku = {});

    // Those that reading the file has met.
    void add_all(csv::table&);

    [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }

    // validation_failed
    [[nodiscard]] refusal to_refusal() &&;

private:
    std::vector<invalid_member> errors_;
    std::size_t count_ = 0;
};

// Checks every row by itself, and that no two are about the same level or disagree about an item.
// Refusals: validation_failed, with the faults of the file.
[[nodiscard]] result<std::vector<import_row>> read_import_file(std::string_view text);

} // namespace holdfast
