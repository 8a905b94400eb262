// SPDX-License-Identifier: Apache-2.0
// Writes JSON as the API, webhooks and streams give it.
#pragma once

#include "stock/clock.hpp"
#include "stock/sku.hpp"
#include "stock/uuid.hpp"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

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

} // namespace holdfast
