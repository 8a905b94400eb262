// SPDX-License-Identifier: Apache-2.0
#include "service/fast_path/calls.hpp"

#include "redis/error.hpp"
#include "redis/script.hpp"

#include <array>
#include <string_view>

namespace holdfast::fast_path {

namespace {

constexpr std::array<std::string_view, 5> fates{"kept", "back", "limit", "sold", "freed"};

constexpr std::array<std::string_view, 4> wishes{"take", "queue", "ask", "note"};

constexpr std::int64_t again = 10; // as in take.lua

using arguments = std::vector<std::string>;

void add_lines(arguments& to, std::span<std::pair<std::string, units> const> lines)
{
    to.push_back(std::to_string(lines.size()));
    for (auto const& [location, number] : lines) {
        to.push_back(location);
        to.push_back(std::to_string(number));
    }
}

std::string text_of(redis_time t)
{
    return std::to_string(t.count());
}

// "KIND TIME RELIEFS COUNT (LOCATION QUANTITY )…CUSTOMER"
pending_request read_pending(std::string const& id, std::string_view entry)
{
    auto const word = [&entry] {
        auto const end = entry.find(' ');
        auto const found = entry.substr(0, end);
        entry.remove_prefix(end == std::string_view::npos ? entry.size() : end + 1);
        return redis::reply(std::string(found));
    };
    auto const known = uuid::parse(id);
    if (!known)
        throw redis::error("a pending request has no id");
    auto const kind = word().text();
    pending_request read{.id = *known,
                         .since = redis_time(word().number()),
                         .is_taken = kind != "asked",
                         .is_queued = kind == "queued"};
    static_cast<void>(word());
    for (auto count = word().number(); count > 0; --count) {
        auto const location = word().text();
        read.lines[location] += word().number();
    }
    return read;
}

void read_state(redis::reply::list const& fields, sight& seen)
{
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
        auto const& name = fields[i].text();
        if (name.starts_with("a:"))
            seen.levels[name.substr(2)].available = fields[i + 1].number();
        else if (name.starts_with("h:"))
            seen.levels[name.substr(2)].held = fields[i + 1].number();
        else if (name == "until")
            seen.until = redis_time(fields[i + 1].number());
    }
}

} // namespace

redis::request take(bucket const& from, std::int64_t epoch, std::span<application const* const> all)
{
    arguments args{std::to_string(epoch)};
    for (auto const* each : all) {
        args.push_back(each->id);
        args.push_back(each->note);
        args.push_back(each->customer.value_or(""));
        args.emplace_back(wishes.at(static_cast<std::size_t>(each->what)));
        args.push_back(std::to_string(each->lines.size()));
        for (auto const& line : each->lines) {
            args.push_back(line.at.location.str());
            args.push_back(std::to_string(line.quantity));
        }
        if (each->what == wish::queue)
            args.push_back(each->text);
    }
    return {from.state, redis::call("take", from.all(), args)};
}

std::vector<decision> read_decisions(redis::reply const& got,
                                     std::span<application const* const> all)
{
    std::vector<decision> decisions;
    auto const& answers = got.parts();
    if (answers.empty())
        return decisions;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const& numbers = answers.at(i).parts();
        auto& read = decisions.emplace_back();
        auto const verdict_told = numbers.at(0).number();
        read.may_only_replay = verdict_told > again;
        read.verdict = static_cast<verdict>(verdict_told % again);
        if (read.verdict == verdict::repeated) {
            read.text = numbers.at(1).text();
            continue;
        }
        for (std::size_t n = 0; n < all[i]->lines.size(); ++n)
            read.lines.push_back({numbers.at(1 + 2 * n).number(), numbers.at(2 + 2 * n).number()});
    }
    return decisions;
}

redis::request settle(bucket const& in, std::int64_t epoch, std::span<settlement const> all)
{
    arguments args{std::to_string(epoch)};
    for (auto const& each : all) {
        args.push_back(each.id);
        args.emplace_back(fates.at(static_cast<std::size_t>(each.fate)));
        if (each.fate == fate::freed)
            args.push_back(each.customer);
        if (each.fate == fate::sold || each.fate == fate::freed)
            add_lines(args, each.lines);
    }
    return {in.state, redis::call("settle", in.all(), args)};
}

redis::request look(bucket const& at, std::size_t pending_max)
{
    return {at.state, redis::call("look", at.all(), std::array{std::to_string(pending_max)})};
}

std::optional<sight> read_sight(redis::reply const& got)
try {
    auto const& parts = got.parts();
    if (parts.size() != 8) // a list ends where the script had nothing
        return std::nullopt;
    sight seen{.epoch = parts.at(0).number(), .now = redis_time(parts.at(1).number())};
    seen.is_same_server = parts.at(2).text() == parts.at(3).text();
    read_state(parts.at(4).parts(), seen);
    seen.pending_count = parts.at(5).number();
    auto const& pending = parts.at(6).parts();
    for (std::size_t i = 0; i + 1 < pending.size(); i += 2)
        seen.pending.push_back(read_pending(pending[i].text(), pending[i + 1].text()));
    seen.queue_length = parts.at(7).number();
    return seen;
} catch (redis::error const&) {
    return std::nullopt;
}

redis::request load(bucket const& into, std::int64_t epoch, std::string const& sku, bool is_async)
{
    std::array const arguments{std::to_string(epoch), sku, std::string(is_async ? "1" : "0")};
    return {into.state, redis::call("load", into.all(), arguments)};
}

redis::request note(bucket const& in, std::int64_t epoch, std::span<std::string const> notes)
{
    arguments args{std::to_string(epoch)};
    args.insert(args.end(), notes.begin(), notes.end());
    return {in.state, redis::call("note", std::array{in.state, in.noted}, args)};
}

redis::request find(bucket const& in, uuid const& id)
{
    return {in.state, redis::call("find", std::array{in.queue, in.queued}, std::array{id.str()})};
}

redis::request drop_queue(bucket const& of)
{
    return {of.state, redis::call("drop", std::array{of.queue, of.queued}, {})};
}

redis::request queue_length(bucket const& of)
{
    return {of.state, {"XLEN", of.queue}};
}

redis::request give(bucket const& to, std::int64_t epoch, grant const& what)
{
    arguments args{std::to_string(epoch),        text_of(what.until),  what.on_sale ? "1" : "0",
                   text_of(what.opens),          text_of(what.closes), std::to_string(what.limit),
                   what.is_all_known ? "1" : "0"};
    add_lines(args, what.changes);
    args.insert(args.end(), what.relieved.begin(), what.relieved.end());
    return {to.state, redis::call("grant", to.all(), args)};
}

} // namespace holdfast::fast_path
