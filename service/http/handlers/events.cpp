// SPDX-License-Identifier: Apache-2.0
// The feed of events: by pages, and as a stream.

#include "service/http/credentials.hpp"
#include "service/http/handlers.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"
#include "service/log.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace holdfast::http {

namespace {

namespace asio = boost::asio;

constexpr std::size_t events_at_once = 200; // in one piece of a stream
constexpr auto look_interval = std::chrono::milliseconds(50);
constexpr auto heartbeat_interval = std::chrono::seconds(15);

// How long a stream goes on at most after its key was revoked or its session has ended; a key is
// remembered for a moment besides (api_keys.cpp).
constexpr auto check_interval = std::chrono::seconds(5);

// What a client waits before it connects again.
constexpr std::string_view opening = "retry: 1000\n\n";

// One place of those that are open at once.
class stream_seat {
public:
    explicit stream_seat(app& service) : service_(service)
    {
        is_taken_ = service_.open_streams.fetch_add(1) < service_.settings.event_streams_max;
        service_.metrics.event_streams_open(1);
    }
    ~stream_seat()
    {
        service_.open_streams.fetch_sub(1);
        service_.metrics.event_streams_open(-1);
    }
    stream_seat(stream_seat const&) = delete;
    stream_seat& operator=(stream_seat const&) = delete;

    [[nodiscard]] bool is_taken() const noexcept { return is_taken_; }

private:
    app& service_;
    bool is_taken_ = false;
};

asio::awaitable<event_place> place_of(event_query const& asked, app& service)
{
    if (asked.after)
        co_return *asked.after;
    auto const find_end = [&](db::link& db) { return service.events.end(db); };
    co_return co_await service.workers.run(find_end);
}

// Events from a place on, for as long as whoever asked may see them.
class event_stream {
public:
    struct beginning {
        event_filter filter;
        event_place after;
        credentials shown;
    };

    event_stream(app& service, std::unique_ptr<stream_seat> seat, beginning at)
        : service_(service), seat_(std::move(seat)), filter_(std::move(at.filter)),
          after_(at.after), shown_(std::move(at.shown))
    {}

    asio::awaitable<result<event_page>> read()
    {
        auto const look = [this](db::link& db) {
            return service_.events.page(db, after_, filter_, events_at_once);
        };
        auto page = co_await service_.workers.run(look);
        if (page)
            after_ = page->next;
        co_return page;
    }

    // The next piece: events, or a sign of life after a while without any. Nothing when the service
    // drains or cannot read on: the client connects again, and goes on where it was. Nor when what
    // the client showed is not good any more: then that is what it hears when it connects.
    asio::awaitable<std::optional<std::string>> next()
    {
        asio::steady_timer pause(co_await asio::this_coro::executor);
        auto const silent_until = std::chrono::steady_clock::now() + heartbeat_interval;
        while (!service_.is_draining.load(std::memory_order_relaxed)) {
            bool const goes_on = co_await is_still_let_in();
            if (!goes_on)
                break;
            if (is_more_likely()) {
                auto const piece = co_await read_piece();
                if (!piece || !piece->empty())
                    co_return piece;
                continue;
            }
            if (std::chrono::steady_clock::now() >= silent_until)
                co_return heartbeat();
            pause.expires_after(look_interval);
            co_await pause.async_wait(asio::use_awaitable);
        }
        co_return std::nullopt;
    }

private:
    // Says where the client is, so that it misses nothing, and is missing nothing, however long
    // there was nothing for it.
    [[nodiscard]] std::string heartbeat() const { return "id: " + to_string(after_) + "\n\n"; }

    [[nodiscard]] bool is_more_likely() const noexcept
    {
        return !is_at_end_ || service_.bell.last_position() >= after_.position;
    }

    asio::awaitable<bool> is_still_let_in()
    {
        if (std::chrono::steady_clock::now() < check_at_)
            co_return true;
        bool is_let_in = false;
        try {
            auto const who = co_await holder_of(shown_, service_, session_use::watch);
            is_let_in = who && may(who->role, right::read);
            if (!is_let_in)
                log::info("event_stream.ended", {{"reason", "not let in any more"}});
        } catch (std::exception const& e) {
            say_ended(e.what());
        }
        check_at_ = std::chrono::steady_clock::now() + check_interval;
        co_return is_let_in;
    }

    static void say_ended(std::string const& fault)
    {
        log::warning("event_stream.ended", {{"fault", fault}});
    }

    asio::awaitable<std::optional<std::string>> read_piece()
    {
        std::string fault;
        try {
            auto const page = co_await read();
            if (page) {
                is_at_end_ = page->is_at_end;
                co_return to_stream(page->events);
            }
            fault = page.error().detail;
        } catch (std::exception const& e) {
            fault = e.what();
        }
        say_ended(fault);
        co_return std::nullopt;
    }

    app& service_;
    std::unique_ptr<stream_seat> seat_;
    event_filter filter_;
    event_place after_;
    credentials shown_;
    std::chrono::steady_clock::time_point check_at_ =
        std::chrono::steady_clock::now() + check_interval;
    bool is_at_end_ = false;
};

} // namespace

// GET /v1/events
pending_reply list_events(request const& req, app& service)
{
    auto const asked = parse_event_query(req);
    if (!asked)
        co_return problem(asked.error(), req);

    auto const after = co_await place_of(*asked, service);
    auto const look = [&](db::link& db) {
        return service.events.page(db, after, asked->filter, asked->limit);
    };
    auto const page = co_await service.workers.run(look);
    if (!page)
        co_return problem(page.error(), req);

    co_return reply{.body = to_json(*page)};
}

// GET /v1/events/stream
pending_reply stream_events(request const& req, app& service)
{
    auto const asked = parse_stream_query(req);
    if (!asked)
        co_return problem(asked.error(), req);

    auto seat = std::make_unique<stream_seat>(service);
    if (!seat->is_taken())
        co_return problem(fault_report{.kind = fault_kind::overloaded,
                                       .detail = "As many streams are open as there may be."},
                          req);

    auto const after = co_await place_of(*asked, service);
    event_stream::beginning at{asked->filter, after, credentials_of(req).value()};
    auto const stream = std::make_shared<event_stream>(service, std::move(seat), std::move(at));
    // Read once before anything is promised: a place that is forgotten is told by the status.
    auto const first = co_await stream->read();
    if (!first)
        co_return problem(first.error(), req);

    co_return reply{.body = std::string(opening) + to_stream(first->events),
                    .content_type = "text/event-stream",
                    .headers = {{"X-Accel-Buffering", "no"}}, // nginx would keep it to itself
                    .more = [stream] { return stream->next(); }};
}

} // namespace holdfast::http
