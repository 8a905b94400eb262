// SPDX-License-Identifier: Apache-2.0
// The names of things on shelves: a SKU, a location, and the two together.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// What a piece of text from outside may be: valid UTF-8, no control characters, at most
// `length_max` Unicode characters. Returns what is wrong, or nothing.
[[nodiscard]] std::optional<std::string> fault_of_text(std::string_view text,
                                                       std::size_t length_max);

// A stock keeping unit: 1-100 Unicode characters in NFC (Unicode Standard Annex 15), no control
// characters, no white space at either end; compared byte for byte, so case matters.
class sku {
public:
    // Says what is wrong with a would-be SKU, or nothing when it is one.
    [[nodiscard]] static std::optional<std::string> fault_of(std::string_view text);

    // Precondition: fault_of(text) is empty. Text from the database or already checked.
    explicit sku(std::string text) : text_(std::move(text)) {}

    [[nodiscard]] std::string const& str() const noexcept { return text_; }

    auto operator<=>(sku const&) const = default;

private:
    std::string text_;
};

// 12 bits that stand for a SKU, the same in every process: reservations carry those of their first
// SKU in their ids (uuid::hint), so that whatever concerns one hot SKU can be done in one place.
[[nodiscard]] std::uint16_t hint_of(sku const&) noexcept;

// Where units are: 1-50 of [a-z0-9_-]. Most shops have one, called "main".
class location {
public:
    [[nodiscard]] static std::optional<std::string> fault_of(std::string_view text);

    location() : text_("main") {}
    explicit location(std::string text) : text_(std::move(text)) {}

    [[nodiscard]] std::string const& str() const noexcept { return text_; }

    auto operator<=>(location const&) const = default;

private:
    std::string text_;
};

// Names one stock level. Its order is the global order in which levels are locked.
struct level_key {
    holdfast::sku sku;
    holdfast::location location;

    auto operator<=>(level_key const&) const = default;
};

} // namespace holdfast
