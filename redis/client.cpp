// SPDX-License-Identifier: Apache-2.0
#include "redis/client.hpp"

#include "redis/error.hpp"
#include "redis/script.hpp"
#include "redis/slot.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace holdfast::redis {

namespace {

using clock = std::chrono::steady_clock;

constexpr int tries_max = 6;
constexpr auto pause_after_refusal = std::chrono::milliseconds(200);

// "MOVED 3999 127.0.0.1:6381", "ASK …": where the key is. Without a host, where it was.
std::optional<node> place_in(std::string_view text, node const& asked)
{
    auto const at = text.rfind(' ');
    auto const colon = text.rfind(':');
    if (at == std::string_view::npos || colon == std::string_view::npos || colon < at)
        return std::nullopt;
    node found{.host = std::string(text.substr(at + 1, colon - at - 1))};
    auto const digits = text.substr(colon + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), found.port);
    if (found.host.empty())
        found.host = asked.host;
    return found;
}

reply lost(std::string_view why)
{
    return reply(failure{"LOST " + std::string(why)});
}

} // namespace

client::client(target t, timeouts limits) : target_(std::move(t)), timeouts_(limits) {}

reply client::run(request const& one)
{
    return std::move(run(std::span(&one, 1)).front());
}

std::vector<reply> client::run(std::span<request const> requests)
{
    std::vector<reply> replies(requests.size(), lost("no node answers"));
    std::vector<sent> open;
    for (std::size_t i = 0; i < requests.size(); ++i)
        open.push_back({i, requests[i].parts});
    for (int tries = 0; tries < tries_max && !open.empty(); ++tries) {
        auto const fault = is_topology_stale_ ? learn_topology() : std::string();
        if (!is_cluster_)
            return std::vector<reply>(requests.size(), lost(fault));
        open = go(requests, open, replies);
    }
    return replies;
}

// Sends everything, then reads everything. Returns what has to be sent again, elsewhere or in
// another way.
std::vector<client::sent> client::go(std::span<request const> requests,
                                     std::vector<sent> const& open, std::vector<reply>& replies)
{
    static command const asking{"ASKING"};
    std::map<node, std::vector<sent const*>> by_node;
    for (auto const& each : open)
        by_node[each.to ? *each.to : node_of(requests[each.place].key)].push_back(&each);
    struct flight {
        connection* by;
        std::size_t answers;
    };
    std::map<node, flight> flights;
    for (auto const& [to, group] : by_node) {
        std::vector<command const*> commands;
        for (auto const* each : group) {
            if (each->is_asking)
                commands.push_back(&asking);
            commands.push_back(&each->parts);
        }
        try {
            auto& link = link_to(to);
            link.send(commands);
            flights[to] = {&link, commands.size()};
        } catch (error const& fault) {
            drop(to);
            for (auto const* each : group)
                replies[each->place] = lost(fault.what());
        }
    }
    std::vector<sent> next;
    for (auto const& [to, flight] : flights) {
        auto const& group = by_node.at(to);
        try {
            auto answers = flight.by->receive(flight.answers);
            std::size_t at = 0;
            for (auto const* each : group) {
                at += each->is_asking ? 1 : 0;
                replies[each->place] = std::move(answers[at++]);
                if (auto retry = again(requests[each->place], *each, replies[each->place]))
                    next.push_back(*std::move(retry));
            }
        } catch (error const& fault) {
            drop(to);
            for (auto const* each : group)
                replies[each->place] = lost(fault.what());
        }
    }
    return next;
}

// How to ask again, if that may help.
std::optional<client::sent> client::again(request const& asked, sent const& was, reply const& got)
{
    auto const* why = got.why();
    if (why == nullptr)
        return std::nullopt;
    auto next = was;
    auto const here = was.to ? *was.to : node_of(asked.key);
    if (why->kind() == "NOSCRIPT" && was.parts.front() == "EVALSHA") {
        next.parts = with_text(was.parts);
        return next;
    }
    if (why->kind() == "MOVED" || why->kind() == "ASK") {
        next.to = place_in(why->text, here);
        next.is_asking = why->kind() == "ASK";
        is_topology_stale_ = is_topology_stale_ || why->kind() == "MOVED";
        return next.to ? std::optional(next) : std::nullopt;
    }
    // It is no master any more, or cut off from the others: they know better.
    if (why->kind() == "READONLY" || why->kind() == "CLUSTERDOWN") {
        drop(here);
        peers_[here].fault = why->text;
        peers_[here].not_before = clock::now() + pause_after_refusal;
        return std::nullopt;
    }
    if (why->kind() == "TRYAGAIN")
        return next;
    return std::nullopt;
}

// Asks one node after the other, those known to own slots first, until one answers. Returns what
// the last one said that did not.
std::string client::learn_topology()
{
    std::string fault;
    std::vector<node> asked = owners_;
    asked.insert(asked.end(), target_.nodes.begin(), target_.nodes.end());
    for (auto const& each : asked) {
        try {
            auto const got = link_to(each).run(std::vector<command>{{"CLUSTER", "SLOTS"}});
            auto const* why = got.front().why();
            if (why == nullptr) {
                learn_slots(got.front(), each);
            } else if (why->text.find("cluster support disabled") != std::string::npos) {
                is_cluster_ = false;
                owners_ = {each};
            } else {
                fault = to_string(each) + ": " + why->text;
                continue;
            }
            is_topology_stale_ = false;
            return {};
        } catch (error const& why) {
            fault = why.what();
            drop(each); // the next one may know
        }
    }
    return fault;
}

void client::learn_slots(reply const& slots, node const& asked)
{
    std::vector<node> owners;
    std::vector<std::uint16_t> owner_of(slot_count, 0);
    for (auto const& range : slots.parts()) {
        auto const& parts = range.parts();
        auto const& master = parts.at(2).parts();
        bool const is_asked = master.at(0).is_nil() || master.at(0).text().empty();
        node const owner{is_asked ? asked.host : master.at(0).text(),
                         static_cast<std::uint16_t>(master.at(1).number())};
        auto const known = std::ranges::find(owners, owner);
        auto const index = static_cast<std::uint16_t>(known - owners.begin());
        if (known == owners.end())
            owners.push_back(owner);
        auto const last = std::min<std::int64_t>(parts.at(1).number(), slot_count - 1);
        for (auto slot = std::max<std::int64_t>(parts.at(0).number(), 0); slot <= last; ++slot)
            owner_of[static_cast<std::size_t>(slot)] = index;
    }
    if (owners.empty())
        throw error("the cluster has no slots");
    is_cluster_ = true;
    owners_ = std::move(owners);
    owner_of_slot_ = std::move(owner_of);
    std::erase_if(peers_, [&](auto const& each) {
        return std::ranges::find(owners_, each.first) == owners_.end();
    });
}

node client::node_of(std::string_view key) const
{
    return is_cluster() ? owners_[owner_of_slot_[slot_of(key)]] : owners_.front();
}

connection& client::link_to(node const& to)
{
    auto& known = peers_[to];
    if (known.link && known.link->is_idle())
        return *known.link;
    known.link.reset();
    if (clock::now() < known.not_before)
        throw error(known.fault);
    try {
        known.link = std::make_unique<connection>(to, target_, timeouts_);
    } catch (error const& why) {
        known.not_before = clock::now() + pause_after_refusal;
        known.fault = why.what();
        throw;
    }
    return *known.link;
}

void client::drop(node const& gone)
{
    if (auto const found = peers_.find(gone); found != peers_.end())
        found->second.link.reset();
    is_topology_stale_ = true;
}

} // namespace holdfast::redis
