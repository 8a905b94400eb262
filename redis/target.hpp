// SPDX-License-Identifier: Apache-2.0
// Where Redis is, and who we are to it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

struct node {
    std::string host;
    std::uint16_t port = 6379;

    auto operator<=>(node const&) const = default;
};

[[nodiscard]] std::string to_string(node const&);

// One server, or some nodes of a cluster: the others are learnt from them.
struct target {
    std::vector<node> nodes;
    std::string user;     // empty: the default user
    std::string password; // empty: none is asked for
    int database = 0;     // a cluster only has 0
};

// Reads redis://[[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][/DATABASE], in the shape of the scheme
// that IANA has registered. User and password are percent-encoded; an IPv6 address stands in
// brackets. Nothing when it is none, has more than 100 nodes or a database above 1000.
[[nodiscard]] std::optional<target> parse_target(std::string_view url);

} // namespace holdfast::redis
