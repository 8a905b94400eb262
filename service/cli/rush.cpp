// SPDX-License-Identifier: Apache-2.0

#include "service/cli/rush.hpp"

#include "service/cli/command_error.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace holdfast::cli {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr std::chrono::seconds connect_deadline{5};
constexpr std::size_t answer_size_max = 1U << 20U;

// Ten thousand connections asked for at once overflow the server's backlog, and the lost ones come
// back only seconds later.
constexpr std::uint32_t connecting_max = 64;

// A connection that rested may have been closed by the server meanwhile. Below this the look is not
// worth its system call.
constexpr std::chrono::seconds rest_trusted{1};

constexpr auto quietly = asio::as_tuple(asio::use_awaitable);

struct connection {
    explicit connection(asio::io_context& io) : socket(io), timer(io) {}

    void close()
    {
        error_code ignored; // It is gone either way.
        socket.close(ignored);
        received.clear();
    }

    // True when the server has hung up, or sent what nobody asked for.
    bool is_spent()
    {
        char byte = 0;
        auto const peeked =
            ::recv(socket.native_handle(), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
        return peeked >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    }

    tcp::socket socket;
    asio::steady_timer timer;
    clock::time_point deadline =
        clock::time_point::max(); // Of the step under way; the pulse looks.
    clock::time_point rested_since{};
    bool has_timed_out = false;
    std::string sent;
    boost::beast::flat_buffer received;
    std::optional<http::response_parser<http::string_body>> parser;
};

class rush {
public:
    explicit rush(rush_plan const& plan);
    rush_outcome run();

private:
    asio::awaitable<void> connect_some();
    asio::awaitable<void> play_client(connection& at);
    asio::awaitable<void> settle(connection& at, std::uint64_t index, clock::time_point due);
    asio::awaitable<error_code> try_once(connection& at);
    asio::awaitable<error_code> connect(connection& at);
    asio::awaitable<void> beat();
    void start_clients();
    void stop();
    void give_up_after_silence(clock::time_point now);
    void spawn(asio::awaitable<void> task);
    void report(connection& at, settled_request outcome, clock::time_point due);
    [[nodiscard]] clock::time_point due_time(std::uint64_t index) const;

    rush_plan const& plan_;
    asio::io_context io_{1};
    tcp::resolver::results_type endpoints_;
    std::vector<std::unique_ptr<connection>> connections_;
    asio::steady_timer pulse_{io_};
    asio::signal_set signals_{io_};
    std::minstd_rand random_{std::random_device{}()};
    clock::time_point started_;
    clock::time_point last_settled_;
    rush_outcome outcome_;
    std::uint64_t claimed_ = 0;
    std::size_t connected_next_ = 0;
    std::uint32_t connecting_ = 0;
    std::uint32_t playing_ = 0;
    // When the last answer came that settled a request, or the first of those now waiting was sent.
    clock::time_point last_answered_;
    std::uint32_t waiting_ = 0;
    bool is_stopping_ = false;
    bool is_over_ = false;
};

// Each connection is a descriptor, and the usual limit of 1024 is a soft one.
void require_descriptors(std::uint32_t clients)
{
    auto const wanted = rlim_t{clients} + 64;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    if (limit.rlim_cur < wanted || ::setrlimit(RLIMIT_NOFILE, &limit) != 0)
        throw command_error(fmt::format("{} clients need {} open files, and this shell allows {}: "
                                        "raise it with ulimit -n, or use fewer clients",
                                        clients, wanted, limit.rlim_max));
}

rush::rush(rush_plan const& plan) : plan_(plan)
{
    error_code unresolved;
    tcp::resolver resolver{io_};
    endpoints_ = resolver.resolve(plan.where.host, std::to_string(plan.where.port), unresolved);
    if (unresolved)
        throw no_answer(fmt::format("cannot find {}: {}", plan.where.host, unresolved.message()));

    auto const clients = std::min<std::uint64_t>(plan.clients, plan.requests);
    require_descriptors(static_cast<std::uint32_t>(clients));
    for (std::uint64_t i = 0; i < clients; ++i)
        connections_.push_back(std::make_unique<connection>(io_));
}

void rush::spawn(asio::awaitable<void> task)
{
    auto const pass_on = [](std::exception_ptr const& failed) {
        if (failed)
            std::rethrow_exception(failed);
    };
    asio::co_spawn(io_, std::move(task), pass_on);
}

rush_outcome rush::run()
{
    if (connections_.empty())
        return outcome_;
    // The second signal finds the set gone and ends the process.
    signals_.add(SIGINT);
    signals_.add(SIGTERM);
    signals_.async_wait([this](error_code ec, int) {
        if (ec)
            return;
        signals_.clear();
        outcome_.was_interrupted = true;
        stop();
    });

    connecting_ =
        static_cast<std::uint32_t>(std::min<std::size_t>(connecting_max, connections_.size()));
    for (auto left = connecting_; left > 0; --left)
        spawn(connect_some());
    spawn(beat());
    io_.run();
    outcome_.took = last_settled_ - started_;
    return outcome_;
}

// A connection that fails here is tried again by its client, where the failure counts.
asio::awaitable<void> rush::connect_some()
{
    while (connected_next_ < connections_.size() && !is_stopping_) {
        auto& at = *connections_[connected_next_++];
        co_await connect(at);
        at.rested_since = clock::now();
    }
    if (--connecting_ == 0)
        start_clients();
}

void rush::start_clients()
{
    started_ = clock::now();
    last_settled_ = started_;
    playing_ = static_cast<std::uint32_t>(connections_.size());
    for (auto const& at : connections_)
        spawn(play_client(*at));
}

void rush::stop()
{
    is_stopping_ = true;
    for (auto const& at : connections_)
        at->timer.cancel();
}

clock::time_point rush::due_time(std::uint64_t index) const
{
    if (!plan_.rate)
        return clock::now();
    std::chrono::duration<double> const after{static_cast<double>(index) / *plan_.rate};
    return started_ + std::chrono::duration_cast<clock::duration>(after);
}

asio::awaitable<void> rush::play_client(connection& at)
{
    while (!is_stopping_ && claimed_ < plan_.requests) {
        auto const index = claimed_++;
        auto const due = due_time(index);
        if (due > clock::now()) {
            at.timer.expires_at(due);
            co_await at.timer.async_wait(quietly);
            if (is_stopping_)
                break;
        }
        co_await settle(at, index, due);
    }
    at.close();
    if (--playing_ == 0) {
        is_over_ = true;
        pulse_.cancel();
        signals_.cancel();
    }
}

asio::awaitable<void> rush::settle(connection& at, std::uint64_t index, clock::time_point due)
{
    at.sent.clear();
    plan_.write_request(index, at.sent);
    auto const first_sent = clock::now();
    if (waiting_++ == 0)
        last_answered_ = first_sent;
    tries_so_far so_far;
    for (;;) {
        auto const failed = co_await try_once(at);
        settled_request outcome;
        outcome.index = index;
        std::string trouble;
        if (failed) {
            trouble = at.has_timed_out ? "no answer in time" : failed.message();
            outcome.trouble = trouble;
        } else {
            auto const& given = at.parser->get();
            outcome.status = static_cast<int>(given.result_int());
            outcome.body = given.body();
        }
        if (!failed && !may_be_retried(outcome.status, outcome.body)) {
            last_answered_ = clock::now();
            report(at, outcome, due);
            co_return;
        }

        ++so_far.tries;
        so_far.spent = std::chrono::duration_cast<milliseconds>(clock::now() - first_sent);
        so_far.retry_after = std::nullopt;
        if (!failed)
            so_far.retry_after = parse_retry_after(at.parser->get()[http::field::retry_after]);
        auto const jitter = std::generate_canonical<double, 32>(random_);
        auto const pause = pause_before_retry(plan_.retry, so_far, jitter);
        if (!pause || outcome_.was_given_up) {
            report(at, outcome, due);
            co_return;
        }
        ++outcome_.retried;
        at.timer.expires_after(*pause);
        co_await at.timer.async_wait(quietly);
    }
}

void rush::report(connection& at, settled_request outcome, clock::time_point due)
{
    --waiting_;
    last_settled_ = clock::now();
    auto const latency =
        std::chrono::duration_cast<std::chrono::microseconds>(last_settled_ - due).count();
    outcome.latency_us = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(latency, 0, std::numeric_limits<std::uint32_t>::max()));
    if (outcome.status != 0)
        outcome.location = at.parser->get()[http::field::location];
    ++outcome_.settled;
    if (plan_.on_settled(outcome) == next_step::stop)
        stop();
}

asio::awaitable<error_code> rush::connect(connection& at)
{
    at.close();
    at.has_timed_out = false;
    at.deadline = clock::now() + connect_deadline;
    auto const [failed, endpoint] = co_await asio::async_connect(at.socket, endpoints_, quietly);
    at.deadline = clock::time_point::max();
    if (failed) {
        at.close();
        co_return failed;
    }
    error_code ignored; // Without it small requests are slower, nothing else.
    at.socket.set_option(tcp::no_delay{true}, ignored);
    co_return error_code{};
}

asio::awaitable<error_code> rush::try_once(connection& at)
{
    auto const has_rested = clock::now() - at.rested_since > rest_trusted;
    if (!at.socket.is_open() || (has_rested && at.is_spent())) {
        auto const failed = co_await connect(at);
        if (failed)
            co_return failed;
    }

    at.has_timed_out = false;
    at.deadline = clock::now() + plan_.request_deadline;
    auto [failed, written] = co_await asio::async_write(at.socket, asio::buffer(at.sent), quietly);
    if (!failed) {
        at.parser.emplace();
        at.parser->body_limit(answer_size_max);
        auto const [unread, taken] =
            co_await http::async_read(at.socket, at.received, *at.parser, quietly);
        failed = unread;
    }
    at.deadline = clock::time_point::max();
    at.rested_since = clock::now();
    if (failed || !at.parser->get().keep_alive())
        at.close();
    co_return failed;
}

void rush::give_up_after_silence(clock::time_point now)
{
    if (waiting_ == 0 || now - last_answered_ < plan_.silence_max || outcome_.was_given_up)
        return;
    outcome_.was_given_up = true;
    stop();
}

// One timer for all connections: ten thousand of them with a timer each per step would cost more
// than the requests. A step may so last one pulse longer than its deadline.
asio::awaitable<void> rush::beat()
{
    while (!is_over_) {
        pulse_.expires_after(plan_.pulse);
        co_await pulse_.async_wait(quietly);
        auto const now = clock::now();
        for (auto const& at : connections_) {
            if (at->deadline > now)
                continue;
            at->has_timed_out = true;
            at->deadline = clock::time_point::max();
            error_code ignored; // The step that waits on it says what came of it.
            at->socket.close(ignored);
        }
        give_up_after_silence(now);
        if (plan_.on_pulse && playing_ > 0)
            plan_.on_pulse();
    }
}

} // namespace

rush_outcome run_rush(rush_plan const& plan)
{
    return rush{plan}.run();
}

} // namespace holdfast::cli
