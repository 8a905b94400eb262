// SPDX-License-Identifier: Apache-2.0
#include "redis/target.hpp"

#include "stock/percent.hpp"

#include <charconv>

namespace holdfast::redis {

namespace {

constexpr std::string_view scheme = "redis://";
constexpr std::size_t nodes_max = 100;
constexpr int database_max = 1000;

template <class Number>
std::optional<Number> parse_number(std::string_view text)
{
    Number number{};
    auto const [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

std::optional<node> parse_node(std::string_view text)
{
    node found;
    auto host_end = text.find(':');
    if (text.starts_with('[')) {
        auto const bracket = text.find(']');
        if (bracket == std::string_view::npos)
            return std::nullopt;
        found.host = text.substr(1, bracket - 1);
        host_end = bracket + 1 == text.size() ? std::string_view::npos : bracket + 1;
        if (host_end != std::string_view::npos && text[host_end] != ':')
            return std::nullopt;
    } else {
        found.host = text.substr(0, host_end);
    }
    for (char const c : found.host)
        if (c <= ' ' || c == 0x7F)
            return std::nullopt;
    if (host_end != std::string_view::npos) {
        auto const port = parse_number<std::uint16_t>(text.substr(host_end + 1));
        if (!port || *port == 0)
            return std::nullopt;
        found.port = *port;
    }
    return found.host.empty() ? std::nullopt : std::optional(found);
}

bool read_user(std::string_view text, target& found)
{
    auto const colon = text.find(':');
    if (colon == std::string_view::npos)
        return false;
    auto user = percent_decoded(text.substr(0, colon));
    auto password = percent_decoded(text.substr(colon + 1));
    if (!user || !password || password->empty())
        return false;
    found.user = *std::move(user);
    found.password = *std::move(password);
    return true;
}

bool read_database(std::string_view text, target& found)
{
    if (text.empty())
        return true;
    auto const number = parse_number<int>(text);
    found.database = number.value_or(0);
    return number && *number >= 0 && *number <= database_max;
}

} // namespace

std::string to_string(node const& n)
{
    bool const is_ipv6 = n.host.find(':') != std::string::npos;
    return (is_ipv6 ? "[" + n.host + "]" : n.host) + ":" + std::to_string(n.port);
}

std::optional<target> parse_target(std::string_view url)
{
    if (!url.starts_with(scheme))
        return std::nullopt;
    url.remove_prefix(scheme.size());
    target found;
    auto const slash = url.find('/');
    if (slash != std::string_view::npos && !read_database(url.substr(slash + 1), found))
        return std::nullopt;
    url = url.substr(0, slash);
    if (auto const at = url.rfind('@'); at != std::string_view::npos) {
        if (!read_user(url.substr(0, at), found))
            return std::nullopt;
        url.remove_prefix(at + 1);
    }
    for (;;) {
        auto const comma = url.find(',');
        auto one = parse_node(url.substr(0, comma));
        if (!one || found.nodes.size() == nodes_max)
            return std::nullopt;
        found.nodes.push_back(*std::move(one));
        if (comma == std::string_view::npos)
            return found;
        url.remove_prefix(comma + 1);
    }
}

} // namespace holdfast::redis
