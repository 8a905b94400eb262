// SPDX-License-Identifier: Apache-2.0
// Reads the members of a body and the parameters of a query. Every fault is noted with its pointer
// and reading goes on, so that a caller hears of all of them at once.
#pragma once

#include "service/http/json.hpp"
#include "stock/clock.hpp"
#include "stock/quantity.hpp"
#include "stock/reservation.hpp"
#include "stock/uuid.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::http {

// Says what is wrong with a text, or nothing: sku::fault_of and its like.
using text_check = std::optional<std::string> (*)(std::string_view);

struct text_rule {
    std::size_t length_max;
    std::size_t length_min = 1;
    bool may_have_lines = false; // line feeds and tabs, as in a note
};

inline constexpr text_rule short_text_rule{.length_max = name_length_max}; // customer, reference
inline constexpr text_rule reason_rule{.length_max = 500};
inline constexpr text_rule note_rule{.length_max = 1000, .length_min = 0, .may_have_lines = true};

// What is wrong with a text by its rule, or nothing.
[[nodiscard]] std::optional<std::string> fault_of_text(std::string_view text, text_rule const&);

struct integer_rule {
    units min;
    units max;
};

// Reads one object. Each reading function returns nothing when the member is absent, and when it is
// faulty, which it then notes; null is a fault, except for the functions that say so.
class object_reader {
public:
    // `value` and `faults` have to outlive the reader. Notes a fault when `value` is no object.
    object_reader(nlohmann::json const& value, std::string pointer, invalid_members& faults);

    // Whether the member is there, whatever it holds.
    [[nodiscard]] bool has(std::string_view name) const;
    [[nodiscard]] bool is_null(std::string_view name) const;

    // Notes a fault when the member is absent.
    void require(std::string_view name);

    [[nodiscard]] std::optional<std::string> text(std::string_view name, text_rule const&);
    [[nodiscard]] std::optional<std::string> text(std::string_view name, text_check);
    [[nodiscard]] std::optional<std::string> one_of(std::string_view name,
                                                    std::span<std::string_view const> allowed);
    [[nodiscard]] std::optional<units> integer(std::string_view name, integer_rule);
    [[nodiscard]] std::optional<bool> boolean(std::string_view name);

    // Null is as good as absent.
    [[nodiscard]] std::optional<std::string> text_or_null(std::string_view name, text_rule const&);
    [[nodiscard]] std::optional<std::string> text_or_null(std::string_view name, text_check);
    [[nodiscard]] std::optional<units> integer_or_null(std::string_view name, integer_rule);
    [[nodiscard]] std::optional<timestamp> instant_or_null(std::string_view name);
    [[nodiscard]] std::optional<uuid> id_or_null(std::string_view name);

    // An array of these words, each at most once. Null is as good as absent.
    [[nodiscard]] std::optional<std::vector<std::string>>
    words_or_null(std::string_view name, std::span<std::string_view const> allowed);

    // An array of 1 to `count_max` texts, each at most once. Null is as good as absent.
    [[nodiscard]] std::optional<std::vector<std::string>>
    texts_or_null(std::string_view name, text_check, std::size_t count_max);

    // An object of the caller's own making, in its shortest form.
    [[nodiscard]] std::optional<std::string> free_object(std::string_view name,
                                                         std::size_t bytes_max);

    // Readers of an array's elements, each of which has to be an object.
    [[nodiscard]] std::vector<object_reader> objects(std::string_view name, std::size_t count_max);

    // Notes a fault of this member, or of the object itself when the name is empty.
    void fault(std::string_view name, std::string detail);

    // Notes the members nobody asked for.
    void finish();

private:
    [[nodiscard]] nlohmann::json const* find(std::string_view name);
    [[nodiscard]] nlohmann::json const* find_not_null(std::string_view name);

    template <class FaultOf>
    [[nodiscard]] std::optional<std::string> checked(nlohmann::json const*, std::string_view name,
                                                     FaultOf fault_of);

    nlohmann::json const* object_; // null when the value is something else
    std::string pointer_;
    invalid_members* faults_;
    std::vector<std::string_view> known_;
};

// Tells a member that is null, or may not stand, from one that is not there.
template <class T>
std::optional<std::optional<T>> if_named(object_reader const& body, std::string_view name,
                                         std::optional<T> value)
{
    std::optional<std::optional<T>> named;
    if (body.has(name))
        named.emplace(std::move(value));
    return named;
}

// Reads a query. Its faults have pointers such as "/query/limit". An empty value is a value:
// "?customer=" must not show every customer's holds to a program that lost the name it looks for.
class query_reader {
public:
    // `query` and `faults` have to outlive the reader.
    query_reader(std::span<std::pair<std::string, std::string> const> query,
                 invalid_members& faults);

    void require(std::string_view name);

    [[nodiscard]] std::optional<std::string> text(std::string_view name, text_rule const&);
    [[nodiscard]] std::optional<std::string> text(std::string_view name, text_check);
    [[nodiscard]] std::optional<std::string> one_of(std::string_view name,
                                                    std::span<std::string_view const> allowed);
    [[nodiscard]] std::optional<bool> boolean(std::string_view name);
    [[nodiscard]] std::optional<timestamp> instant(std::string_view name);

    // `limit`, or its default.
    [[nodiscard]] std::size_t limit();

    // What `cursor` holds, by the list it was made for (see text.hpp). An empty one begins at the
    // first page, as no cursor does.
    [[nodiscard]] std::optional<std::string> cursor(std::string_view list);

    // The same where it holds a number above 0.
    [[nodiscard]] std::optional<std::int64_t> number_cursor(std::string_view list);

    // The same where it holds an id.
    [[nodiscard]] std::optional<uuid> id_cursor(std::string_view list);

    void fault(std::string_view name, std::string detail);

    // Notes parameters nobody asked for, and those given twice.
    void finish();

private:
    [[nodiscard]] std::string const* find(std::string_view name);

    template <class FaultOf>
    [[nodiscard]] std::optional<std::string> checked(std::string_view name, FaultOf fault_of);

    std::span<std::pair<std::string, std::string> const> query_;
    invalid_members& faults_;
    std::vector<std::string_view> known_;
};

} // namespace holdfast::http
