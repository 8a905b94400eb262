// SPDX-License-Identifier: Apache-2.0
#include "service/http/json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::http {

namespace {

using nlohmann::json;

// nlohmann's id of the fault "number overflow": JSON by its grammar, but no double holds it.
constexpr int number_overflow = 406;

// A member's name in a pointer is cut after this many bytes.
constexpr std::size_t name_bytes_max = 100;

// Builds the value, and refuses what the library's own reader lets through.
class strict_builder final : public json::json_sax_t {
public:
    bool null() override { return place(nullptr); }
    bool boolean(bool value) override { return place(value); }
    bool number_integer(json::number_integer_t value) override { return place(value); }
    bool number_unsigned(json::number_unsigned_t value) override { return place(value); }
    bool number_float(json::number_float_t value, std::string const& text) override
    {
        // An integer that 64 bits cannot hold comes as the nearest double: another number.
        if (text.find_first_of(".eE") == std::string::npos)
            faults_.add(pointer(), "is an integer that 64 bits cannot hold");
        return place(value);
    }
    bool string(std::string& value) override { return place(std::move(value)); }
    bool binary(json::binary_t&) override { return false; }

    bool start_object(std::size_t) override { return open(json::object()); }
    bool start_array(std::size_t) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(std::string& name) override
    {
        auto& within = frames_.back();
        within.key = std::move(name);
        if (within.container->contains(within.key))
            faults_.add(pointer(), "is there more than once");
        return true;
    }

    bool parse_error(std::size_t position, std::string const&,
                     nlohmann::detail::exception const& fault) override
    {
        if (fault.id == number_overflow)
            faults_.add(pointer(), "is a number too large to be read");
        else
            malformed_at_ = position;
        return false;
    }

    std::optional<std::size_t> malformed_at() const { return malformed_at_; }
    invalid_members const& faults() const { return faults_; }
    json take() && { return std::move(root_); }

private:
    // An object or array that is not complete yet. While it is open nothing is added to the one
    // around it, so the pointer stays good.
    struct frame {
        json* container;
        std::string key;
    };

    bool place(json value)
    {
        put(std::move(value));
        return true;
    }

    json* put(json value)
    {
        if (frames_.empty()) {
            root_ = std::move(value);
            return &root_;
        }
        auto& [container, key] = frames_.back();
        if (container->is_array()) {
            container->push_back(std::move(value));
            return &container->back();
        }
        return &((*container)[key] = std::move(value));
    }

    bool open(json container)
    {
        if (frames_.size() == json_depth_max) {
            faults_.add(pointer(), "is nested deeper than " + std::to_string(json_depth_max));
            return false;
        }
        auto* const placed = put(std::move(container));
        frames_.push_back({placed, {}});
        return true;
    }

    bool close()
    {
        frames_.pop_back();
        return true;
    }

    // Where the value that comes next will stand.
    std::string pointer() const
    {
        std::string text;
        for (auto const& within : frames_) {
            if (within.container->is_object())
                text = pointer_to(text, within.key);
            else
                text = pointer_to(text,
                                  within.container->size() - (&within == &frames_.back() ? 0 : 1));
        }
        return text;
    }

    json root_;
    std::vector<frame> frames_;
    invalid_members faults_;
    std::optional<std::size_t> malformed_at_;
};

refusal malformed(std::string detail)
{
    return {.code = errc::malformed_json, .detail = std::move(detail)};
}

refusal malformed_near(std::size_t position)
{
    return malformed(
        fmt::format("The body is not valid JSON; reading stopped near byte {}.", position));
}

} // namespace

void invalid_members::add(std::string pointer, std::string detail)
{
    if (count_++ < faults_listed_max)
        listed_.push_back({.pointer = std::move(pointer), .detail = std::move(detail)});
}

refusal invalid_members::to_refusal() const
{
    auto detail = fmt::format("The request has {} fault{}", count_, count_ == 1 ? "" : "s");
    if (count_ > listed_.size())
        detail += fmt::format("; the first {} are listed", listed_.size());
    return {.code = errc::validation_failed, .detail = detail + ".", .errors = listed_};
}

result<void> refuse_if_any(invalid_members const& faults)
{
    if (!faults.is_empty())
        return faults.to_refusal();
    return {};
}

result<json> parse_json(std::string_view text)
{
    if (text.empty())
        return malformed("The body is empty; send a JSON object.");
    // The library takes a NUL for the end of the text and would not look at what follows.
    if (auto const nul = text.find('\0'); nul != std::string_view::npos)
        return malformed_near(nul + 1);

    strict_builder builder;
    auto const is_whole = json::sax_parse(text, &builder);
    if (auto const position = builder.malformed_at())
        return malformed_near(*position);
    if (!is_whole || !builder.faults().is_empty())
        return builder.faults().to_refusal();
    return {boost::system::in_place_value, std::move(builder).take()};
}

result<json> parse_optional_json(std::string_view text)
{
    if (text.empty())
        return {boost::system::in_place_value, json::object()};
    return parse_json(text);
}

std::string pointer_to(std::string_view parent, std::string_view member)
{
    auto end = std::min(member.size(), name_bytes_max);
    while (end < member.size() && end > 0 &&
           (static_cast<unsigned char>(member[end]) & 0xC0U) == 0x80U)
        --end;

    std::string pointer(parent);
    pointer += '/';
    for (char const c : member.substr(0, end)) {
        if (c == '~')
            pointer += "~0";
        else if (c == '/')
            pointer += "~1";
        else
            pointer += c;
    }
    if (end < member.size())
        pointer += "…";
    return pointer;
}

std::string pointer_to(std::string_view parent, std::size_t index)
{
    return std::string(parent) + '/' + std::to_string(index);
}

} // namespace holdfast::http
