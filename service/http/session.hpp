// SPDX-License-Identifier: Apache-2.0
// One connection: reads requests one after the other, answers each, and never waits without an end.
#pragma once

#include "service/http/dispatcher.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace holdfast::http {

// Lives on the one thread of its io_context; end_soon() and cut() are to be posted there.
class session : public std::enable_shared_from_this<session> {
public:
    using parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

    session(boost::asio::ip::tcp::socket, dispatcher&);

    // Serves until the client goes, is too slow, or the service drains.
    boost::asio::awaitable<void> run();

    // There is no room for this connection: what it asks is answered 503 and it is closed, all
    // within moments.
    boost::asio::awaitable<void> turn_away();

    // The service drains: a connection without a request gets a last moment for one that may be on
    // its way, then it is closed.
    void end_soon();

    // Closes now, whatever is under way.
    void cut();

    [[nodiscard]] auto executor() { return socket_.get_executor(); }

private:
    enum class after_answer { keep_alive, close };

    boost::asio::awaitable<bool> wait_for_request();
    boost::asio::awaitable<after_answer> serve_one();
    void parse(parser&, boost::system::error_code&);
    boost::asio::awaitable<std::optional<reply>> read_head_of(exchange&, parser&,
                                                              boost::system::error_code&);
    boost::asio::awaitable<std::optional<reply>> read_body_of(exchange&, parser&,
                                                              boost::system::error_code&);
    boost::asio::awaitable<void> write_on(body_source const&);
    boost::asio::awaitable<void> linger(std::chrono::steady_clock::duration longest);

    // What is under way from now on may take this long; then the connection is closed.
    void allow(std::chrono::steady_clock::duration longest);
    void watch();
    [[nodiscard]] bool is_draining() const noexcept;

    boost::asio::ip::tcp::socket socket_;
    boost::beast::flat_buffer buffer_;
    boost::asio::steady_timer watch_;
    std::chrono::steady_clock::time_point deadline_;
    bool is_watched_ = false;
    std::uint64_t watch_number_ = 0; // tells an old timer's call from the present one's
    dispatcher& dispatcher_;
    peer const from_;
    bool is_idle_ = false;
};

} // namespace holdfast::http
