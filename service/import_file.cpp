// SPDX-License-Identifier: Apache-2.0
#include "service/import_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace holdfast {

namespace {

constexpr std::size_t errors_max = csv::errors_kept_max;
constexpr std::size_t name_length_max = 200;

class row_reader {
public:
    row_reader(csv::table const& t, fault_list& faults) : table_(t), faults_(faults) {}

    std::optional<import_row> read(csv::row const& r)
    {
        row_ = &r;
        added_ = 0;
        auto const sku_text = cell("sku");
        if (auto fault = sku::fault_of(sku_text))
            add("sku", "sku-invalid", *fault);
        auto const place = cell("location").empty() ? std::string_view("main") : cell("location");
        if (auto fault = location::fault_of(place))
            add("location", "location-invalid", *fault);
        auto const quantity = number("quantity", {0, level_max});
        if (!quantity && cell("quantity").empty())
            add("quantity", "value-missing", "is required");
        auto const name = cell("name");
        if (auto fault = fault_of_text(name, name_length_max))
            add("name", "name-invalid", *fault);
        import_row row{.line = r.line,
                       .at = {sku(std::string(sku_text)), location(std::string(place))},
                       .quantity = quantity.value_or(0),
                       .name = name.empty() ? std::nullopt : std::optional(std::string(name)),
                       .max_per_customer = number("max_per_customer", {1, quantity_max}),
                       .low_stock_at = number("low_stock_at", {0, level_max}),
                       .on_sale = flag("on_sale")};
        return added_ == 0 ? std::optional(std::move(row)) : std::nullopt;
    }

private:
    struct bounds {
        units min;
        units max;
    };

    void add(std::string_view column, std::string_view code, std::string detail)
    {
        ++added_;
        auto const of_sku = cell("sku");
        faults_.add({row_->line, std::string(column), std::move(detail), code},
                    sku::fault_of(of_sku) ? std::string_view() : of_sku);
    }

    std::string_view cell(std::string_view column) const
    {
        auto const at = table_.column_index(column);
        return at ? row_->cells[*at] : std::string_view();
    }

    std::optional<units> number(std::string_view column, bounds allowed)
    {
        auto const text = cell(column);
        if (text.empty())
            return std::nullopt;
        units value = 0;
        auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (problem != std::errc() || end != text.data() + text.size() || value < allowed.min ||
            value > allowed.max) {
            add(column, "number-invalid",
                fmt::format("must be a whole number from {} to {}", allowed.min, allowed.max));
            return std::nullopt;
        }
        return value;
    }

    std::optional<bool> flag(std::string_view column)
    {
        auto const text = cell(column);
        if (text.empty())
            return std::nullopt;
        // Spreadsheets write them in capitals.
        bool const is_true = text == "true" || text == "TRUE";
        if (!is_true && text != "false" && text != "FALSE")
            add(column, "flag-invalid", "must be true or false");
        return is_true;
    }

    csv::table const& table_;
    fault_list& faults_;
    csv::row const* row_ = nullptr;
    std::size_t added_ = 0;
};

void check_repeats(std::vector<import_row> const& rows, fault_list& faults)
{
    std::map<level_key, std::size_t> seen;
    std::map<std::string, import_row const*> settings;
    for (auto const& row : rows) {
        auto const [first, is_new] = seen.emplace(row.at, row.line);
        if (!is_new)
            faults.add({row.line, "sku",
                        fmt::format("this SKU and location stand in row {} already", first->second),
                        "row-repeated"},
                       row.at.sku.str());
        auto const [other, is_first] = settings.emplace(row.at.sku.str(), &row);
        auto const& o = *other->second;
        if (!is_first && (o.name != row.name || o.max_per_customer != row.max_per_customer ||
                          o.low_stock_at != row.low_stock_at || o.on_sale != row.on_sale))
            faults.add({row.line, "sku",
                        fmt::format("row {} has other settings for this item", o.line),
                        "settings-differ"},
                       row.at.sku.str());
    }
}

} // namespace

void fault_list::add(csv::cell_error what, std::string_view of_sku)
{
    if (++count_ > errors_max)
        return;
    auto pointer =
        "/rows/" + std::to_string(what.row) + (what.column.empty() ? "" : "/" + what.column);
    errors_.push_back({.pointer = std::move(pointer),
                       .detail = std::move(what.detail),
                       .row = what.row,
                       .column = std::move(what.column),
                       .fault = what.code});
    if (!of_sku.empty())
        errors_.back().sku = of_sku;
}

void fault_list::add_all(csv::table& t)
{
    for (auto& e : t.errors)
        add(std::move(e));
    count_ = std::max(count_, t.error_count);
}

refusal fault_list::to_refusal() &&
{
    return {.code = errc::validation_failed,
            .detail = fmt::format("Faults in the file: {}. Nothing was imported.", count_),
            .errors = std::move(errors_)};
}

result<std::vector<import_row>> read_import_file(std::string_view text)
{
    static csv::layout const layout{
        .required = {"sku", "quantity"},
        .optional = {"location", "name", "max_per_customer", "low_stock_at", "on_sale"}};
    auto table = csv::read(text, layout);
    fault_list faults;
    faults.add_all(table);
    std::vector<import_row> rows;
    rows.reserve(table.rows.size());
    row_reader reader(table, faults);
    for (auto const& r : table.rows)
        if (auto row = reader.read(r))
            rows.push_back(std::move(*row));
    check_repeats(rows, faults);
    if (!faults.is_empty())
        return std::move(faults).to_refusal();
    return rows;
}

} // namespace holdfast
