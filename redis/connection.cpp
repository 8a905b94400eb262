// SPDX-License-Identifier: Apache-2.0
#include "redis/connection.hpp"

#include "redis/error.hpp"

#include <hiredis/hiredis.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <utility>

namespace holdfast::redis {

namespace {

using clock = std::chrono::steady_clock;

timeval to_timeval(std::chrono::milliseconds time)
{
    return {.tv_sec = time.count() / 1000, .tv_usec = (time.count() % 1000) * 1000};
}

reply to_reply(redisReply const& raw)
{
    switch (raw.type) {
    case REDIS_REPLY_INTEGER: return reply(std::int64_t{raw.integer});
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS: return reply(std::string(raw.str, static_cast<std::size_t>(raw.len)));
    case REDIS_REPLY_ERROR:
        return reply(failure{std::string(raw.str, static_cast<std::size_t>(raw.len))});
    case REDIS_REPLY_ARRAY: {
        reply::list parts;
        parts.reserve(raw.elements);
        for (std::size_t i = 0; i < raw.elements; ++i)
            parts.push_back(to_reply(*raw.element[i]));
        return reply(std::move(parts));
    }
    default: return {};
    }
}

} // namespace

void connection::closer::operator()(redisContext* context) const noexcept
{
    redisFree(context);
}

connection::connection(node const& to, target const& who, timeouts t)
    : timeouts_(t), name_(to_string(to)),
      context_(redisConnectWithTimeout(to.host.c_str(), to.port, to_timeval(t.connect)))
{
    if (!context_)
        throw error("no memory for a connection to Redis");
    if (context_->err != 0)
        fail();
    if (redisSetTimeout(context_.get(), to_timeval(t.answer)) != REDIS_OK)
        fail();
    std::vector<command> greeting;
    if (!who.password.empty() && who.user.empty())
        greeting.push_back({"AUTH", who.password});
    else if (!who.password.empty())
        greeting.push_back({"AUTH", who.user, who.password});
    if (who.database != 0)
        greeting.push_back({"SELECT", std::to_string(who.database)});
    for (auto const& answer : run(greeting))
        if (auto const* why = answer.why()) // its text may repeat what it was asked: the password
            throw error(name_ + ": " + std::string(why->kind()) +
                        ", it refuses our user, password or database");
}

connection::~connection() = default;

void connection::fail() const
{
    throw error(name_ + ": " + context_->errstr);
}

bool connection::is_idle() const noexcept
{
    char byte = 0;
    return ::recv(context_->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EWOULDBLOCK);
}

void connection::send(std::span<command const* const> commands)
{
    std::vector<char const*> texts;
    std::vector<std::size_t> lengths;
    for (auto const* each : commands) {
        texts.clear();
        lengths.clear();
        for (auto const& part : *each) {
            texts.push_back(part.data());
            lengths.push_back(part.size());
        }
        if (redisAppendCommandArgv(context_.get(), static_cast<int>(texts.size()), texts.data(),
                                   lengths.data()) != REDIS_OK)
            fail();
    }
    for (int is_done = 0; is_done == 0;)
        if (redisBufferWrite(context_.get(), &is_done) != REDIS_OK)
            fail();
}

std::vector<reply> connection::receive(std::size_t count)
{
    std::vector<reply> replies;
    replies.reserve(count);
    auto const deadline = clock::now() + timeouts_.answer;
    while (replies.size() < count) {
        if (clock::now() > deadline)
            throw error(name_ + ": the answers take too long");
        void* raw = nullptr;
        if (redisGetReply(context_.get(), &raw) != REDIS_OK)
            fail();
        std::unique_ptr<void, void (*)(void*)> const owned(raw, freeReplyObject);
        replies.push_back(to_reply(*static_cast<redisReply const*>(raw)));
    }
    return replies;
}

std::vector<reply> connection::run(std::span<command const> commands)
{
    std::vector<command const*> all;
    all.reserve(commands.size());
    for (auto const& each : commands)
        all.push_back(&each);
    send(all);
    return receive(commands.size());
}

} // namespace holdfast::redis
