// SPDX-License-Identifier: Apache-2.0
#include "db/transact.hpp"

#include <algorithm>
#include <random>
#include <thread>

namespace holdfast::db {

namespace {

// Enough for any number of deadlocks in a row that jitter cannot part; more would hide a real
// fault.
constexpr int attempts_max = 8;

// No longer than a client's patience: it may retry itself with the same key.
constexpr auto patience = std::chrono::seconds(4);

std::function<void(std::string_view)> listener = [](std::string_view) {};

std::string_view reason_of(fault kind)
{
    switch (kind) {
    case fault::unavailable: return "unavailable";
    case fault::connection_lost: return "connection_lost";
    case fault::conflict: return "conflict";
    case fault::lock_timeout: return "lock_timeout";
    case fault::statement_timeout: return "statement_timeout";
    case fault::constraint: return "constraint";
    case fault::other: return "other";
    }
    return "other";
}

bool is_worth_retrying(fault kind)
{
    return kind == fault::conflict || kind == fault::connection_lost || kind == fault::unavailable;
}

// Doubles from 2 ms up to 250 ms, half of it random, so that two who collided do not meet again.
void pause_before(int attempt)
{
    thread_local std::minstd_rand random(std::random_device{}());
    auto const longest = std::min(250, 2 << std::min(attempt, 7));
    std::uniform_int_distribution<int> jitter(longest / 2, longest);
    std::this_thread::sleep_for(std::chrono::milliseconds(jitter(random)));
}

} // namespace

void on_retry(std::function<void(std::string_view)> l)
{
    listener = std::move(l);
}

void retries::after(error const& fault)
{
    if (fault.kind() == db::fault::connection_lost || fault.kind() == db::fault::unavailable)
        link_.drop();
    if (is_committing_ && fault.kind() == db::fault::connection_lost) {
        is_in_doubt_ = true;
        listener("in_doubt");
    }
    is_committing_ = false;

    // Without a commit in doubt a client learns at once that there is no database; with one, we go
    // on looking for the answer as long as the client may wait.
    bool const gives_up =
        ++attempts_ >= attempts_max || std::chrono::steady_clock::now() - began_ > patience ||
        (fault.kind() == db::fault::unavailable && !is_in_doubt_ && attempts_ >= 2);
    if (!is_worth_retrying(fault.kind()) || gives_up) {
        if (is_in_doubt_)
            throw outcome_unknown();
        throw fault;
    }
    listener(reason_of(fault.kind()));
    pause_before(attempts_);
}

} // namespace holdfast::db
