// SPDX-License-Identifier: Apache-2.0
// Identifiers that sort by the time they were made: UUID version 7 (RFC 9562, section 5.7).
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

class uuid {
public:
    // A new id: this machine's clock to 1/4096 ms (section 6.2, method 3), then 62 random bits. Ids
    // made one after the other sort in that order. Nothing that matters is decided by their time.
    [[nodiscard]] static uuid make_v7();

    // The same with the caller's 12 bits as its last, so that whoever meets the id knows them
    // without looking anything up; 50 random bits remain. Only the lowest 12 bits of `hint` count.
    [[nodiscard]] static uuid make_v7(std::uint16_t hint);

    // Those 12 bits; of any other id, some number.
    [[nodiscard]] std::uint16_t hint() const noexcept;

    // Reads the canonical form, 8-4-4-4-12 hexadecimal digits in either case; nothing else is one.
    [[nodiscard]] static std::optional<uuid> parse(std::string_view text) noexcept;

    [[nodiscard]] std::string str() const;

    // The id as it is sent where bytes are sent.
    [[nodiscard]] std::array<std::uint8_t, 16> const& bytes() const noexcept { return bytes_; }
    [[nodiscard]] static uuid of(std::array<std::uint8_t, 16> const& bytes) noexcept
    {
        uuid id;
        id.bytes_ = bytes;
        return id;
    }

    // Behind every id there is: lists that show the newest first begin there.
    [[nodiscard]] static uuid last() noexcept
    {
        uuid id;
        id.bytes_.fill(0xff);
        return id;
    }

    auto operator<=>(uuid const&) const = default;

    static constexpr std::uint16_t hint_max = 0x0fff;

private:
    std::array<std::uint8_t, 16> bytes_{};
};

} // namespace holdfast
