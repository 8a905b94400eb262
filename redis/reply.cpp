// SPDX-License-Identifier: Apache-2.0
#include "redis/reply.hpp"

#include "redis/error.hpp"

#include <charconv>

namespace holdfast::redis {

void reply::refuse(std::string_view wanted) const
{
    if (auto const* fault = why())
        throw error(fault->text);
    throw error("Redis answered something else than " + std::string(wanted));
}

std::int64_t reply::number() const
{
    if (auto const* number = std::get_if<std::int64_t>(&value_))
        return *number;
    auto const* digits = std::get_if<std::string>(&value_);
    if (digits == nullptr)
        refuse("a number");
    std::int64_t number = 0;
    auto const* const end = digits->data() + digits->size();
    auto const [last, fault] = std::from_chars(digits->data(), end, number);
    if (fault != std::errc() || last != end)
        refuse("a number");
    return number;
}

std::string const& reply::text() const
{
    if (auto const* text = std::get_if<std::string>(&value_))
        return *text;
    refuse("a text");
}

reply::list const& reply::parts() const
{
    if (auto const* parts = std::get_if<list>(&value_))
        return *parts;
    refuse("a list");
}

} // namespace holdfast::redis
