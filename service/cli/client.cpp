// SPDX-License-Identifier: Apache-2.0

#include "service/cli/client.hpp"

#include "service/cli/command_error.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/system/result.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <thread>

namespace holdfast::cli {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using std::chrono::seconds;

namespace {

constexpr seconds connect_deadline{5};
constexpr std::chrono::milliseconds progress_interval{200};

bool is_visible_ascii(char c)
{
    return c > ' ' && c < '\x7F';
}

[[noreturn]] void refuse_url(std::string_view text, std::string_view fault)
{
    throw command_error(fmt::format("\"{}\" is not a service URL: {}; write it as http://HOST:PORT",
                                    printable(text, 100), fault));
}

std::uint16_t parse_port(std::string_view url, std::string_view text)
{
    std::uint16_t port = 0;
    auto const* const end = text.data() + text.size();
    auto const read = std::from_chars(text.data(), end, port);
    if (read.ec != std::errc{} || read.ptr != end || port == 0)
        refuse_url(url, "the port is not a number from 1 to 65535");
    return port;
}

void read_authority(std::string_view url, std::string_view authority, base_url& into)
{
    if (authority.find('@') != std::string_view::npos)
        throw command_error("a service URL takes no user or password: the API key goes into --key");

    auto after_host = authority.find(':');
    if (authority.starts_with('[')) {
        auto const close = authority.find(']');
        if (close == std::string_view::npos)
            refuse_url(url, "the bracket of the IPv6 address is not closed");
        into.host = authority.substr(1, close - 1);
        after_host = close + 1;
        if (into.host.find(':') == std::string::npos)
            refuse_url(url, "what stands in brackets is no IPv6 address");
    } else if (after_host != authority.rfind(':')) {
        refuse_url(url, "an IPv6 address stands in brackets");
    } else {
        into.host = authority.substr(0, after_host);
    }

    if (into.host.empty())
        refuse_url(url, "the host is missing");
    if (after_host >= authority.size())
        return;
    if (authority[after_host] != ':')
        refuse_url(url, "something stands between the host and the port");
    into.port = parse_port(url, authority.substr(after_host + 1));
}

} // namespace

std::string base_url::authority() const
{
    auto const is_v6 = host.find(':') != std::string::npos;
    auto named = is_v6 ? fmt::format("[{}]", host) : host;
    return port == 80 ? named : fmt::format("{}:{}", named, port);
}

base_url parse_url(std::string_view text)
{
    constexpr std::string_view plain = "http://";
    if (text.empty())
        throw command_error("no service URL: give --url http://HOST:PORT or set HOLDFAST_URL");
    if (text.starts_with("https://"))
        throw command_error(
            "https is not spoken by this command: give the service's own http:// address,"
            " or run the command where that address can be reached");
    if (!text.starts_with(plain))
        refuse_url(text, "it does not begin with http://");
    if (!std::all_of(text.begin(), text.end(), is_visible_ascii))
        refuse_url(text, "it holds white space or characters outside ASCII");
    if (text.find_first_of("?#") != std::string_view::npos)
        refuse_url(text, "a query or fragment has no place in it");

    auto const rest = text.substr(plain.size());
    auto const slash = std::min(rest.find('/'), rest.size());
    base_url where;
    read_authority(text, rest.substr(0, slash), where);
    where.path = rest.substr(slash);
    while (where.path.ends_with('/'))
        where.path.pop_back();
    return where;
}

void require_api_key(std::string_view key)
{
    if (key.empty())
        throw command_error("no API key: give --key KEY or set HOLDFAST_KEY");
    if (!std::all_of(key.begin(), key.end(), is_visible_ascii))
        throw command_error("the API key holds white space, control characters or characters"
                            " outside ASCII: was more than the key pasted?");
}

struct client::connection {
    asio::io_context io{1};
    beast::tcp_stream stream{io};
    beast::flat_buffer buffer;
    bool is_open = false;

    // Starts one asynchronous step, whose deadline the stream keeps, and waits for its end.
    template <class Start>
    error_code finish(Start const& start, std::function<void()> const& meanwhile = {})
    {
        error_code outcome;
        start([&outcome](error_code ec, auto const&...) { outcome = ec; });
        io.restart();
        if (!meanwhile)
            io.run();
        while (!io.stopped())
            if (io.run_for(progress_interval); !io.stopped())
                meanwhile();
        return outcome;
    }

    void close()
    {
        stream.close();
        buffer.clear();
        is_open = false;
    }

    error_code open(base_url const& where)
    {
        close();
        error_code unresolved;
        asio::ip::tcp::resolver resolver{io};
        auto const found = resolver.resolve(where.host, std::to_string(where.port), unresolved);
        if (unresolved)
            return unresolved;
        stream.expires_after(connect_deadline);
        auto const failed =
            finish([&](auto handler) { stream.async_connect(found, std::move(handler)); });
        if (failed)
            return failed;
        error_code ignored; // Without it small requests are slower, nothing else.
        stream.socket().set_option(asio::ip::tcp::no_delay{true}, ignored);
        is_open = true;
        return {};
    }

    error_code write(http::request<http::span_body<char const>>& message, request const& wanted);

    boost::system::result<answer> exchange(http::request<http::span_body<char const>>& message,
                                           request const& wanted);
};

error_code client::connection::write(http::request<http::span_body<char const>>& message,
                                     request const& wanted)
{
    if (!wanted.on_progress)
        return finish(
            [&](auto handler) { http::async_write(stream, message, std::move(handler)); });

    http::request_serializer<http::span_body<char const>> serializer{message};
    std::size_t written = 0; // The head of a few hundred bytes counts as body here.
    auto const tell = [&] { wanted.on_progress(std::min(written, wanted.body.size())); };
    while (!serializer.is_done()) {
        auto const write_some = [&](auto handler) {
            http::async_write_some(
                stream, serializer,
                [&written, handler](error_code failed, std::size_t bytes) mutable {
                    written += bytes;
                    handler(failed);
                });
        };
        if (auto const failed = finish(write_some, tell))
            return failed;
        tell();
    }
    return {};
}

boost::system::result<answer>
client::connection::exchange(http::request<http::span_body<char const>>& message,
                             request const& wanted)
{
    stream.expires_after(wanted.deadline);
    auto const unsent = write(message, wanted);
    if (unsent == beast::error::timeout) {
        close();
        return unsent;
    }

    // A server that refuses a request early may close before it has read all of it. Its answer is
    // then already on the way, and says more than the broken pipe.
    http::response_parser<http::string_body> parser;
    parser.body_limit(wanted.answer_size_max);
    stream.expires_after(wanted.deadline);
    std::function<void()> meanwhile;
    if (wanted.on_progress)
        meanwhile = [&] { wanted.on_progress(wanted.body.size()); };
    auto const unread =
        finish([&](auto handler) { http::async_read(stream, buffer, parser, std::move(handler)); },
               meanwhile);
    if (unread) {
        close();
        return unsent ? unsent : unread;
    }

    auto received = parser.release();
    if (unsent || !received.keep_alive())
        close();
    return answer{
        .status = static_cast<int>(received.result_int()),
        .body = std::move(received.body()),
        .replayed = received["Idempotent-Replayed"] == "true",
        .retry_after = parse_retry_after(received[http::field::retry_after]),
    };
}

client::client(base_url where, std::string key)
    : where_(std::move(where)), key_(std::move(key)), connection_(std::make_unique<connection>())
{
    // A line break in it would end the header, and the rest be headers of their own.
    if (!key_.empty())
        require_api_key(key_);
}

client::~client() = default;
client::client(client&&) noexcept = default;
client& client::operator=(client&&) noexcept = default;

void client::connect()
{
    if (auto const failed = connection_->open(where_); failed)
        throw no_answer(fmt::format("cannot reach the service at http://{}: {}", where_.authority(),
                                    failed.message()));
}

answer client::send(request const& wanted)
{
    http::request<http::span_body<char const>> message;
    message.method_string(wanted.method);
    message.target(where_.path + wanted.target);
    message.set(http::field::host, where_.authority());
    message.set(http::field::user_agent, "holdfast");
    message.set(http::field::accept, "application/json");
    if (!key_.empty())
        message.set(http::field::authorization, "Bearer " + key_);
    if (!wanted.content_type.empty())
        message.set(http::field::content_type, wanted.content_type);
    if (!wanted.idempotency_key.empty())
        message.set("Idempotency-Key", wanted.idempotency_key);
    message.body() = {wanted.body.data(), wanted.body.size()};
    if (wanted.method != "GET")
        message.content_length(wanted.body.size());

    // A kept connection may have been closed by the server since: such a request has not been
    // answered, and a fresh connection tells whether the service is there.
    auto const may_be_stale =
        connection_->is_open && (wanted.method == "GET" || !wanted.idempotency_key.empty());
    for (bool is_last = !may_be_stale;; is_last = true) {
        if (!connection_->is_open)
            connect();
        auto given = connection_->exchange(message, wanted);
        if (given)
            return std::move(*given);
        if (given.error() == beast::error::timeout)
            throw no_answer(fmt::format("no answer from http://{} within {} s", where_.authority(),
                                        wanted.deadline.count()));
        if (given.error() == http::error::body_limit)
            throw command_error(fmt::format("the answer to {} {} is larger than {} bytes",
                                            wanted.method, wanted.target, wanted.answer_size_max));
        if (is_last)
            throw no_answer(
                fmt::format("the connection to http://{} broke off before an answer came: {}",
                            where_.authority(), given.error().message()));
    }
}

answer client::send_patiently(request const& wanted, retry_limits const& limits)
{
    using clock = std::chrono::steady_clock;
    std::minstd_rand random{std::random_device{}()};
    auto const began = clock::now();
    tries_so_far so_far;
    for (;;) {
        std::optional<answer> given;
        std::optional<no_answer> silence;
        try {
            given = send(wanted);
        } catch (no_answer const& e) {
            silence = e;
        }
        if (given && !may_be_retried(given->status, given->body))
            return std::move(*given);

        ++so_far.tries;
        so_far.spent = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - began);
        so_far.retry_after = given ? given->retry_after : std::nullopt;
        auto const jitter = std::generate_canonical<double, 32>(random);
        auto const pause = pause_before_retry(limits, so_far, jitter);
        if (!pause && given)
            return std::move(*given);
        if (!pause)
            throw *silence;
        std::this_thread::sleep_for(*pause);
    }
}

} // namespace holdfast::cli
