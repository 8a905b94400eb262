// SPDX-License-Identifier: Apache-2.0
// Redis as one thread sees it: one server or a cluster. Connects when it has to, knows which node
// has which key, and follows keys that move.
#pragma once

#include "redis/connection.hpp"
#include "redis/reply.hpp"
#include "redis/target.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

struct request {
    std::string key; // decides the node; the only one, or one that shares its hash tag
    command parts;
};

class client {
public:
    explicit client(target, timeouts = {});

    // What is answered to each, in order. Commands of one node travel together, those of several
    // beside each other. A command whose node cannot be reached or does not answer is LOST; one
    // that still meets a moving key after a few tries has that answer. Takes the timeouts twice at
    // most for each try.
    [[nodiscard]] std::vector<reply> run(std::span<request const>);
    [[nodiscard]] reply run(request const&);

    // Whether Redis is a cluster, once something has been answered.
    [[nodiscard]] bool is_cluster() const noexcept { return is_cluster_.value_or(false); }

private:
    struct sent {
        std::size_t place = 0;
        command parts;
        std::optional<node> to = {}; // instead of the node that has the slot
        bool is_asking = false;
    };

    struct peer {
        std::unique_ptr<connection> link;
        std::chrono::steady_clock::time_point not_before = {}; // after a failed attempt to connect
        std::string fault = {};                                // of that attempt
    };

    [[nodiscard]] std::vector<sent> go(std::span<request const>, std::vector<sent> const&,
                                       std::vector<reply>&);
    [[nodiscard]] std::optional<sent> again(request const&, sent const&, reply const&);
    [[nodiscard]] std::string learn_topology();
    void learn_slots(reply const&, node const& asked);
    [[nodiscard]] node node_of(std::string_view key) const;
    [[nodiscard]] connection& link_to(node const&);
    void drop(node const&);

    target target_;
    timeouts timeouts_;
    std::optional<bool> is_cluster_;
    bool is_topology_stale_ = true;
    std::vector<std::uint16_t> owner_of_slot_; // index into owners_
    std::vector<node> owners_;
    std::map<node, peer> peers_;
};

} // namespace holdfast::redis
