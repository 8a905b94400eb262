// SPDX-License-Identifier: Apache-2.0
#include "service/http/session.hpp"

#include "service/http/problem.hpp"
#include "service/http/text.hpp"
#include "stock/uuid.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <optional>

namespace holdfast::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using namespace std::chrono_literals;

constexpr std::uint32_t header_bytes_max = 16 * 1024;

// Room for a header and a piece of a body; a body itself grows in the parser, up to its own limit.
constexpr std::size_t buffer_bytes_max = 64 * 1024;
constexpr std::size_t read_bytes = 4 * 1024; // room kept by a connection that waits

// A 64 MiB import over a slow line.
constexpr auto large_body_time = std::chrono::seconds(120);
constexpr std::size_t large_body = 2 << 20;

constexpr auto write_time = 30s;
constexpr auto drain_moment = 1s;

// What a refused client may still send before the connection is closed under it, so that it can
// read the refusal.
constexpr std::size_t linger_bytes_max = 4 << 20;
constexpr auto linger_time = 2s;

// A connection beyond the limit has this long to ask, and as long again to read its answer.
constexpr auto turn_away_time = 1s;

constexpr auto never = std::chrono::steady_clock::time_point::max();

std::string lower(beast::string_view text)
{
    std::string s(text);
    std::ranges::transform(
        s, s.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return s;
}

// IPv6 gives everybody a /64 of addresses, so one of them says as much as none.
peer peer_of(asio::ip::tcp::socket const& socket)
{
    beast::error_code ec;
    auto const address = socket.remote_endpoint(ec).address();
    if (ec || address.is_v4())
        return {ec ? "" : address.to_string(), !ec && address.is_loopback()};
    auto const six = address.to_v6();
    if (six.is_v4_mapped()) {
        auto const four = asio::ip::make_address_v4(asio::ip::v4_mapped, six);
        return {four.to_string(), four.is_loopback()};
    }
    auto bytes = six.to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
    return {asio::ip::address_v6(bytes).to_string(), six.is_loopback()};
}

void copy_head(session::parser::value_type const& message, request& into)
{
    into.method = std::string(message.method_string());
    into.target = std::string(message.target());
    for (auto const& field : message)
        into.headers.emplace_back(lower(field.name_string()), std::string(field.value()));
}

enum class afterwards { keep_alive, close };

// The whole answer in one buffer for one write. A reply to HEAD has the header of the answer to GET
// and no body (RFC 9110, section 9.3.2).
std::string to_bytes(exchange const& x, reply const& r, unsigned version, afterwards then)
{
    std::string out;
    out.reserve(r.body.size() + 512);
    auto const field = [&out](std::string_view name, std::string_view value) {
        out.append(name).append(": ").append(value).append("\r\n");
    };
    auto const reason = bhttp::obsolete_reason(static_cast<bhttp::status>(r.status));
    out.append(version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ").append(std::to_string(r.status));
    out.append(" ").append(reason.data(), reason.size()).append("\r\n");
    bool const has_content = r.status != 204 && r.status != 304; // RFC 9110, section 8.6
    bool const says_caching =
        std::ranges::find(r.headers, "Cache-Control",
                          &std::pair<std::string, std::string>::first) != r.headers.end();
    if (has_content)
        field("Content-Type", r.content_type);
    if (has_content && !r.more)
        field("Content-Length", std::to_string(r.body.size()));
    field("Date", http_date());
    field("X-Request-Id", x.request.id);
    if (!says_caching)
        field("Cache-Control", "no-store");
    field("X-Content-Type-Options", "nosniff");
    for (auto const& [name, value] : r.headers)
        field(name, value);
    if (then == afterwards::close)
        field("Connection", "close");
    else if (version == 10)
        field("Connection", "keep-alive");
    out += "\r\n";
    if (x.request.method != "HEAD")
        out += r.body;
    return out;
}

bool expects_continue(session::parser::value_type const& message)
{
    return beast::iequals(message[bhttp::field::expect], "100-continue");
}

reply invalid_head(invalid_member const& what, request const& r)
{
    return problem(refusal{.code = errc::validation_failed,
                           .detail = "The header of the request is not valid.",
                           .errors = {what}},
                   r);
}

// A body must end where everybody between client and service thinks it does; otherwise one of them
// takes its end for the next request (RFC 9112, sections 6.1 and 6.3).
std::optional<invalid_member> fault_of_framing(session::parser::value_type const& head)
{
    auto const count = head.count(bhttp::field::transfer_encoding);
    if (count == 0)
        return std::nullopt;
    bool const is_chunked =
        count == 1 && beast::iequals(head[bhttp::field::transfer_encoding], "chunked");
    if (!is_chunked || head.version() < 11 || head.count(bhttp::field::content_length) > 0)
        return invalid_member{"/header/transfer-encoding",
                              "may only be chunked, once, and without Content-Length"};
    return std::nullopt;
}

// RFC 9112, section 3.2, and RFC 9110, section 5.3: of two values each side might take another one.
std::optional<invalid_member> fault_of_head(session::parser::value_type const& head)
{
    if (head.version() >= 11 && head.count(bhttp::field::host) != 1)
        return invalid_member{"/header/host", "must be there exactly once"};
    if (head.count(bhttp::field::authorization) > 1)
        return invalid_member{"/header/authorization", "is there more than once"};
    if (head.count(bhttp::field::content_type) > 1)
        return invalid_member{"/header/content-type", "is there more than once"};
    return std::nullopt;
}

// The answer to a message that is no HTTP, or whose header is too large; nothing when the client is
// gone or just slow, and there is nobody to answer.
std::optional<reply> answer_to(beast::error_code ec, exchange const& x)
{
    if (ec == bhttp::error::header_limit || ec == bhttp::error::buffer_overflow)
        return header_too_large("The header is larger than 16 KiB.", x.request);
    if (ec == bhttp::error::body_limit)
        return problem(refusal{.code = errc::payload_too_large}, x.request);
    bool const is_gone = ec == bhttp::error::end_of_stream || ec == bhttp::error::partial_message;
    if (!is_gone && ec.category() == bhttp::make_error_code(bhttp::error::bad_method).category())
        return problem(refusal{.code = errc::validation_failed,
                               .detail = "This is not a valid HTTP request.",
                               .errors = {{"", "is not a valid HTTP request"}}},
                       x.request);
    return std::nullopt;
}

} // namespace

session::session(asio::ip::tcp::socket socket, dispatcher& d)
    : socket_(std::move(socket)), buffer_(buffer_bytes_max), watch_(socket_.get_executor()),
      deadline_(never), dispatcher_(d), from_(peer_of(socket_))
{}

bool session::is_draining() const noexcept
{
    return dispatcher_.application().is_draining.load(std::memory_order_relaxed);
}

void session::allow(std::chrono::steady_clock::duration longest)
{
    deadline_ = std::chrono::steady_clock::now() + longest;
    if (!is_watched_ || deadline_ < watch_.expiry())
        watch();
}

// A timer that is early looks again at the deadline, which has moved on meanwhile: a busy
// connection sets it once in a while and not for every read and write.
void session::watch()
{
    is_watched_ = true;
    watch_.expires_at(deadline_);
    watch_.async_wait([self = shared_from_this(), number = ++watch_number_](beast::error_code ec) {
        if (ec || number != self->watch_number_)
            return;
        self->is_watched_ = false;
        if (self->deadline_ <= std::chrono::steady_clock::now())
            self->socket_.close(ec);
        else if (self->deadline_ != never)
            self->watch();
    });
}

void session::end_soon()
{
    if (is_idle_)
        allow(drain_moment);
}

void session::cut()
{
    beast::error_code ignored;
    socket_.close(ignored);
    watch_.cancel();
}

// Waits until the beginning of a request is there. False when none came.
asio::awaitable<bool> session::wait_for_request()
{
    if (buffer_.size() > 0)
        co_return true;
    auto const& settings = dispatcher_.application().settings;
    is_idle_ = true;
    allow(is_draining() ? std::chrono::seconds(drain_moment)
                        : std::chrono::seconds(settings.idle_connection_seconds));
    beast::error_code ec;
    auto const count = co_await socket_.async_read_some(
        buffer_.prepare(read_bytes), asio::redirect_error(asio::use_awaitable, ec));
    buffer_.commit(count);
    is_idle_ = false;
    co_return !ec;
}

// Parses what is there already: as a rule a whole request, which needs no further reading.
void session::parse(parser& incoming, beast::error_code& ec)
{
    if (buffer_.size() == 0)
        return;
    buffer_.consume(incoming.put(buffer_.data(), ec));
    if (ec == bhttp::error::need_more)
        ec = {};
}

// Reads the head of the next request and asks whether to go on with it. Returns the refusal if not.
asio::awaitable<std::optional<reply>> session::read_head_of(exchange& x, parser& incoming,
                                                            beast::error_code& ec)
{
    auto const seconds = dispatcher_.application().settings.request_read_seconds;
    incoming.header_limit(header_bytes_max);
    incoming.body_limit(boost::none); // set once the route is known
    allow(std::chrono::seconds(seconds));
    parse(incoming, ec);
    if (!ec && !incoming.is_header_done())
        co_await bhttp::async_read_header(socket_, buffer_, incoming,
                                          asio::redirect_error(asio::use_awaitable, ec));
    x.began = std::chrono::steady_clock::now();
    if (ec)
        co_return answer_to(ec, x);
    copy_head(incoming.get(), x.request);
    if (auto const fault = fault_of_framing(incoming.get())) {
        ec = bhttp::error::bad_transfer_encoding; // whatever follows is not taken for a request
        co_return invalid_head(*fault, x.request);
    }
    if (auto const fault = fault_of_head(incoming.get()))
        co_return invalid_head(*fault, x.request);
    auto refused = co_await dispatcher_.admit(x);
    auto const length = incoming.content_length();
    if (!refused && length && *length > x.matched->body_max)
        refused = problem(refusal{.code = errc::payload_too_large}, x.request);
    co_return refused;
}

// Reads the body of an admitted request. Returns the refusal of one that is too large or broken.
asio::awaitable<std::optional<reply>> session::read_body_of(exchange& x, parser& incoming,
                                                            beast::error_code& ec)
{
    if (incoming.is_done())
        co_return std::nullopt;
    bool const is_large = x.matched->body_max > large_body;
    auto const seconds =
        std::chrono::seconds(dispatcher_.application().settings.request_read_seconds);
    incoming.body_limit(x.matched->body_max);
    allow(is_large ? std::max(seconds, large_body_time) : seconds);
    if (expects_continue(incoming.get())) {
        bhttp::response<bhttp::empty_body> go_on(bhttp::status::continue_, 11);
        co_await bhttp::async_write(socket_, go_on, asio::redirect_error(asio::use_awaitable, ec));
    }
    incoming.eager(true);
    if (!ec)
        parse(incoming, ec);
    if (!ec && !incoming.is_done())
        co_await bhttp::async_read(socket_, buffer_, incoming,
                                   asio::redirect_error(asio::use_awaitable, ec));
    co_return ec ? answer_to(ec, x) : std::nullopt;
}

asio::awaitable<session::after_answer> session::serve_one()
{
    beast::error_code ec;
    exchange x;
    x.request.id = uuid::make_v7().str();
    x.request.from = from_;
    parser incoming;
    auto answer = co_await read_head_of(x, incoming, ec);
    if (!answer && !ec)
        answer = co_await read_body_of(x, incoming, ec);
    if (!answer && ec)
        co_return after_answer::close; // the client is gone or too slow: nobody to answer
    bool const is_whole = !ec && incoming.is_done();
    if (!answer) {
        x.request.body = std::move(incoming.get().body());
        deadline_ = never; // the handler has its own deadlines
        answer = co_await dispatcher_.handle(x);
    }
    dispatcher_.finish(x, *answer);

    bool const stays = is_whole && incoming.get().keep_alive() && !is_draining() && !answer->more;
    auto const out = to_bytes(x, *answer, incoming.get().version(),
                              stays ? afterwards::keep_alive : afterwards::close);
    allow(write_time);
    co_await asio::async_write(socket_, asio::buffer(out),
                               asio::redirect_error(asio::use_awaitable, ec));
    if (!ec && answer->more && x.request.method != "HEAD")
        co_await write_on(answer->more);
    if (!ec && !is_whole)
        co_await linger(linger_time);
    co_return stays && !ec ? after_answer::keep_alive : after_answer::close;
}

// Writes a body piece by piece. The close of the connection ends it (RFC 9112, section 6.3).
asio::awaitable<void> session::write_on(body_source const& more)
{
    beast::error_code ec;
    while (!ec) {
        deadline_ = never; // the source does not wait without an end
        auto const piece = co_await more();
        if (!piece)
            break;
        allow(write_time);
        co_await asio::async_write(socket_, asio::buffer(*piece),
                                   asio::redirect_error(asio::use_awaitable, ec));
    }
}

// Says that no more is coming and reads what the client still sends, so that its answer is not lost
// to a reset (RFC 9112, section 9.6).
asio::awaitable<void> session::linger(std::chrono::steady_clock::duration longest)
{
    beast::error_code ec;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ec);
    allow(longest);
    std::size_t dropped = 0;
    char scrap[16 * 1024];
    while (!ec && dropped < linger_bytes_max)
        dropped += co_await socket_.async_read_some(asio::buffer(scrap),
                                                    asio::redirect_error(asio::use_awaitable, ec));
}

asio::awaitable<void> session::turn_away()
{
    beast::error_code ec;
    char beginning[1024];
    // Whoever has asked nothing gets no answer.
    allow(turn_away_time);
    co_await socket_.async_read_some(asio::buffer(beginning),
                                     asio::redirect_error(asio::use_awaitable, ec));
    if (!ec) {
        exchange x;
        x.request.id = uuid::make_v7().str();
        auto answer = problem(fault_report{.kind = fault_kind::overloaded,
                                           .detail = "All connections are taken; "
                                                     "try again shortly."},
                              x.request);
        dispatcher_.finish(x, answer);
        auto const out = to_bytes(x, answer, 11, afterwards::close);
        co_await asio::async_write(socket_, asio::buffer(out),
                                   asio::redirect_error(asio::use_awaitable, ec));
    }
    if (!ec)
        co_await linger(turn_away_time);
    cut();
}

asio::awaitable<void> session::run()
{
    beast::error_code ec;
    socket_.set_option(asio::ip::tcp::no_delay(true), ec);
    // Not `while (… && co_await …)`: g++ 12 awaits there even when the left side is false.
    for (auto next = after_answer::keep_alive; next == after_answer::keep_alive;) {
        bool const has_request = co_await wait_for_request();
        if (!has_request)
            break;
        next = co_await serve_one();
    }
    socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ec);
    cut();
}

} // namespace holdfast::http
