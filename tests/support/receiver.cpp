// SPDX-License-Identifier: Apache-2.0
#include "tests/support/receiver.hpp"

#include "tests/support/run_together.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

namespace holdfast::test {

namespace {

constexpr std::size_t flood_size = 1 << 20;

bool write_all(int socket, std::string_view bytes)
{
    while (!bytes.empty()) {
        auto const count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count <= 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

std::string lower(std::string text)
{
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

} // namespace

std::string received::header(std::string_view name) const
{
    for (auto const& [field, value] : headers)
        if (field == name)
            return value;
    return {};
}

struct receiver::impl {
    explicit impl(judgement r) : react(std::move(r))
    {
        listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (listening < 0 || ::bind(listening, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 ||
            ::listen(listening, 256) != 0)
            throw std::system_error(errno, std::generic_category(), "receiver");
        socklen_t size = sizeof at;
        ::getsockname(listening, reinterpret_cast<sockaddr*>(&at), &size);
        port = ntohs(at.sin_port);
        accepting = std::jthread([this] { accept_all(); });
    }

    ~impl()
    {
        {
            std::scoped_lock const lock(mutex);
            is_over = true;
            for (auto const socket : open)
                ::shutdown(socket, SHUT_RDWR);
        }
        over.notify_all();
        ::shutdown(listening, SHUT_RDWR);
        accepting.join();
        ::close(listening);
        serving.clear();
    }

    void accept_all()
    {
        for (;;) {
            auto const socket = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
            std::scoped_lock const lock(mutex);
            if (socket < 0 || is_over) {
                if (socket >= 0)
                    ::close(socket);
                return;
            }
            open.insert(socket);
            serving.emplace_back([this, socket] { serve(socket); });
        }
    }

    void serve(int socket)
    {
        std::string bytes;
        while (auto call = read_call(socket, bytes)) {
            {
                std::scoped_lock const lock(mutex);
                calls.push_back(*call);
            }
            if (!answer(socket, react(*call)))
                break;
        }
        std::scoped_lock const lock(mutex);
        open.erase(socket);
        ::close(socket);
    }

    static std::optional<received> read_call(int socket, std::string& bytes)
    {
        auto const more = [&] {
            char part[16 * 1024];
            auto const count = ::recv(socket, part, sizeof part, 0);
            if (count > 0)
                bytes.append(part, static_cast<std::size_t>(count));
            return count > 0;
        };
        std::size_t end = 0;
        while ((end = bytes.find("\r\n\r\n")) == std::string::npos)
            if (!more())
                return std::nullopt;
        received call{.at = std::chrono::steady_clock::now()};
        auto const head = bytes.substr(0, end + 2);
        auto const first_line = head.find("\r\n");
        auto const path_at = head.find(' ') + 1;
        call.path = head.substr(path_at, head.find(' ', path_at) - path_at);
        for (auto at = first_line + 2; at < head.size();) {
            auto const line_end = head.find("\r\n", at);
            auto const colon = head.find(": ", at);
            call.headers.emplace_back(lower(head.substr(at, colon - at)),
                                      head.substr(colon + 2, line_end - colon - 2));
            at = line_end + 2;
        }
        bytes.erase(0, end + 4);
        auto const size = std::stoul("0" + call.header("content-length"));
        while (bytes.size() < size)
            if (!more())
                return std::nullopt;
        call.body = bytes.substr(0, size);
        bytes.erase(0, size);
        return call;
    }

    // False when the connection is to be closed.
    bool answer(int socket, reaction const& how)
    {
        if (!pause(how.after) || how.how == reaction::kind::hang_up)
            return false;
        auto head = "HTTP/1.1 " + std::to_string(how.status) + " As You Like\r\n";
        for (auto const& [name, value] : how.headers)
            head += name + ": " + value + "\r\n";
        if (how.how == reaction::kind::half_a_head) {
            write_all(socket, head.substr(0, head.size() / 2));
            return false;
        }
        if (how.how == reaction::kind::flood)
            return write_all(socket, head + "Content-Length: " + std::to_string(flood_size) +
                                         "\r\n\r\n" + std::string(flood_size, 'x'));
        if (how.how == reaction::kind::drip) {
            for (auto const c : head + std::string(1000, 'x'))
                if (!write_all(socket, std::string(1, c)) || !pause(std::chrono::milliseconds(100)))
                    return false;
            return false;
        }
        return write_all(socket, head + (how.status == 204 ? "\r\n" : "Content-Length: 0\r\n\r\n"));
    }

    // False when the receiver ends meanwhile.
    bool pause(std::chrono::milliseconds time)
    {
        std::unique_lock lock(mutex);
        return !over.wait_for(lock, time, [&] { return is_over; });
    }

    judgement react;
    int listening = -1;
    std::uint16_t port = 0;
    mutable std::mutex mutex;
    std::condition_variable over;
    bool is_over = false;
    std::set<int> open;
    std::vector<received> calls;
    std::vector<std::jthread> serving;
    std::jthread accepting;
};

receiver::receiver(judgement react) : impl_(std::make_unique<impl>(std::move(react))) {}
receiver::~receiver() = default;

std::uint16_t receiver::port() const noexcept
{
    return impl_->port;
}

std::string receiver::url(std::string const& path) const
{
    return "http://127.0.0.1:" + std::to_string(port()) + path;
}

std::vector<received> receiver::all() const
{
    std::scoped_lock const lock(impl_->mutex);
    return impl_->calls;
}

bool receiver::has(std::size_t count, std::chrono::seconds longest) const
{
    return eventually(longest, [&] {
        std::scoped_lock const lock(impl_->mutex);
        return impl_->calls.size() >= count;
    });
}

} // namespace holdfast::test
