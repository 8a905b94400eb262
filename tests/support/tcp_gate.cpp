// SPDX-License-Identifier: Apache-2.0
#include "tests/support/tcp_gate.hpp"

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

// How long a carrier may take to hear that the gate has changed.
constexpr auto look_every = 20ms;

[[noreturn]] void failed(char const* what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

class descriptor {
public:
    explicit descriptor(int number) noexcept : number_(number) {}
    descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    descriptor(descriptor const&) = delete;
    descriptor& operator=(descriptor const&) = delete;
    descriptor& operator=(descriptor&&) = delete;
    ~descriptor()
    {
        if (number_ >= 0)
            ::close(number_);
    }

    [[nodiscard]] int number() const noexcept { return number_; }

private:
    int number_;
};

struct listener {
    descriptor socket;
    std::uint16_t port;
};

listener listen_on_loopback()
{
    descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.number() < 0)
        failed("socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket.number(), plain, size) != 0 || ::listen(socket.number(), 64) != 0 ||
        ::getsockname(socket.number(), plain, &size) != 0)
        failed("listen");
    return {std::move(socket), ntohs(address.sin_port)};
}

std::optional<descriptor> connect_to(std::string const& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        throw std::invalid_argument("too long for a socket: " + path);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.number() < 0 ||
        ::connect(socket.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        return std::nullopt;
    return socket;
}

bool write_all(int to, std::string_view bytes)
{
    while (!bytes.empty()) {
        auto const sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        bytes.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
    }
    return true;
}

std::string socket_path_of(std::string const& connection_string)
{
    std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> const options(
        PQconninfoParse(connection_string.c_str(), nullptr), &PQconninfoFree);
    if (!options)
        throw std::invalid_argument("not a connection string: " + connection_string);
    std::string host;
    std::string port = "5432";
    for (auto const* option = options.get(); option->keyword != nullptr; ++option) {
        if (option->val != nullptr && std::string_view(option->keyword) == "host")
            host = option->val;
        if (option->val != nullptr && std::string_view(option->keyword) == "port")
            port = option->val;
    }
    return host + "/.s.PGSQL." + port;
}

// One connection on its way through the gate.
struct carried {
    int client;
    int server;
    bool is_doomed = false; // what the server says next is the last thing, and nobody hears it
};

enum class mode { open, swallowing, shut };

enum class trap { none, before, after, bytes };

} // namespace

struct tcp_gate::impl {
    explicit impl(std::string path) : server_path(std::move(path)), entrance(listen_on_loopback())
    {
        doorman = std::jthread([this](std::stop_token const& stop) { let_in(stop); });
    }

    void set(mode how, trap kind = trap::none, std::string_view text = {}, std::uint64_t bytes = 0)
    {
        std::scoped_lock const lock(mutex);
        state = how;
        set_trap = kind;
        trap_text = text;
        bytes_left = bytes;
    }

    void let_in(std::stop_token const& stop)
    {
        std::vector<std::jthread> carriers;
        while (!stop.stop_requested()) {
            pollfd look{.fd = entrance.socket.number(), .events = POLLIN, .revents = 0};
            if (::poll(&look, 1, static_cast<int>(look_every.count())) <= 0)
                continue;
            descriptor client(::accept4(look.fd, nullptr, nullptr, SOCK_CLOEXEC));
            if (client.number() < 0 || is_shut())
                continue;
            carriers.emplace_back([this, c = std::move(client)](std::stop_token const& end) {
                carry(c.number(), end);
            });
        }
    }

    // Carries one connection until either side ends it or the gate breaks it.
    void carry(int client, std::stop_token const& stop)
    {
        auto const server = connect_to(server_path);
        if (!server)
            return;
        std::array<pollfd, 2> look{{{.fd = client, .events = POLLIN, .revents = 0},
                                    {.fd = server->number(), .events = POLLIN, .revents = 0}}};
        carried both{.client = client, .server = server->number()};
        while (!stop.stop_requested()) {
            if (is_shut()) {
                ++cut_count;
                return;
            }
            if (::poll(look.data(), look.size(), static_cast<int>(look_every.count())) <= 0)
                continue;
            if (look[0].revents != 0 && !pass_on(both))
                return;
            if (look[1].revents != 0 && !answer(both))
                return;
        }
    }

    // From the client to the server. Says whether the connection goes on.
    bool pass_on(carried& both)
    {
        auto const said = read(both.client);
        if (said.empty())
            return false;
        switch (sprung(said)) {
        case trap::before: ++cut_count; return false;
        case trap::after: both.is_doomed = true; break;
        case trap::bytes:
        case trap::none: break;
        }
        if (meanwhile)
            meanwhile();
        return write_all(both.server, said);
    }

    bool answer(carried const& both)
    {
        auto said = read(both.server);
        if (said.empty())
            return false;
        if (both.is_doomed) {
            ++cut_count;
            return false;
        }
        bool goes_on = true;
        {
            std::scoped_lock const lock(mutex);
            if (state == mode::swallowing)
                return true;
            if (set_trap == trap::bytes && said.size() >= bytes_left) {
                said.resize(bytes_left);
                set_trap = trap::none;
                goes_on = false;
                ++cut_count;
            } else if (set_trap == trap::bytes) {
                bytes_left -= said.size();
            }
        }
        return write_all(both.client, said) && goes_on;
    }

    // Which trap the client's words have sprung. A trap is good for once.
    trap sprung(std::string_view said)
    {
        std::scoped_lock const lock(mutex);
        bool const waits_for_words = set_trap == trap::before || set_trap == trap::after;
        if (!waits_for_words || said.find(trap_text) == std::string_view::npos)
            return trap::none;
        return std::exchange(set_trap, trap::none);
    }

    static std::string read(int from)
    {
        std::string bytes(65'536, '\0');
        auto const count = ::recv(from, bytes.data(), bytes.size(), 0);
        bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        return bytes;
    }

    bool is_shut()
    {
        std::scoped_lock const lock(mutex);
        return state == mode::shut;
    }

    std::string server_path;
    listener entrance;
    std::mutex mutex; // guards the four below
    mode state = mode::open;
    trap set_trap = trap::none;
    std::string trap_text;
    std::uint64_t bytes_left = 0;
    std::atomic<int> cut_count{0};
    std::function<void()> meanwhile;
    std::jthread doorman; // last: it ends before what it uses does
};

tcp_gate::tcp_gate(std::string const& connection_string)
    : impl_(std::make_unique<impl>(socket_path_of(connection_string)))
{
    // Of a keyword given twice, libpq takes the last.
    connection_string_ = connection_string +
                         " host=127.0.0.1 sslmode=disable gssencmode=disable port=" +
                         std::to_string(impl_->entrance.port);
}

tcp_gate::~tcp_gate() = default;

void tcp_gate::open()
{
    impl_->set(mode::open);
}

void tcp_gate::swallow_answers()
{
    impl_->set(mode::swallowing);
}

void tcp_gate::cut_before(std::string_view text)
{
    impl_->set(mode::open, trap::before, text);
}

void tcp_gate::cut_after(std::string_view text)
{
    impl_->set(mode::open, trap::after, text);
}

void tcp_gate::cut_after_bytes(std::uint64_t bytes)
{
    impl_->set(mode::open, trap::bytes, {}, bytes);
}

void tcp_gate::before_each_message(std::function<void()> f)
{
    impl_->meanwhile = std::move(f);
}

void tcp_gate::shut()
{
    impl_->set(mode::shut);
}

int tcp_gate::cuts() const noexcept
{
    return impl_->cut_count;
}

} // namespace holdfast::test
