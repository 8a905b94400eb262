// SPDX-License-Identifier: Apache-2.0
#include "tests/http/raw_connection.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace holdfast::test {

namespace {

[[noreturn]] void lost(std::string const& what)
{
    throw connection_lost(what + ": " + std::strerror(errno));
}

// Reads the status line and the header lines. Throws connection_lost when it is no HTTP.
http_response parse_head(std::string_view head)
{
    http_response response;
    auto const line_end = std::min(head.find("\r\n"), head.size());
    auto const status_line = head.substr(0, line_end);
    if (!status_line.starts_with("HTTP/1.") || status_line.size() < 12)
        throw connection_lost("not an HTTP answer: " + std::string(status_line.substr(0, 80)));
    std::from_chars(status_line.data() + 9, status_line.data() + 12, response.status);

    auto rest = head.substr(std::min(line_end + 2, head.size()));
    while (!rest.empty()) {
        auto const end = std::min(rest.find("\r\n"), rest.size());
        auto const line = rest.substr(0, end);
        auto const colon = std::min(line.find(": "), line.size());
        response.headers.emplace_back(line.substr(0, colon),
                                      line.substr(std::min(colon + 2, line.size())));
        rest.remove_prefix(std::min(end + 2, rest.size()));
    }
    return response;
}

std::size_t length_of_body(http_response const& response)
{
    std::size_t size = 0;
    if (auto const length = response.header("content-length"))
        std::from_chars(length->data(), length->data() + length->size(), size);
    return size;
}

bool has_header(http_request const& request, std::string_view name)
{
    return std::ranges::any_of(request.headers,
                               [&](auto const& header) { return header.first == name; });
}

} // namespace

std::string to_bytes(http_request const& request, std::string_view key)
{
    auto bytes = request.method + ' ' + request.target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
    auto const add = [&](std::string_view name, std::string_view value) {
        bytes.append(name).append(": ").append(value).append("\r\n");
    };
    for (auto const& [name, value] : request.headers)
        add(name, value);
    if (!key.empty() && !has_header(request, "Authorization"))
        add("Authorization", "Bearer " + std::string(key));
    if (!request.body.empty() && !has_header(request, "Content-Type"))
        add("Content-Type", "application/json");
    if (request.method != "GET" && !has_header(request, "Content-Length") &&
        !has_header(request, "Transfer-Encoding"))
        add("Content-Length", std::to_string(request.body.size()));
    return bytes + "\r\n" + request.body;
}

raw_connection::raw_connection(std::uint16_t port, std::chrono::seconds deadline)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), deadline_(deadline)
{
    if (socket_ < 0)
        lost("socket");
    int const on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    limit_waits(deadline_);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) {
        auto const fault = errno;
        ::close(socket_);
        errno = fault;
        lost("connect");
    }
}

raw_connection::~raw_connection()
{
    ::close(socket_);
}

void raw_connection::limit_waits(std::chrono::milliseconds longest) const
{
    auto const seconds = std::chrono::floor<std::chrono::seconds>(longest);
    timeval const limit{.tv_sec = seconds.count(),
                        .tv_usec = std::chrono::microseconds(longest - seconds).count()};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool raw_connection::send(std::string_view bytes)
{
    while (!bytes.empty()) {
        auto const sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        else if (errno == EPIPE || errno == ECONNRESET)
            return false;
        else if (errno != EINTR)
            lost("send");
    }
    return true;
}

void raw_connection::finish_sending()
{
    ::shutdown(socket_, SHUT_WR);
}

// Takes in what has come. False when the service has closed the connection.
bool raw_connection::read_more()
{
    std::array<char, 16384> chunk;
    while (!is_closed_) {
        auto const size = ::recv(socket_, chunk.data(), chunk.size(), 0);
        if (size > 0) {
            received_.append(chunk.data(), static_cast<std::size_t>(size));
            return true;
        }
        was_reset_ = size < 0 && errno == ECONNRESET;
        is_closed_ = size == 0 || was_reset_;
        if (!is_closed_ && errno != EINTR)
            lost("recv");
    }
    return false;
}

std::optional<http_response> raw_connection::receive(to asked)
{
    auto head_end = received_.find("\r\n\r\n");
    while (head_end == std::string::npos) {
        if (!read_more())
            return std::nullopt;
        head_end = received_.find("\r\n\r\n");
    }
    auto response = parse_head(std::string_view(received_).substr(0, head_end));
    auto const body_begin = head_end + 4;
    auto const size = asked == to::head ? 0 : length_of_body(response);
    while (received_.size() < body_begin + size)
        if (!read_more())
            throw connection_lost("the answer was cut short");
    response.body = received_.substr(body_begin, size);
    received_.erase(0, body_begin + size);
    return response;
}

bool raw_connection::is_closed_within(std::chrono::milliseconds longest)
{
    auto const until = std::chrono::steady_clock::now() + longest;
    while (!is_closed_) {
        auto const left =
            std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        if (left.count() <= 0)
            break;
        limit_waits(left);
        try {
            read_more();
        } catch (connection_lost const&) {
            break; // The time is up.
        }
    }
    limit_waits(deadline_);
    return is_closed_;
}

} // namespace holdfast::test
