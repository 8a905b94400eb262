// SPDX-License-Identifier: Apache-2.0
// The refusals of single rows of one request, gathered into that of the whole.
#pragma once

#include "stock/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

class refused_rows {
public:
    // The rows are elements of `member`, such as "rows". It has to outlive this.
    explicit refused_rows(std::string_view member) : member_(member) {}

    void add(std::size_t row, std::string of_sku, refusal why)
    {
        first_ = rows_.empty() ? why.code : std::min(first_, why.code);
        if (++count_ <= listed_max)
            rows_.push_back({.pointer = fmt::format("/{}/{}", member_, row),
                             .detail = std::move(why.detail),
                             .code = why.code,
                             .sku = std::move(of_sku)});
    }

    // The same of a row of a file, counted as an editor counts.
    void add_line(std::size_t line, std::string of_sku, refusal why)
    {
        add(line, std::move(of_sku), std::move(why));
        if (count_ <= listed_max)
            rows_.back().row = line;
    }

    [[nodiscard]] bool is_empty() const noexcept { return rows_.empty(); }

    // Its code is the one of the rows that takes precedence.
    [[nodiscard]] refusal to_refusal() &&
    {
        return {.code = first_,
                .detail = fmt::format("Rows that are refused: {}. Nothing was changed.", count_),
                .errors = std::move(rows_)};
    }

private:
    static constexpr std::size_t listed_max = 1000;

    std::string_view member_;
    std::vector<invalid_member> rows_;
    std::size_t count_ = 0;
    errc first_ = errc::validation_failed;
};

} // namespace holdfast
