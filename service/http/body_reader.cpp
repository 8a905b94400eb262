// SPDX-License-Identifier: Apache-2.0
#include "service/http/body_reader.hpp"

#include "service/http/text.hpp"
#include "stock/sku.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <set>

namespace holdfast::http {

namespace {

using nlohmann::json;

constexpr std::size_t limit_default = 50;
constexpr std::size_t limit_max = 200;

constexpr std::string_view query_pointer = "/query";
constexpr std::string_view instant_fault =
    "must be an RFC 3339 time in UTC, such as 2026-11-29T09:00:00Z";

bool is_among(std::span<std::string_view const> allowed, std::string_view text)
{
    return std::ranges::find(allowed, text) != allowed.end();
}

// Checks that a text is one of these.
auto among(std::span<std::string_view const> allowed)
{
    return [allowed](std::string_view text) -> std::optional<std::string> {
        if (is_among(allowed, text))
            return std::nullopt;
        return fmt::format("must be one of {}", fmt::join(allowed, ", "));
    };
}

// The value of a plain integer, not of 1.0 or 1e3. Nothing when it is none, or no int64 holds it.
std::optional<units> plain_integer(json const& value)
{
    if (value.is_number_unsigned()) {
        auto const number = value.get<std::uint64_t>();
        if (number > static_cast<std::uint64_t>(std::numeric_limits<units>::max()))
            return std::nullopt;
        return static_cast<units>(number);
    }
    if (value.is_number_integer())
        return value.get<units>();
    return std::nullopt;
}

} // namespace

std::optional<std::string> fault_of_text(std::string_view text, text_rule const& rule)
{
    if (text.empty() && rule.length_min > 0)
        return "must not be empty";
    if (!rule.may_have_lines)
        return holdfast::fault_of_text(text, rule.length_max);

    std::string flat(text);
    std::ranges::replace_if(
        flat, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return holdfast::fault_of_text(flat, rule.length_max);
}

object_reader::object_reader(json const& value, std::string pointer, invalid_members& faults)
    : object_(value.is_object() ? &value : nullptr), pointer_(std::move(pointer)), faults_(&faults)
{
    if (object_ == nullptr)
        faults.add(pointer_, "must be an object");
}

bool object_reader::has(std::string_view name) const
{
    return object_ != nullptr && object_->contains(name);
}

bool object_reader::is_null(std::string_view name) const
{
    return has(name) && object_->find(name)->is_null();
}

void object_reader::require(std::string_view name)
{
    if (object_ != nullptr && !has(name))
        fault(name, "is required");
}

template <class FaultOf>
std::optional<std::string> object_reader::checked(json const* value, std::string_view name,
                                                  FaultOf fault_of)
{
    if (value == nullptr)
        return std::nullopt;
    auto const* const text = value->get_ptr<std::string const*>();
    auto const wrong = text == nullptr ? "must be a string" : fault_of(*text);
    if (wrong) {
        fault(name, *wrong);
        return std::nullopt;
    }
    return *text;
}

std::optional<std::string> object_reader::text(std::string_view name, text_rule const& rule)
{
    return checked(find(name), name, [&](std::string_view t) { return fault_of_text(t, rule); });
}

std::optional<std::string> object_reader::text_or_null(std::string_view name, text_rule const& rule)
{
    return checked(find_not_null(name), name,
                   [&](std::string_view t) { return fault_of_text(t, rule); });
}

std::optional<std::string> object_reader::text_or_null(std::string_view name, text_check fault_of)
{
    return checked(find_not_null(name), name, fault_of);
}

std::optional<std::string> object_reader::text(std::string_view name, text_check fault_of)
{
    return checked(find(name), name, fault_of);
}

std::optional<std::string> object_reader::one_of(std::string_view name,
                                                 std::span<std::string_view const> allowed)
{
    return checked(find(name), name, among(allowed));
}

std::optional<units> object_reader::integer(std::string_view name, integer_rule rule)
{
    auto const* const value = find(name);
    if (value == nullptr)
        return std::nullopt;
    auto const number = plain_integer(*value);
    if (!number || *number < rule.min || *number > rule.max) {
        fault(name, fmt::format("must be an integer between {} and {}", rule.min, rule.max));
        return std::nullopt;
    }
    return number;
}

std::optional<units> object_reader::integer_or_null(std::string_view name, integer_rule rule)
{
    return find_not_null(name) == nullptr ? std::nullopt : integer(name, rule);
}

std::optional<bool> object_reader::boolean(std::string_view name)
{
    auto const* const value = find(name);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_boolean()) {
        fault(name, "must be true or false");
        return std::nullopt;
    }
    return value->get<bool>();
}

std::optional<timestamp> object_reader::instant_or_null(std::string_view name)
{
    auto const* const value = find_not_null(name);
    if (value == nullptr)
        return std::nullopt;
    auto const* const text = value->get_ptr<std::string const*>();
    auto const at = text == nullptr ? std::nullopt : parse_rfc3339(*text);
    if (!at)
        fault(name, std::string(instant_fault));
    return at;
}

std::optional<uuid> object_reader::id_or_null(std::string_view name)
{
    auto const* const value = find_not_null(name);
    if (value == nullptr)
        return std::nullopt;
    auto const* const text = value->get_ptr<std::string const*>();
    auto const id = text == nullptr ? std::nullopt : uuid::parse(*text);
    if (!id)
        fault(name, "must be a UUID");
    return id;
}

std::optional<std::string> object_reader::free_object(std::string_view name, std::size_t bytes_max)
{
    auto const* const value = find(name);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_object()) {
        fault(name, "must be an object");
        return std::nullopt;
    }
    auto text = value->dump();
    if (text.size() > bytes_max) {
        fault(name, fmt::format("must be at most {} bytes without white space", bytes_max));
        return std::nullopt;
    }
    return text;
}

std::vector<object_reader> object_reader::objects(std::string_view name, std::size_t count_max)
{
    auto const* const value = find(name);
    if (value == nullptr)
        return {};
    if (!value->is_array() || value->empty() || value->size() > count_max) {
        fault(name, fmt::format("must be an array of 1 to {} objects", count_max));
        return {};
    }
    auto const pointer = pointer_to(pointer_, name);
    std::vector<object_reader> readers;
    readers.reserve(value->size());
    for (std::size_t i = 0; i < value->size(); ++i)
        readers.emplace_back((*value)[i], pointer_to(pointer, i), *faults_);
    return readers;
}

std::optional<std::vector<std::string>>
object_reader::words_or_null(std::string_view name, std::span<std::string_view const> allowed)
{
    auto const* const value = find_not_null(name);
    if (value == nullptr)
        return std::nullopt;
    std::vector<std::string> words;
    bool is_right = value->is_array() && !value->empty();
    for (auto const& each : *value) {
        auto const* const word = each.get_ptr<std::string const*>();
        is_right = is_right && word != nullptr && std::ranges::count(allowed, *word) > 0 &&
                   std::ranges::count(words, *word) == 0;
        if (is_right)
            words.push_back(*word);
    }
    if (is_right)
        return words;
    fault(name, fmt::format("must be an array of one or more of {}", fmt::join(allowed, ", ")));
    return std::nullopt;
}

std::optional<std::vector<std::string>>
object_reader::texts_or_null(std::string_view name, text_check fault_of, std::size_t count_max)
{
    auto const* const value = find_not_null(name);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_array() || value->empty() || value->size() > count_max) {
        fault(name, fmt::format("must be an array of 1 to {} strings", count_max));
        return std::nullopt;
    }
    auto const pointer = pointer_to(pointer_, name);
    std::vector<std::string> texts;
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < value->size(); ++i) {
        auto const* const text = (*value)[i].get_ptr<std::string const*>();
        auto wrong = text == nullptr ? "must be a string" : fault_of(*text);
        if (!wrong && !seen.insert(*text).second)
            wrong = "stands there already";
        if (wrong)
            faults_->add(pointer_to(pointer, i), std::move(*wrong));
        else
            texts.push_back(*text);
    }
    return texts;
}

void object_reader::fault(std::string_view name, std::string detail)
{
    faults_->add(name.empty() ? pointer_ : pointer_to(pointer_, name), std::move(detail));
}

void object_reader::finish()
{
    if (object_ == nullptr)
        return;
    for (auto const& [name, value] : object_->items())
        if (!is_among(known_, name))
            faults_->add(pointer_to(pointer_, name), "is not a known member");
}

json const* object_reader::find(std::string_view name)
{
    known_.push_back(name);
    return has(name) ? &*object_->find(name) : nullptr;
}

json const* object_reader::find_not_null(std::string_view name)
{
    auto const* const value = find(name);
    return value == nullptr || value->is_null() ? nullptr : value;
}

query_reader::query_reader(std::span<std::pair<std::string, std::string> const> query,
                           invalid_members& faults)
    : query_(query), faults_(faults)
{}

void query_reader::require(std::string_view name)
{
    if (find(name) == nullptr)
        fault(name, "is required");
}

template <class FaultOf>
std::optional<std::string> query_reader::checked(std::string_view name, FaultOf fault_of)
{
    auto const* const value = find(name);
    if (value == nullptr)
        return std::nullopt;
    if (auto wrong = fault_of(*value)) {
        fault(name, std::move(*wrong));
        return std::nullopt;
    }
    return *value;
}

std::optional<std::string> query_reader::text(std::string_view name, text_rule const& rule)
{
    return checked(name, [&](std::string_view t) { return fault_of_text(t, rule); });
}

std::optional<std::string> query_reader::text(std::string_view name, text_check fault_of)
{
    return checked(name, fault_of);
}

std::optional<std::string> query_reader::one_of(std::string_view name,
                                                std::span<std::string_view const> allowed)
{
    return checked(name, among(allowed));
}

std::optional<bool> query_reader::boolean(std::string_view name)
{
    static constexpr std::array<std::string_view, 2> words{"true", "false"};
    auto const word = one_of(name, words);
    if (!word)
        return std::nullopt;
    return *word == "true";
}

std::optional<timestamp> query_reader::instant(std::string_view name)
{
    auto const* const value = find(name);
    if (value == nullptr)
        return std::nullopt;
    auto const at = parse_rfc3339(*value);
    if (!at)
        fault(name, std::string(instant_fault));
    return at;
}

std::size_t query_reader::limit()
{
    auto const* const value = find("limit");
    if (value == nullptr)
        return limit_default;
    std::size_t number = 0;
    auto const* const end = value->data() + value->size();
    auto const [stop, error] = std::from_chars(value->data(), end, number);
    if (error != std::errc() || stop != end || number < 1 || number > limit_max) {
        fault("limit", fmt::format("must be an integer between 1 and {}", limit_max));
        return limit_default;
    }
    return number;
}

std::optional<std::string> query_reader::cursor(std::string_view list)
{
    auto const* const value = find("cursor");
    if (value == nullptr || value->empty())
        return std::nullopt;
    auto last_shown = from_cursor(list, *value);
    if (!last_shown)
        fault("cursor", "must be a next_cursor of this list");
    return last_shown;
}

std::optional<uuid> query_reader::id_cursor(std::string_view list)
{
    auto const last_shown = cursor(list);
    if (!last_shown)
        return std::nullopt;
    auto const id = uuid::parse(*last_shown);
    if (!id)
        fault("cursor", "must be a next_cursor of this list");
    return id;
}

std::optional<std::int64_t> query_reader::number_cursor(std::string_view list)
{
    auto const last_shown = cursor(list);
    if (!last_shown)
        return std::nullopt;
    auto const number = parse_number(*last_shown);
    if (!number)
        fault("cursor", "must be a next_cursor of this list");
    return number;
}

void query_reader::fault(std::string_view name, std::string detail)
{
    faults_.add(pointer_to(query_pointer, name), std::move(detail));
}

void query_reader::finish()
{
    std::set<std::string_view> seen;
    for (auto const& [name, value] : query_) {
        if (holdfast::fault_of_text(name, name.size()))
            faults_.add(std::string(query_pointer), "has a parameter whose name is not plain text");
        else if (!is_among(known_, name))
            fault(name, "is not a known parameter");
        else if (!seen.insert(name).second)
            fault(name, "is there more than once");
    }
}

std::string const* query_reader::find(std::string_view name)
{
    known_.push_back(name);
    auto const found = std::ranges::find(query_, name, &std::pair<std::string, std::string>::first);
    return found == query_.end() ? nullptr : &found->second;
}

} // namespace holdfast::http
