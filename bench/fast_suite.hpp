// SPDX-License-Identifier: Apache-2.0
// What Redis before an item gives and costs: the loads that are played with it, beside those of the
// same run that are played without.
#pragma once

#include "bench/plan.hpp"
#include "bench/recorder.hpp"
#include "bench/redis_front.hpp"
#include "bench/results.hpp"
#include "tests/support/redis_server.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::bench {

class fast_suite {
public:
    // Starts a Redis of its own, which keeps nothing on disk and ends with this. Throws
    // std::runtime_error when there is none on this machine.
    fast_suite(recorder& by, plan const& what, results& into);

    // A SKU that is sold out: PostgreSQL should have nothing to do with it.
    void refuse();

    // A SKU that everybody wants and that has enough for all.
    void sell(fast_mode);

    // The same in durable mode, by connections to Redis. Nothing when the plan has none.
    void try_pool_sizes();

    void add_ratios();

private:
    void sell_to(std::size_t clients, fast_mode, std::string const& suffix);
    void try_pool(int connections, std::size_t clients);
    void add_ratios_of(std::string const& suffix, std::size_t clients);

    // Besides the usual number, those that a rush without Redis was measured with.
    [[nodiscard]] std::vector<std::size_t> more_connections() const;

    recorder& recorder_;
    plan const& plan_;
    results& results_;
    test::redis_server redis_;
};

} // namespace holdfast::bench
