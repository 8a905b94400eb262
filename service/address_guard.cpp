// SPDX-License-Identifier: Apache-2.0
#include "service/address_guard.hpp"

#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace holdfast {

namespace {

namespace ip = boost::asio::ip;

// Everything in IPv4 that is not for the public, from IANA's registry of special-purpose addresses,
// and what is for groups.
constexpr std::array<std::string_view, 15> not_public_v4{
    "0.0.0.0/8",     "10.0.0.0/8",      "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24",    "192.0.2.0/24",   "192.88.99.0/24", "192.168.0.0/16",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4"};

// In IPv6 only 2000::/3 is for the public, and not all of it.
constexpr std::string_view public_v6 = "2000::/3";
constexpr std::array<std::string_view, 4> not_public_v6{"2001::/23", "2001:db8::/32", "2002::/16",
                                                        "3fff::/20"};

// The IPv4 address that an IPv6 one stands for: mapped, or translated (RFC 6052).
std::optional<ip::address_v4> inner_v4(ip::address_v6 const& address)
{
    auto const bytes = address.to_bytes();
    constexpr std::array<unsigned char, 12> translated{0, 0x64, 0xff, 0x9b};
    bool const is_translated = std::equal(translated.begin(), translated.end(), bytes.begin());
    if (!address.is_v4_mapped() && !is_translated)
        return std::nullopt;
    return ip::address_v4({bytes[12], bytes[13], bytes[14], bytes[15]});
}

ip::address as_it_is(ip::address const& address)
{
    if (address.is_v6())
        if (auto const inner = inner_v4(address.to_v6()))
            return *inner;
    return address;
}

} // namespace

address_guard::address_guard(std::string_view allowed)
{
    while (!allowed.empty()) {
        auto const end = std::min(allowed.find(','), allowed.size());
        if (auto const one = parse(allowed.substr(0, end)))
            opened_.push_back(*one);
        allowed.remove_prefix(std::min(end + 1, allowed.size()));
    }
}

std::optional<std::string> address_guard::fault_of(std::string_view allowed)
{
    while (!allowed.empty()) {
        auto const end = std::min(allowed.find(','), allowed.size());
        if (!parse(allowed.substr(0, end)))
            return "ranges of addresses parted by commas, without blanks, such as "
                   "127.0.0.0/8,fd00::/8";
        allowed.remove_prefix(std::min(end + 1, allowed.size()));
    }
    return std::nullopt;
}

bool address_guard::is_opened(ip::address const& address) const
{
    auto const meant = as_it_is(address);
    return std::ranges::any_of(opened_, [&](range const& r) { return contains(r, meant); });
}

bool address_guard::is_allowed(ip::address const& address) const
{
    if (is_opened(address))
        return true;
    auto const meant = as_it_is(address);
    auto const is_in = [&](std::string_view text) { return contains(*parse(text), meant); };
    if (meant.is_v4())
        return std::ranges::none_of(not_public_v4, is_in);
    return is_in(public_v6) && std::ranges::none_of(not_public_v6, is_in);
}

std::optional<address_guard::range> address_guard::parse(std::string_view text)
{
    auto const slash = text.find('/');
    boost::system::error_code ec;
    auto const network = ip::make_address(std::string(text.substr(0, slash)), ec);
    if (ec)
        return std::nullopt;
    unsigned const most = network.is_v4() ? 32 : 128;
    unsigned bits = most;
    if (slash != std::string_view::npos) {
        auto const digits = text.substr(slash + 1);
        auto const* const end = digits.data() + digits.size();
        auto const [stop, fault] = std::from_chars(digits.data(), end, bits);
        if (fault != std::errc() || stop != end || bits > most)
            return std::nullopt;
    }
    return range{network, bits};
}

bool address_guard::contains(range const& r, ip::address const& address)
{
    if (r.network.is_v4() != address.is_v4())
        return false;
    if (address.is_v4())
        return ip::network_v4(r.network.to_v4(), static_cast<unsigned short>(r.bits)).canonical() ==
               ip::network_v4(address.to_v4(), static_cast<unsigned short>(r.bits)).canonical();
    return ip::network_v6(r.network.to_v6(), static_cast<unsigned short>(r.bits)).canonical() ==
           ip::network_v6(address.to_v6(), static_cast<unsigned short>(r.bits)).canonical();
}

} // namespace holdfast
