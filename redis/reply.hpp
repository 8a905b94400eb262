// SPDX-License-Identifier: Apache-2.0
// What Redis answers (RESP2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::redis {

// An error in the place of an answer. Its first word says which: NOSCRIPT, MOVED, OOM …; LOST is
// ours: the node did not answer, and whether the command was carried out is not known.
struct failure {
    std::string text;

    [[nodiscard]] std::string_view kind() const noexcept
    {
        return std::string_view(text).substr(0, text.find(' '));
    }
};

class reply {
public:
    using list = std::vector<reply>;

    reply() = default; // nil
    explicit reply(std::int64_t number) : value_(number) {}
    explicit reply(std::string text) : value_(std::move(text)) {}
    explicit reply(failure why) : value_(std::move(why)) {}
    explicit reply(list parts) : value_(std::move(parts)) {}

    [[nodiscard]] bool is_nil() const noexcept
    {
        return std::holds_alternative<std::monostate>(value_);
    }
    [[nodiscard]] failure const* why() const noexcept { return std::get_if<failure>(&value_); }

    // The answer as what it is to be; another kind is a broken contract and throws redis::error.
    [[nodiscard]] std::int64_t number() const; // also a text that is one
    [[nodiscard]] std::string const& text() const;
    [[nodiscard]] list const& parts() const;

private:
    [[noreturn]] void refuse(std::string_view wanted) const;

    std::variant<std::monostate, std::int64_t, std::string, failure, list> value_;
};

} // namespace holdfast::redis
