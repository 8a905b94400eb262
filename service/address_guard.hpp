// SPDX-License-Identifier: Apache-2.0
// Which addresses the service may call on somebody's word. Whoever may set up a webhook must not be
// able to make us talk to our own network: neither by an address, nor by a name that leads to one.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

class address_guard {
public:
    // `allowed` names ranges (CIDR, RFC 4632) parted by commas that may be called although they are
    // not public. Precondition: fault_of(allowed) finds nothing.
    explicit address_guard(std::string_view allowed = "");

    // What is wrong with a list of ranges, to be read after "must be", or nothing.
    [[nodiscard]] static std::optional<std::string> fault_of(std::string_view allowed);

    // Whether somebody runs it for us: it is in a range that was opened.
    [[nodiscard]] bool is_opened(boost::asio::ip::address const&) const;

    // Whether it may be called: opened, or public (globally reachable by the special-purpose
    // registries of IANA, RFC 6890). An IPv4 address inside an IPv6 one counts as what it is.
    [[nodiscard]] bool is_allowed(boost::asio::ip::address const&) const;

private:
    struct range {
        boost::asio::ip::address network;
        unsigned bits = 0;
    };

    [[nodiscard]] static std::optional<range> parse(std::string_view text);
    [[nodiscard]] static bool contains(range const&, boost::asio::ip::address const&);

    std::vector<range> opened_;
};

} // namespace holdfast
