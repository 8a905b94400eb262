// SPDX-License-Identifier: Apache-2.0
// The turnstile before the workers: how many are inside at once, who waits, and who is sent away.
// There is no database: the work here needs none.
#include "service/turnstile.hpp"
#include "service/version.hpp"
#include "tests/support/run_together.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

namespace asio = boost::asio;

// Visitors to one turnstile, each of whom stays until the gate opens.
class visitors {
public:
    explicit visitors(turnstile::limits most) : stile_(workers_, most) {}
    ~visitors()
    {
        open();
        (void)outcomes();
        workers_.stop();
    }
    visitors(visitors const&) = delete;
    visitors& operator=(visitors const&) = delete;

    // Returns when it is settled whether they go inside, wait, or are sent away.
    void come(int count)
    {
        for (int i = 0; i < count; ++i)
            visits_.push_back(asio::co_spawn(io_, visit(), asio::use_future));
        std::promise<void> have_come;
        asio::post(io_, [&] { have_come.set_value(); });
        have_come.get_future().wait();
    }

    void open()
    {
        if (!is_open_.exchange(true))
            opened_.set_value();
    }

    turnstile& stile() { return stile_; }

    // How many were let in, of all who have come; waits for them.
    std::ptrdiff_t outcomes()
    {
        std::vector<bool> let_in;
        for (auto& each : visits_)
            let_in.push_back(each.get());
        visits_.clear();
        return std::ranges::count(let_in, true);
    }

    [[nodiscard]] int most_at_once() const { return most_at_once_; }

    // Whether so many are inside, and so many were sent away, before long.
    [[nodiscard]] bool comes_to(int inside, int sent_away) const
    {
        return test::eventually(10s, [&] { return inside_ == inside && sent_away_ == sent_away; });
    }

    // How many have been sent away so far.
    [[nodiscard]] int sent_away() const { return sent_away_; }

private:
    asio::awaitable<bool> visit()
    {
        auto const stay = [this](db::link&) {
            int const now = ++inside_;
            for (int seen = most_at_once_; seen < now;)
                if (most_at_once_.compare_exchange_weak(seen, now))
                    break;
            gate_.wait();
            --inside_;
            return true;
        };
        try {
            co_return co_await stile_.run(stay);
        } catch (overloaded const&) {
            ++sent_away_;
        }
        co_return false;
    }

    metrics counted_{version};
    worker_pool workers_{{.session = {.connection = "host=/nonexistent"}, .threads = 4}, counted_};
    turnstile stile_;
    std::promise<void> opened_;
    std::shared_future<void> gate_{opened_.get_future()};
    std::atomic<bool> is_open_{false};
    std::atomic<int> inside_{0};
    std::atomic<int> most_at_once_{0};
    std::atomic<int> sent_away_{0};
    std::vector<std::future<bool>> visits_;
    asio::io_context io_;
    asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
    std::jthread thread_{[this] { io_.run(); }};

    // Before the thread is joined.
    struct end_of_work {
        asio::io_context& io;
        ~end_of_work() { io.stop(); }
    } end_{io_};
};

} // namespace

TEST_CASE("so many are inside at once, the others wait, and who is one too many is sent away")
{
    visitors all({.at_once = 2, .waiting_max = 3, .wait_max = 1min});
    all.come(6);
    CHECK(all.comes_to(2, 1));
    all.open();
    CHECK(all.outcomes() == 5);
    CHECK(all.most_at_once() == 2);
    all.come(1);
    CHECK(all.outcomes() == 1);
}

TEST_CASE("who has waited too long is sent away instead of being let in")
{
    visitors all({.at_once = 1, .waiting_max = 3, .wait_max = 0ms});
    all.come(3);
    CHECK(all.comes_to(1, 0));
    all.open();
    CHECK(all.outcomes() == 1);
    CHECK(all.sent_away() == 2);
    all.come(1);
    CHECK(all.outcomes() == 1);
}

TEST_CASE("a turnstile that is stopped sends away who waits and who comes, not who is inside")
{
    visitors all({.at_once = 1, .waiting_max = 3, .wait_max = 1min});
    all.come(3);
    all.stile().stop();
    all.come(1);
    CHECK(all.comes_to(1, 3));
    all.open();
    CHECK(all.outcomes() == 1);
}
