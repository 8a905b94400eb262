// SPDX-License-Identifier: Apache-2.0
#include "tests/support/redis_server.hpp"

#include "redis/error.hpp"
#include "tests/support/run_together.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <utility>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

constexpr auto start_max = 20s;
constexpr auto settle_max = 60s;
constexpr std::size_t masters = 3;

program_options options_of(std::string name, std::vector<std::string> arguments)
{
    return {.name = std::move(name),
            .packages = "redis-server",
            .arguments = std::move(arguments),
            .environment = {}};
}

bool is_linked(redis_server const& node)
{
    return node.ask({"CLUSTER", "INFO"}).text().find("cluster_state:ok") != std::string::npos;
}

bool follows(redis_server const& node)
{
    return node.ask({"INFO", "replication"}).text().find("master_link_status:up") !=
           std::string::npos;
}

} // namespace

std::uint16_t free_port()
{
    auto const listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    bool const is_bound =
        ::bind(listening, generic, length) == 0 && ::getsockname(listening, generic, &length) == 0;
    ::close(listening);
    if (!is_bound)
        throw std::runtime_error("no port is free on 127.0.0.1");
    return ntohs(address.sin_port);
}

redis_server::redis_server(std::vector<std::string> settings)
    : settings_(std::move(settings)), port_(free_port())
{
    start();
}

redis_server::~redis_server() = default;

std::string redis_server::url() const
{
    return "redis://127.0.0.1:" + std::to_string(port_);
}

redis::target redis_server::target() const
{
    return redis::parse_target(url()).value();
}

void redis_server::start()
{
    std::vector<std::string> arguments{"--port", std::to_string(port_),  "--bind", "127.0.0.1",
                                       "--dir",  place_.path().string(), "--save", ""};
    arguments.insert(arguments.end(), settings_.begin(), settings_.end());
    running_ = std::make_unique<program>(options_of("redis-server", arguments));
    if (!eventually(start_max, [&] { return is_up() || !running_->is_running(); }) ||
        !running_->is_running())
        throw std::runtime_error("redis-server does not start: " + running_->out());
}

void redis_server::forget()
{
    for (auto const& each : std::filesystem::directory_iterator(place_.path()))
        std::filesystem::remove_all(each.path());
}

bool redis_server::is_up() const
{
    redis::command const ping{"PING"};
    try {
        redis::connection link({"127.0.0.1", port_}, {}, {});
        auto const said = link.run(std::span(&ping, 1)).front();
        return said.why() == nullptr || said.why()->kind() == "NOAUTH";
    } catch (redis::error const&) {
        return false; // not yet
    }
}

void redis_server::kill9()
{
    running_->kill9();
}

void redis_server::suspend()
{
    ::kill(running_->pid(), SIGSTOP);
}

void redis_server::resume()
{
    ::kill(running_->pid(), SIGCONT);
}

redis::reply redis_server::ask(redis::command const& command) const
{
    redis::connection link({"127.0.0.1", port_}, {}, {});
    auto answer = std::move(link.run(std::span(&command, 1)).front());
    if (auto const* why = answer.why())
        throw redis::error(why->text);
    return answer;
}

redis_cluster::redis_cluster()
{
    std::vector<std::string> arguments{"--cluster", "create"};
    for (std::size_t i = 0; i < masters * 2; ++i) {
        auto const bus = std::to_string(free_port());
        nodes_.push_back(std::make_unique<redis_server>(std::vector<std::string>{
            "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "1000",
            "--cluster-announce-ip", "127.0.0.1", "--cluster-replica-validity-factor", "0",
            "--repl-diskless-sync-delay", "0", "--appendonly", "yes"}));
        arguments.push_back("127.0.0.1:" + std::to_string(nodes_.back()->port()));
    }
    arguments.insert(arguments.end(), {"--cluster-replicas", "1", "--cluster-yes"});
    program making(options_of("redis-cli", arguments));
    if (making.wait(settle_max) != 0)
        throw std::runtime_error("no cluster comes into being: " + making.out() + making.err());
    wait_until_settled();
}

void redis_cluster::wait_until_settled()
{
    auto const is_settled = [&] {
        std::size_t followers = 0;
        try {
            for (auto const& node : nodes_) {
                if (!is_linked(*node))
                    return false;
                followers += follows(*node) ? 1 : 0;
            }
        } catch (redis::error const&) {
            return false; // it is on its way up
        }
        return followers == masters;
    };
    if (!eventually(settle_max, is_settled))
        throw std::runtime_error("the cluster does not settle");
}

redis::target redis_cluster::target() const
{
    return redis::parse_target(url()).value();
}

std::string redis_cluster::url() const
{
    std::string url;
    for (auto const& node : nodes_)
        url += (url.empty() ? "redis://" : ",") + std::string("127.0.0.1:") +
               std::to_string(node->port());
    return url;
}

redis_server& redis_cluster::master_of(std::string const& key)
{
    for (auto const& node : nodes_) {
        try {
            static_cast<void>(node->ask({"EXISTS", key}));
            return *node;
        } catch (redis::error const&) {
            continue; // MOVED: it is another one's
        }
    }
    throw std::runtime_error("no node has the key");
}

} // namespace holdfast::test
