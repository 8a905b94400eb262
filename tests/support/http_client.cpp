// SPDX-License-Identifier: Apache-2.0
#include "tests/support/http_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace holdfast::test {

namespace {

std::string lowered(std::string_view text)
{
    std::string copy(text);
    for (auto& c : copy)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return copy;
}

bool has_header(header_list const& headers, std::string_view name)
{
    return std::any_of(headers.begin(), headers.end(),
                       [&](auto const& header) { return lowered(header.first) == name; });
}

[[noreturn]] void lost(std::string const& what)
{
    throw connection_lost(errno == 0 ? what : what + ": " + std::strerror(errno));
}

// Reads the status line and the header lines that stand before the empty line.
http_response parse_head(std::string_view head)
{
    http_response response;
    auto const line_end = std::min(head.find("\r\n"), head.size());
    auto const status_line = head.substr(0, line_end);
    if (!status_line.starts_with("HTTP/1.1 ") || status_line.size() < 12)
        throw connection_lost("not an HTTP answer: " + std::string(status_line.substr(0, 80)));
    std::from_chars(status_line.data() + 9, status_line.data() + 12, response.status);

    auto rest = head.substr(std::min(line_end + 2, head.size()));
    while (!rest.empty()) {
        auto const end = std::min(rest.find("\r\n"), rest.size());
        auto const line = rest.substr(0, end);
        auto const colon = std::min(line.find(':'), line.size());
        auto value = line.substr(std::min(colon + 1, line.size()));
        while (value.starts_with(' '))
            value.remove_prefix(1);
        response.headers.emplace_back(line.substr(0, colon), value);
        rest.remove_prefix(std::min(end + 2, rest.size()));
    }
    return response;
}

std::size_t body_size_of(http_response const& response, std::string_view method)
{
    if (method == "HEAD" || response.status == 204 || response.status == 304)
        return 0;
    auto const length = response.header("content-length");
    if (!length)
        throw connection_lost("an answer without Content-Length");
    std::size_t size = 0;
    std::from_chars(length->data(), length->data() + length->size(), size);
    return size;
}

} // namespace

std::optional<std::string> http_response::header(std::string_view name) const
{
    auto const wanted = lowered(name);
    for (auto const& [key, value] : headers)
        if (lowered(key) == wanted)
            return value;
    return std::nullopt;
}

nlohmann::json http_response::json() const
{
    auto value = nlohmann::json::parse(body, nullptr, false);
    if (value.is_discarded())
        throw std::runtime_error(std::to_string(status) + " without JSON: " + body.substr(0, 200));
    return value;
}

http_client::http_client(std::uint16_t port, std::string key, std::chrono::milliseconds deadline)
    : port_(port), key_(std::move(key)), deadline_(deadline)
{}

http_client::http_client(http_client&& other) noexcept
    : port_(other.port_), key_(std::move(other.key_)), deadline_(other.deadline_),
      socket_(std::exchange(other.socket_, -1)), received_(std::move(other.received_))
{}

http_client& http_client::operator=(http_client&& other) noexcept
{
    std::swap(port_, other.port_);
    std::swap(key_, other.key_);
    std::swap(deadline_, other.deadline_);
    std::swap(socket_, other.socket_);
    std::swap(received_, other.received_);
    return *this;
}

http_client::~http_client()
{
    close();
}

void http_client::close() noexcept
{
    if (socket_ >= 0)
        ::close(std::exchange(socket_, -1));
    received_.clear();
}

void http_client::connect()
{
    close();
    auto const until = std::chrono::steady_clock::now() + deadline_;
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ < 0)
        lost("socket");
    int const on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);

    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0)
        return;
    if (errno != EINPROGRESS)
        lost("connect");
    wait_for(POLLOUT, until);
    int fault = 0;
    socklen_t size = sizeof fault;
    ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &fault, &size);
    errno = fault;
    if (fault != 0)
        lost("connect");
}

// A kept-alive connection on which something can be read before we asked anything was closed by
// the other side while it lay idle.
bool http_client::is_usable() const
{
    if (socket_ < 0)
        return false;
    pollfd look{.fd = socket_, .events = POLLIN, .revents = 0};
    return ::poll(&look, 1, 0) == 0;
}

void http_client::wait_for(short events, time_point until) const
{
    while (true) {
        auto const left =
            std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        pollfd look{.fd = socket_, .events = events, .revents = 0};
        auto const ready =
            ::poll(&look, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
        if (ready > 0)
            return;
        if (ready == 0)
            throw connection_lost("no answer within the deadline");
        if (errno != EINTR)
            lost("poll");
    }
}

void http_client::write(std::string_view bytes, time_point until) const
{
    while (!bytes.empty()) {
        auto const sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            wait_for(POLLOUT, until);
        else if (errno != EINTR)
            lost("send");
    }
}

// Takes in what has come. False when the other side has closed the connection.
bool http_client::read_more(time_point until)
{
    std::array<char, 16384> chunk;
    while (true) {
        auto const size = ::recv(socket_, chunk.data(), chunk.size(), 0);
        if (size > 0) {
            received_.append(chunk.data(), static_cast<std::size_t>(size));
            return true;
        }
        if (size == 0)
            return false;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            wait_for(POLLIN, until);
        else if (errno == ECONNRESET)
            return false;
        else if (errno != EINTR)
            lost("recv");
    }
}

std::optional<http_response> http_client::read_response(time_point until, std::string_view method)
{
    auto head_end = received_.find("\r\n\r\n");
    while (head_end == std::string::npos) {
        if (!read_more(until))
            return std::nullopt;
        head_end = received_.find("\r\n\r\n");
    }
    auto response = parse_head(std::string_view(received_).substr(0, head_end));
    auto const body_begin = head_end + 4;
    auto const size = body_size_of(response, method);
    while (received_.size() < body_begin + size)
        if (!read_more(until))
            throw connection_lost("the answer was cut short");

    response.body = received_.substr(body_begin, size);
    received_.erase(0, body_begin + size);
    return response;
}

http_response http_client::send(http_request const& request)
{
    auto const until = std::chrono::steady_clock::now() + deadline_;
    errno = 0;
    std::string bytes = request.method + ' ' + request.target + " HTTP/1.1\r\n";
    auto const add = [&](std::string_view name, std::string_view value) {
        bytes.append(name).append(": ").append(value).append("\r\n");
    };
    for (auto const& [name, value] : request.headers)
        add(name, value);
    if (!has_header(request.headers, "host"))
        add("Host", "127.0.0.1");
    if (!key_.empty() && !has_header(request.headers, "authorization"))
        add("Authorization", "Bearer " + key_);
    if (!request.body.empty() && !has_header(request.headers, "content-type"))
        add("Content-Type", "application/json");
    if (!has_header(request.headers, "content-length") && request.method != "GET")
        add("Content-Length", std::to_string(request.body.size()));
    bytes.append("\r\n").append(request.body);

    try {
        if (!is_usable())
            connect();
        write(bytes, until);
        auto response = read_response(until, request.method);
        if (!response)
            throw connection_lost("the connection was closed before an answer came");
        if (lowered(response->header("connection").value_or("")) == "close")
            close();
        return std::move(*response);
    } catch (...) {
        close();
        throw;
    }
}

std::optional<http_response> http_client::send_raw(std::string_view bytes)
{
    http_client fresh(port_, key_, deadline_);
    auto const until = std::chrono::steady_clock::now() + deadline_;
    errno = 0;
    fresh.connect();
    fresh.write(bytes, until);
    return fresh.read_response(until, bytes.substr(0, bytes.find(' ')));
}

} // namespace holdfast::test
