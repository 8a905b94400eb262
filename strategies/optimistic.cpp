// SPDX-License-Identifier: Apache-2.0
// Looks without a lock, writes if nobody wrote since, looks again if somebody did. Cheap while
// callers rarely meet; in a rush most of its work is thrown away, which its conflict counter shows.
#include "sql/optimistic.hpp"

#include "strategies/strategy.hpp"

#include <chrono>
#include <random>
#include <thread>

namespace holdfast {

namespace {

// After this many conflicts the row is locked for the look, so that a rush makes a caller slower
// but never turns it away: "try again" would be a false sold out.
constexpr int free_attempts_max = 6;

// Waits up to 1, 2, 4, … ms, so that those who collided do not meet again at once.
void pause_before(int attempt)
{
    thread_local std::minstd_rand random(std::random_device{}());
    std::uniform_int_distribution<int> jitter(0, 1000 << attempt);
    std::this_thread::sleep_for(std::chrono::microseconds(jitter(random)));
}

class optimistic final : public strategy {
public:
    explicit optimistic(conflict_listener listener) : listener_(std::move(listener)) {}

    std::vector<taken> take(db::transaction& tx,
                            std::span<units_wanted const> wanted) const override
    {
        std::vector<taken> answers;
        answers.reserve(wanted.size());
        for (auto const& entry : wanted)
            answers.push_back(take_one(tx, entry));
        return answers;
    }

private:
    taken take_one(db::transaction& tx, units_wanted const& entry) const
    {
        for (int attempt = 0;; ++attempt) {
            auto const& look =
                attempt < free_attempts_max ? sql::optimistic::look : sql::optimistic::look_locked;
            auto const seen = tx.maybe<stock_level>(look, entry.at.sku, entry.at.location);
            if (!seen || seen->available() < entry.quantity)
                return {};
            auto const after =
                tx.maybe<stock_level>(sql::optimistic::take, entry.at.sku, entry.at.location,
                                      entry.quantity, seen->version);
            if (after)
                return {true, *after};
            listener_("optimistic", 1);
            pause_before(attempt);
        }
    }

    conflict_listener listener_;
};

} // namespace

std::unique_ptr<strategy> make_optimistic(conflict_listener const& listener)
{
    return std::make_unique<optimistic>(listener);
}

} // namespace holdfast
