// SPDX-License-Identifier: Apache-2.0
// JSON as the API takes it and gives it: a strict reader, and a writer for answers.
#pragma once

#include "stock/clock.hpp"
#include "stock/result.hpp"
#include "stock/sku.hpp"
#include "stock/uuid.hpp"

#include <nlohmann/json_fwd.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::http {

// Faults of one request that are told; more than these are only counted, so that a hostile body
// cannot have an answer many times its size.
inline constexpr std::size_t faults_listed_max = 100;

// Gathers what is wrong with a request while reading goes on.
class invalid_members {
public:
    void add(std::string pointer, std::string detail);

    [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }

    // A validation_failed that lists them. Precondition: not empty.
    [[nodiscard]] refusal to_refusal() const;

private:
    std::vector<invalid_member> listed_;
    std::size_t count_ = 0;
};

// How deep a body may nest, itself included.
inline constexpr std::size_t json_depth_max = 16;

// Reads one JSON text (RFC 8259) and nothing after it. Refusals: malformed_json, with the position
// and nothing of the text; validation_failed for duplicate keys (each of them), nesting deeper than
// json_depth_max, integers 64 bits cannot hold, and other numbers no double can hold.
[[nodiscard]] result<nlohmann::json> parse_json(std::string_view text);

// The pointer (RFC 6901) to a member or an element of what `parent` points to. The name of a member
// may be anything a caller sent, so a long one is cut.
[[nodiscard]] std::string pointer_to(std::string_view parent, std::string_view member);
[[nodiscard]] std::string pointer_to(std::string_view parent, std::size_t index);

// Writes compact JSON, members in the order told. Texts have to be UTF-8.
class json_writer {
public:
    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void end_array() { close(']'); }

    void key(std::string_view name);

    void null() { raw("null"); }
    void value(std::string_view text);
    void value(timestamp at) { value(to_rfc3339(at)); }
    void value(uuid const& id) { value(id.str()); }
    void value(sku const& s) { value(s.str()); }
    void value(location const& l) { value(l.str()); }

    template <std::same_as<bool> B>
    void value(B is_so)
    {
        raw(is_so ? "true" : "false");
    }

    template <std::integral I>
        requires(!std::same_as<I, bool>)
    void value(I number) { integer(static_cast<std::int64_t>(number)); }

    template <class T>
    void value(std::optional<T> const& maybe)
    {
        if (maybe)
            value(*maybe);
        else
            null();
    }

    template <class T>
    void member(std::string_view name, T const& v)
    {
        key(name);
        value(v);
    }

    // A value that is JSON already.
    void raw(std::string_view json);

    // What was written; the writer is empty then.
    [[nodiscard]] std::string take();

private:
    void open(char bracket);
    void close(char bracket);
    void separate();
    void quoted(std::string_view text);
    void integer(std::int64_t number);

    std::string text_;
    bool needs_comma_ = false;
};

} // namespace holdfast::http
