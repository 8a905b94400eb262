// SPDX-License-Identifier: Apache-2.0
// A gate between a client and PostgreSQL that can lose what it is given to carry: the way to meet a
// network that fails at the worst moment, as often as a test likes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::test {

// Listens on a loopback port and carries every connection to the server's unix socket.
class tcp_gate {
public:
    // In front of the server that `connection_string` leads to.
    explicit tcp_gate(std::string const& connection_string);
    tcp_gate(tcp_gate const&) = delete;
    tcp_gate& operator=(tcp_gate const&) = delete;
    ~tcp_gate();

    // The same database, through the gate.
    [[nodiscard]] std::string const& connection_string() const noexcept
    {
        return connection_string_;
    }

    // Carries everything. New and kept connections alike.
    void open();

    // Carries what the client says; the server's answers vanish.
    void swallow_answers();

    // Breaks the connection of whoever says `text` next, before the server hears of it.
    void cut_before(std::string_view text);

    // Breaks the connection of whoever says `text` next, after the server has answered and before
    // the client hears of that.
    void cut_after(std::string_view text);

    // Breaks a connection once the server has said this many bytes more on it.
    void cut_after_bytes(std::uint64_t bytes);

    // Calls `f` before each message of a client is passed on, for what others do in between. Set it
    // before anything is carried.
    void before_each_message(std::function<void()> f);

    // Breaks every connection and hangs up on new ones.
    void shut();

    // How many connections were broken.
    [[nodiscard]] int cuts() const noexcept;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
    std::string connection_string_;
};

} // namespace holdfast::test
