// SPDX-License-Identifier: Apache-2.0
// How a use case answers: the value asked for, or the refusal a caller has to be told.
#pragma once

#include "stock/errc.hpp"
#include "stock/quantity.hpp"
#include "stock/sku.hpp"

#include <boost/system/result.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

// A line that fell short, with what was truly available when it was refused.
struct shortfall {
    level_key at;
    units requested = 0;
    units available = 0;
};

// One fault in a request: where it is (RFC 6901 JSON pointer) and what is wrong there.
// `row`, `column` and `fault` are set for a line of an imported file (row as an editor counts it;
// fault is the kind of it, of static storage), `code` for one of many commands in a request, each
// of which has its own refusal.
struct invalid_member {
    std::string pointer;
    std::string detail;
    std::size_t row = 0;
    std::string column = {};
    std::optional<errc> code = {};
    std::string_view fault = {};
    std::optional<std::string> sku = {}; // of such a row or command, where it names one
};

// Why a request was refused, with what helps the caller to go on. Part of the domain, never a
// fault.
struct refusal {
    errc code;
    std::string detail = {};
    std::vector<shortfall> items = {};
    std::vector<invalid_member> errors = {};
    std::optional<units> on_hand = {};                    // precondition_failed: the present number
    std::optional<std::chrono::seconds> retry_after = {}; // when trying again makes sense
};

// The refusal of a request for one fault of it.
[[nodiscard]] inline refusal invalid_at(std::string pointer, std::string detail)
{
    return {.code = errc::validation_failed,
            .detail = "The request has 1 fault.",
            .errors = {{std::move(pointer), std::move(detail)}}};
}

template <class T>
using result = boost::system::result<T, refusal>;

// Called by result<T>::value() on a refusal nobody looked at: that is a bug, not an answer.
[[noreturn]] inline void throw_exception_from_error(refusal const& r, boost::source_location const&)
{
    throw std::logic_error("unhandled refusal: " + std::string(slug(r.code)));
}

// An invariant of ours that does not hold: the transaction rolls back, the caller gets a 500.
class invariant_broken : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

#define HOLDFAST_CONCAT_(a, b) a##b
#define HOLDFAST_CONCAT(a, b) HOLDFAST_CONCAT_(a, b)

#define HOLDFAST_TRY_IMPL(temporary, declaration, ...)                                             \
    auto temporary = (__VA_ARGS__);                                                                \
    if (!temporary)                                                                                \
        return std::move(temporary).error();                                                       \
    declaration = std::move(*temporary)

// Binds the value of a result, or returns its refusal from the enclosing function.
#define HOLDFAST_TRY(declaration, ...)                                                             \
    HOLDFAST_TRY_IMPL(HOLDFAST_CONCAT(try_, __COUNTER__), declaration, __VA_ARGS__)

// Returns the refusal of a result from the enclosing function; the value is not wanted.
#define HOLDFAST_TRY_VOID(...)                                                                     \
    if (auto try_void = (__VA_ARGS__); !try_void)                                                  \
    return std::move(try_void).error()

// Checks an invariant in every build: a wrong number must never reach a commit.
#define HOLDFAST_INVARIANT(condition)                                                              \
    if (!(condition))                                                                              \
    throw ::holdfast::invariant_broken(#condition)

} // namespace holdfast
