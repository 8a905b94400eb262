// SPDX-License-Identifier: Apache-2.0
#include "service/address_guard.hpp"

#include <doctest/doctest.h>

#include <string>

namespace holdfast {

namespace {

boost::asio::ip::address at(std::string const& text)
{
    return boost::asio::ip::make_address(text);
}

} // namespace

TEST_CASE("only public addresses may be called")
{
    address_guard const guard;
    for (std::string const open :
         {"93.184.216.34", "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.63.255.255",
          "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::1", "::ffff:93.184.216.34",
          "64:ff9b::5db8:d822"}) {
        CAPTURE(open);
        CHECK(guard.is_allowed(at(open)));
        CHECK_FALSE(guard.is_opened(at(open)));
    }
    for (std::string const closed : {"0.0.0.0",
                                     "10.0.0.1",
                                     "100.64.0.1",
                                     "100.127.255.255",
                                     "127.0.0.1",
                                     "127.255.255.255",
                                     "169.254.169.254",
                                     "172.16.0.1",
                                     "172.31.255.255",
                                     "192.0.0.1",
                                     "192.0.2.1",
                                     "192.88.99.1",
                                     "192.168.0.1",
                                     "198.18.0.1",
                                     "198.19.255.255",
                                     "198.51.100.1",
                                     "203.0.113.1",
                                     "224.0.0.1",
                                     "239.255.255.255",
                                     "240.0.0.1",
                                     "255.255.255.255",
                                     "::",
                                     "::1",
                                     "::ffff:127.0.0.1",
                                     "::ffff:10.0.0.1",
                                     "64:ff9b::a00:1",
                                     "64:ff9b:1::1",
                                     "100::1",
                                     "2001::1",
                                     "2001:db8::1",
                                     "2002:a00:1::",
                                     "3fff::1",
                                     "4000::1",
                                     "fc00::1",
                                     "fd12::1",
                                     "fe80::1",
                                     "fec0::1",
                                     "ff02::1"}) {
        CAPTURE(closed);
        CHECK_FALSE(guard.is_allowed(at(closed)));
    }
}

TEST_CASE("ranges can be opened, and no more than they say")
{
    address_guard const guard("127.0.0.0/8,10.1.2.3,fd00:1::/32");
    for (std::string const open :
         {"127.0.0.1", "127.9.9.9", "10.1.2.3", "fd00:1::7", "::ffff:127.0.0.1"}) {
        CAPTURE(open);
        CHECK(guard.is_allowed(at(open)));
        CHECK(guard.is_opened(at(open)));
    }
    for (std::string const closed : {"10.1.2.4", "fd00:2::1", "::1", "128.0.0.1"}) {
        CAPTURE(closed);
        CHECK(guard.is_allowed(at(closed)) == (closed == "128.0.0.1"));
        CHECK_FALSE(guard.is_opened(at(closed)));
    }
    CHECK(address_guard("0.0.0.0/0").is_opened(at("10.0.0.1")));
    for (std::string const odd : {"127.0.0.0/33", "127.0.0.0/", "127.0.0.0/-1", "127.0.0.0/8,", ",",
                                  "localhost", "::/129", "127.0.0.0/8 "}) {
        CAPTURE(odd);
        CHECK(address_guard::fault_of(odd).has_value() == (odd != "127.0.0.0/8,"));
    }
    CHECK_FALSE(address_guard::fault_of("").has_value());
}

} // namespace holdfast
