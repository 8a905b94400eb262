// SPDX-License-Identifier: Apache-2.0
#include "bench/generator.hpp"

#include "bench/answer_reader.hpp"
#include "bench/interruption.hpp"
#include "db/child_process.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <random>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace holdfast::bench {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// How long answers may take once nothing new is sent.
constexpr auto drain_max = 30s;

// Thousands of connections asked for at once overflow the server's backlog, and the lost ones come
// back a second later.
constexpr std::size_t connected_at_once = 32;
constexpr auto connect_pause = 1ms;

// An open loop looks at the clock and at its connections this often and sleeps in between. To be
// woken for each request and each answer costs several times more than the requests do, on
// processors that the service needs. Latencies are too long by up to two beats, never too short.
constexpr auto beat = 250us;
constexpr double beat_rate_min = 2000; // below it there is little to save

constexpr auto tick_every = 1s;
constexpr std::size_t events_max = 512;

struct connection {
    db::file_descriptor socket;
    std::uint32_t stream = 0;
    clock::time_point due;
    bool is_waiting = false; // for an answer
    answer_reader reader;
};

struct stream {
    stream_plan plan;
    tally counted;
    std::uint64_t sent = 0;
    std::deque<std::uint32_t> free; // connections of an open loop with nothing under way
};

[[noreturn]] void fail(char const* doing)
{
    throw std::system_error(errno, std::generic_category(), doing);
}

db::file_descriptor connect_to(std::uint16_t port)
{
    db::file_descriptor made{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!made.is_open())
        fail("making a socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(made.number(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0)
        fail("connecting to the service");
    int const on = 1;
    ::setsockopt(made.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return made;
}

std::uint32_t to_us(clock::duration took)
{
    auto const us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(us, 0, UINT32_MAX));
}

class generator {
public:
    generator(std::uint16_t port, std::vector<stream_plan> plans, load_timing const& timing,
              load_watch const& watch);
    std::vector<tally> run();

private:
    void connect(std::uint32_t stream, std::uint16_t port);
    void begin();
    void look_at_clock(clock::time_point now);
    void send_due(clock::time_point now);
    void send(std::uint32_t index, clock::time_point due);
    void receive(std::uint32_t index);
    void settle(std::uint32_t index, int status);
    void wait(clock::time_point now);
    [[nodiscard]] clock::time_point next_look(clock::time_point now) const;
    [[nodiscard]] bool is_over(clock::time_point now) const;
    [[nodiscard]] clock::time_point next_due(stream const&) const;
    [[nodiscard]] bool has_unsent(stream const&) const;
    [[nodiscard]] bool goes_by_beats() const;
    [[nodiscard]] bool is_measured(clock::time_point at) const
    {
        return at >= measured_from_ && at < ends_at_;
    }

    load_timing const& timing_;
    load_watch const& watch_;
    db::file_descriptor epoll_;
    std::vector<stream> streams_;
    std::vector<connection> connections_;
    std::array<epoll_event, events_max> events_{};
    std::array<char, 64 * 1024> received_{};
    std::minstd_rand random_;
    std::size_t under_way_ = 0;
    bool goes_by_beats_ = false;
    clock::time_point started_;
    clock::time_point measured_from_;
    clock::time_point ends_at_;
    clock::time_point next_tick_;
    enum class phase { warm_up, measured, drain } phase_ = phase::warm_up;
};

generator::generator(std::uint16_t port, std::vector<stream_plan> plans, load_timing const& timing,
                     load_watch const& watch)
    : timing_(timing), watch_(watch), epoll_(::epoll_create1(EPOLL_CLOEXEC))
{
    if (!epoll_.is_open())
        fail("making an epoll");
    for (auto& plan : plans) {
        auto const number = static_cast<std::uint32_t>(streams_.size());
        auto& made = streams_.emplace_back(stream{.plan = std::move(plan), .counted = {}});
        made.counted.seconds = std::chrono::duration<double>(timing.measured).count();
        for (std::size_t i = 0; i < made.plan.connections; ++i)
            connect(number, port);
    }
    goes_by_beats_ = goes_by_beats();
}

bool generator::goes_by_beats() const
{
    double rate = 0;
    for (auto const& each : streams_) {
        if (!each.plan.rate)
            return false;
        rate += *each.plan.rate;
    }
    return rate >= beat_rate_min;
}

void generator::connect(std::uint32_t stream, std::uint16_t port)
{
    if (connections_.size() % connected_at_once == connected_at_once - 1)
        std::this_thread::sleep_for(connect_pause);
    auto const index = static_cast<std::uint32_t>(connections_.size());
    auto& made = connections_.emplace_back();
    made.socket = connect_to(port);
    made.stream = stream;
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.u32 = index;
    if (::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, made.socket.number(), &wanted) != 0)
        fail("watching a connection");
}

std::vector<tally> generator::run()
{
    begin();
    for (;;) {
        throw_if_interrupted();
        auto const now = clock::now();
        look_at_clock(now);
        send_due(now);
        if (is_over(now))
            break;
        wait(now);
    }
    std::vector<tally> all;
    for (auto& each : streams_)
        all.push_back(std::move(each.counted));
    return all;
}

void generator::begin()
{
    started_ = clock::now();
    measured_from_ = started_ + timing_.warm_up;
    ends_at_ = measured_from_ + timing_.measured;
    next_tick_ = started_ + tick_every;
    for (std::uint32_t i = 0; i < connections_.size(); ++i) {
        auto& its = streams_[connections_[i].stream];
        if (its.plan.rate)
            its.free.push_back(i);
        else
            send(i, clock::now());
    }
}

void generator::look_at_clock(clock::time_point now)
{
    if (phase_ == phase::warm_up && now >= measured_from_) {
        phase_ = phase::measured;
        watch_.begin();
    }
    if (phase_ == phase::measured && now >= ends_at_) {
        phase_ = phase::drain;
        watch_.end();
    }
    if (now >= next_tick_) {
        next_tick_ = now + tick_every;
        watch_.tick();
    }
}

clock::time_point generator::next_due(stream const& of) const
{
    std::chrono::duration<double> const after{static_cast<double>(of.sent) / *of.plan.rate};
    return started_ + std::chrono::duration_cast<clock::duration>(after);
}

// Requests of an open loop whose time came and for which no connection was free are still sent
// after the end: leaving them out would make an overloaded service look quick.
bool generator::has_unsent(stream const& of) const
{
    return of.plan.rate && next_due(of) < ends_at_;
}

void generator::send_due(clock::time_point now)
{
    for (auto& each : streams_)
        while (!each.free.empty() && has_unsent(each) && next_due(each) <= now) {
            // The one that rested longest: none is left alone until the service closes it.
            auto const index = each.free.front();
            each.free.pop_front();
            send(index, next_due(each));
        }
}

void generator::send(std::uint32_t index, clock::time_point due)
{
    auto& at = connections_[index];
    auto& of = streams_[at.stream];
    auto const& items = of.plan.items;
    auto const bytes = of.plan.request.with(of.sent++, items.first + random_() % items.count);
    // With nothing under way on it there is room for a request in the socket's buffer.
    auto const taken = ::send(at.socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (taken != static_cast<ssize_t>(bytes.size()))
        fail("sending a request");
    at.due = due;
    at.is_waiting = true;
    ++under_way_;
}

// When there is something to do again, whether or not answers come.
clock::time_point generator::next_look(clock::time_point now) const
{
    auto until = next_tick_;
    if (phase_ == phase::warm_up)
        until = std::min(until, measured_from_);
    if (phase_ == phase::measured)
        until = std::min(until, ends_at_);
    for (auto const& each : streams_)
        if (!each.free.empty() && has_unsent(each))
            until = std::min(until, next_due(each));
    return std::max(until, now);
}

void generator::wait(clock::time_point now)
{
    std::chrono::nanoseconds longest = next_look(now) - now;
    if (goes_by_beats_) {
        std::this_thread::sleep_for(beat);
        longest = 0ns;
    }
    timespec const left{.tv_sec = longest / 1s, .tv_nsec = (longest % 1s).count()};
    auto const count = ::epoll_pwait2(epoll_.number(), events_.data(), events_max, &left, nullptr);
    if (count < 0 && errno != EINTR)
        fail("waiting for answers");
    for (int i = 0; i < count; ++i)
        receive(events_[static_cast<std::size_t>(i)].data.u32);
}

void generator::receive(std::uint32_t index)
{
    auto& at = connections_[index];
    auto const got = ::recv(at.socket.number(), received_.data(), received_.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got < 0)
        fail("receiving an answer");
    if (got == 0 || !at.is_waiting)
        throw std::runtime_error(got == 0 ? "the service hung up on a connection of the load"
                                          : "the service sent what nobody asked for");
    if (auto const status = at.reader.take({received_.data(), static_cast<std::size_t>(got)}))
        settle(index, *status);
}

void generator::settle(std::uint32_t index, int status)
{
    auto& at = connections_[index];
    auto& of = streams_[at.stream];
    auto const now = clock::now();
    at.is_waiting = false;
    --under_way_;

    ++of.counted.statuses.at(static_cast<std::size_t>(status));
    auto& alike = of.counted.of(status);
    if (is_measured(now))
        ++alike.count;
    if (is_measured(of.plan.rate ? at.due : now))
        alike.latencies_us.push_back(to_us(now - at.due));

    if (of.plan.rate)
        of.free.push_back(index);
    else if (now < ends_at_)
        send(index, now);
}

bool generator::is_over(clock::time_point now) const
{
    if (phase_ != phase::drain)
        return false;
    bool const is_done = under_way_ == 0 && std::ranges::none_of(streams_, [&](stream const& each) {
                             return has_unsent(each);
                         });
    if (!is_done && now > ends_at_ + drain_max)
        throw std::runtime_error(
            fmt::format("{} requests were not answered within {} s after the end of the load",
                        under_way_, std::chrono::seconds(drain_max).count()));
    return is_done;
}

} // namespace

answers& tally::of(int status)
{
    if (status >= 200 && status < 300)
        return accepted;
    return status >= 400 && status < 500 ? refused : unavailable;
}

std::vector<tally> run_load(std::uint16_t port, std::vector<stream_plan> streams,
                            load_timing const& timing, load_watch const& watch)
{
    return generator(port, std::move(streams), timing, watch).run();
}

} // namespace holdfast::bench
