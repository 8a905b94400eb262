// SPDX-License-Identifier: Apache-2.0
#include "service/http/server.hpp"

#include "service/http/session.hpp"
#include "service/log.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <condition_variable>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace holdfast::http {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using error_code = boost::system::error_code;

constexpr int backlog = 4096;

// Connections beyond connections_max that hear why; those beyond these are just closed.
constexpr std::size_t turned_away_max = 64;

// Out of file descriptors or memory: accepting again at once would only spin.
constexpr auto accept_pause = std::chrono::milliseconds(50);

using session_set = std::set<std::shared_ptr<session>>;

struct io_thread {
    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> guard{context.get_executor()};
};

} // namespace

struct server::impl {
    impl(app& a, std::string const& host, std::uint16_t port) : application(a), dispatch(a)
    {
        for (int i = 0; i < a.settings.io_threads; ++i)
            threads.push_back(std::make_unique<io_thread>());
        auto& first = threads.front()->context;
        tcp::resolver resolver(first);
        auto const found = resolver.resolve(
            host, std::to_string(port), tcp::resolver::passive | tcp::resolver::numeric_service);
        tcp::endpoint const endpoint = *found.begin();
        acceptor.emplace(first);
        acceptor->open(endpoint.protocol());
        acceptor->set_option(tcp::acceptor::reuse_address(true));
        error_code ec;
        acceptor->bind(endpoint, ec);
        if (!ec)
            acceptor->listen(backlog, ec);
        if (ec)
            throw std::runtime_error("cannot listen on " + host + " port " + std::to_string(port) +
                                     ": " + ec.message());
    }

    void serve(tcp::socket socket)
    {
        auto const one = std::make_shared<session>(std::move(socket), dispatch);
        auto const served_max = static_cast<std::size_t>(application.settings.connections_max);
        if (enter(served, one, served_max)) {
            start(served, one, one->run());
            return;
        }
        log::warning("connections.full");
        if (enter(turned_away, one, turned_away_max))
            start(turned_away, one, one->turn_away());
    }

    bool enter(session_set& room, std::shared_ptr<session> const& one, std::size_t most)
    {
        std::scoped_lock const lock(mutex);
        return room.size() < most && room.insert(one).second;
    }

    // Lets a session do its work on its own thread, and leave the room when that is done.
    void start(session_set& room, std::shared_ptr<session> const& one, asio::awaitable<void> work)
    {
        application.metrics.connection_opened();
        auto ended = [this, &room, one](std::exception_ptr const& fault) {
            if (fault)
                log::error("connection.failed");
            application.metrics.connection_closed();
            std::scoped_lock const lock(mutex);
            room.erase(one);
            if (is_empty())
                none_left.notify_all();
        };
        asio::co_spawn(one->executor(), std::move(work), std::move(ended));
    }

    // Precondition: the mutex is held.
    [[nodiscard]] bool is_empty() const { return served.empty() && turned_away.empty(); }

    asio::awaitable<void> accept_loop()
    {
        asio::steady_timer pause(acceptor->get_executor());
        for (std::size_t next = 0; acceptor->is_open(); ++next) {
            auto& context = threads[next % threads.size()]->context;
            error_code ec;
            auto socket = co_await acceptor->async_accept(
                context, asio::redirect_error(asio::use_awaitable, ec));
            if (!ec) {
                serve(std::move(socket));
            } else if (acceptor->is_open()) {
                log::warning("accept.failed", {{"reason", ec.message()}});
                pause.expires_after(accept_pause);
                co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ec));
            }
        }
    }

    // Serves the connections that wait in the kernel, then closes the door.
    void close_door()
    {
        error_code ec;
        acceptor->non_blocking(true, ec);
        while (!ec) {
            tcp::socket socket(threads.front()->context);
            acceptor->accept(socket, ec);
            if (!ec)
                serve(std::move(socket));
        }
        acceptor->close(ec);
    }

    void for_each_session(void (session::*act)())
    {
        std::scoped_lock const lock(mutex);
        for (auto const* room : {&served, &turned_away})
            for (auto const& one : *room)
                asio::post(one->executor(), [one, act] { ((*one).*act)(); });
    }

    bool wait_until_none(std::chrono::steady_clock::duration longest)
    {
        std::unique_lock lock(mutex);
        return none_left.wait_for(lock, longest, [&] { return is_empty(); });
    }

    app& application;
    dispatcher dispatch;
    std::vector<std::unique_ptr<io_thread>> threads;
    std::optional<tcp::acceptor> acceptor;
    std::mutex mutex;
    std::condition_variable none_left;
    session_set served;
    session_set turned_away;
    std::vector<std::jthread> running; // last: joined before what they use goes
};

server::server(app& a, std::string const& host, std::uint16_t port)
    : impl_(std::make_unique<impl>(a, host, port))
{}

server::~server()
{
    for (auto const& t : impl_->threads)
        t->context.stop();
}

std::uint16_t server::port() const
{
    return impl_->acceptor->local_endpoint().port();
}

void server::run()
{
    asio::co_spawn(impl_->threads.front()->context, impl_->accept_loop(), asio::detached);
    for (auto const& t : impl_->threads)
        impl_->running.emplace_back([&context = t->context] { context.run(); });
}

bool server::drain(std::chrono::seconds longest)
{
    auto const deadline = std::chrono::steady_clock::now() + longest;
    impl_->application.is_draining = true;
    std::promise<void> closed;
    asio::post(impl_->threads.front()->context, [&] {
        impl_->close_door();
        closed.set_value();
    });
    closed.get_future().wait();
    impl_->for_each_session(&session::end_soon);
    bool const is_clean = impl_->wait_until_none(deadline - std::chrono::steady_clock::now());
    if (!is_clean) {
        impl_->for_each_session(&session::cut);
        impl_->wait_until_none(std::chrono::seconds(1));
    }
    for (auto const& t : impl_->threads)
        t->context.stop();
    impl_->running.clear();
    return is_clean;
}

} // namespace holdfast::http
