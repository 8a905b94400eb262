// SPDX-License-Identifier: Apache-2.0
// A connection by libpq alone, for the few statements that come before any session.

#include "db/server_administration.hpp"

#include "db/cluster_files.hpp"
#include "db/embedded_cluster.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>

namespace holdfast::db {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto statement_limit = 60s; // making the database, on a slow disk
constexpr auto poll_pause = 25ms;     // how soon it is tried again

// One connection whose every wait is bounded.
class administration {
public:
    explicit administration(std::string const& keywords)
        : connection_(::PQconnectdb(keywords.c_str()), &::PQfinish)
    {
        if (::PQstatus(connection_.get()) != CONNECTION_OK)
            complain(::PQerrorMessage(connection_.get()));
    }

    // The session of a service that was killed in the middle of this may still be at it, so the
    // statement may fail for what is there a moment later, or for what it is copied from.
    void make(char const* presence, char const* statement) const
    {
        static constexpr std::array passing{"23505", "42710", "42P04", "55006"};
        auto const deadline = clock::now() + statement_limit;
        while (answer_to(presence).rows == 0) {
            auto const made = answer_to(statement);
            if (made.error.empty())
                return;
            if (std::ranges::find(passing, made.sqlstate) == passing.end() ||
                clock::now() >= deadline)
                complain(made.error);
            std::this_thread::sleep_for(poll_pause);
        }
    }

private:
    struct answer {
        int rows = 0;
        std::string sqlstate{};
        std::string error{};
    };
    using result = std::unique_ptr<PGresult, decltype(&::PQclear)>;

    [[noreturn]] static void complain(std::string const& error)
    {
        throw cluster_error(fmt::format("The database started and then did not answer: {}", error));
    }

    void wait_for_answer(clock::time_point deadline) const
    {
        while (::PQisBusy(connection_.get())) {
            auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now());
            if (left.count() <= 0)
                throw cluster_error("The database started and then did not answer in time.");
            pollfd watched{::PQsocket(connection_.get()), POLLIN, 0};
            if (::poll(&watched, 1, static_cast<int>(left.count())) < 0 && errno != EINTR)
                fail("waiting for the database");
            if (::PQconsumeInput(connection_.get()) == 0)
                complain(::PQerrorMessage(connection_.get()));
        }
    }

    answer answer_to(char const* statement) const
    {
        if (::PQsendQuery(connection_.get(), statement) == 0)
            complain(::PQerrorMessage(connection_.get()));
        auto const deadline = clock::now() + statement_limit;
        answer all;
        for (;;) {
            wait_for_answer(deadline);
            result const one{::PQgetResult(connection_.get()), &::PQclear};
            if (!one)
                return all;
            all.rows += ::PQntuples(one.get());
            if (auto const* state = ::PQresultErrorField(one.get(), PG_DIAG_SQLSTATE))
                all.sqlstate = state;
            all.error += ::PQresultErrorMessage(one.get());
        }
    }

    std::unique_ptr<PGconn, decltype(&::PQfinish)> connection_;
};

} // namespace

void make_role_and_database(std::string const& keywords)
{
    administration const server{keywords + " connect_timeout=10"};
    server.make("SELECT 1 FROM pg_roles WHERE rolname = 'holdfast'", "CREATE ROLE holdfast LOGIN");
    server.make("SELECT 1 FROM pg_database WHERE datname = 'holdfast'",
                "CREATE DATABASE holdfast OWNER holdfast");
}

} // namespace holdfast::db
