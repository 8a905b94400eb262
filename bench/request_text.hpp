// SPDX-License-Identifier: Apache-2.0
// The bytes of requests that differ only in their key and their item, put together once: what is
// written anew for each of them is a few digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::bench {

class request_text {
public:
    // In the pattern a run of '#' stands for the digits of the key and a run of '@' for those of
    // the item. Either may be absent; neither sign may stand for itself.
    explicit request_text(std::string pattern);

    // Valid until the next call. Numbers are cut to the digits there are room for.
    [[nodiscard]] std::string_view with(std::uint64_t key, std::uint64_t item);

private:
    struct place {
        std::size_t at = 0;
        std::size_t digits = 0;
    };

    [[nodiscard]] place place_of(char sign) const;
    void write(place const&, std::uint64_t number);

    std::string text_;
    place key_;
    place item_;
};

} // namespace holdfast::bench
