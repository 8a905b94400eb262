// SPDX-License-Identifier: Apache-2.0
#include "service/lanes.hpp"

#include <algorithm>
#include <array>

namespace holdfast {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t worth_a_flush = 32; // a batch of fewer is not made smaller

// Whether a fault of a batch may be the doing of one command in it, so that the others would
// succeed without it.
bool may_have_culprit(std::exception_ptr const& fault)
{
    try {
        std::rethrow_exception(fault);
    } catch (db::error const& e) {
        return e.kind() != db::fault::unavailable && e.kind() != db::fault::connection_lost;
    } catch (db::outcome_unknown const&) {
        return false;
    } catch (std::exception const&) {
        return true;
    }
}

// Runs the batch; when it fails, halves it until the culprit stands alone. Without a culprit, or
// once `deadline` has passed, all of them have the fault.
template <class Waiting, class Run>
void run_or_split(std::span<Waiting*> batch, clock::time_point deadline, Run const& run)
{
    if (batch.empty())
        return;
    std::exception_ptr fault;
    try {
        run(batch);
        return;
    } catch (std::exception const&) {
        fault = std::current_exception(); // thrown again where the callers wait
    }
    if (batch.size() > 1 && may_have_culprit(fault) && clock::now() < deadline) {
        auto const half = batch.size() / 2;
        run_or_split(batch.first(half), deadline, run);
        run_or_split(batch.subspan(half), deadline, run);
        return;
    }
    for (auto* each : batch)
        each->fault = fault;
}

} // namespace

lanes::lanes(lane_options options, reservations const& r, worker_pool& aside, metrics& m)
    : options_(std::move(options)), reservations_(r), aside_(aside), metrics_(m)
{
    for (std::size_t i = 0; i < options_.lanes; ++i)
        lanes_.push_back(std::make_unique<lane>());
    for (auto const& each : lanes_)
        threads_.emplace_back([this, &lane = *each] { work_through(lane); });
}

lanes::~lanes()
{
    stop();
}

void lanes::stop()
{
    for (auto const& each : lanes_) {
        std::scoped_lock const lock(each->mutex);
        each->is_stopping = true;
        each->wake.notify_all();
    }
    threads_.clear();
}

boost::asio::awaitable<result<outcome<reservation>>> lanes::run(reserve_command const& cmd)
{
    waiting w{.command = &cmd};
    co_await wait(w, hint_of(cmd.lines.front().at.sku));
    co_return *std::move(w.reserved);
}

boost::asio::awaitable<result<reservation>> lanes::run(settle_command const& cmd)
{
    waiting w{.command = &cmd};
    co_await wait(w, std::visit([](auto const& c) { return c.id.hint(); }, cmd));
    co_return *std::move(w.settled);
}

boost::asio::awaitable<void> lanes::wait(waiting& w, std::uint16_t hint)
{
    w.queued_at = clock::now();
    auto& to = *lanes_[hint % lanes_.size()];
    auto const push_it = [this, &to, &w] { return push(to, w); };
    bool const is_queued = co_await wait_in_queue(w.who, push_it);
    if (!is_queued)
        throw overloaded();
    if (w.fault)
        std::rethrow_exception(w.fault);
}

bool lanes::push(lane& to, waiting& w)
{
    {
        std::scoped_lock const lock(to.mutex);
        if (to.is_stopping || to.queue.size() >= options_.queue_length_max) {
            metrics_.queue_rejected();
            return false;
        }
        to.queue.push_back(&w);
    }
    metrics_.queued(1);
    to.wake.notify_one();
    return true;
}

// How many go into the next batch. The callers answered last will soon be back: half of them all,
// so that some are read and answered while others are done, instead of lane and callers taking
// turns.
std::size_t lanes::share_of(std::size_t queued, std::size_t answered) const noexcept
{
    auto const half = (queued + answered + 1) / 2;
    return std::min({options_.batch_max, queued, std::max(half, worth_a_flush)});
}

void lanes::work_through(lane& from)
{
    session_gauge link(options_.session, metrics_);
    std::vector<waiting*> batch;
    for (;;) {
        {
            std::unique_lock lock(from.mutex);
            from.wake.wait(lock, [&] { return from.is_stopping || !from.queue.empty(); });
            if (from.queue.empty())
                return;
            auto const count = share_of(from.queue.size(), batch.size());
            auto const end = from.queue.begin() + static_cast<std::ptrdiff_t>(count);
            batch.assign(from.queue.begin(), end);
            from.queue.erase(from.queue.begin(), end);
        }
        metrics_.queued(-static_cast<std::ptrdiff_t>(batch.size()));
        link.use([&](db::link& session) { do_batch(session, batch); });
    }
}

void lanes::do_batch(db::link& link, std::span<waiting*> batch)
{
    auto const now = clock::now();
    std::vector<waiting*> late, settling, reserving;
    for (auto* w : batch) {
        metrics_.queue_waited(now - w->queued_at);
        if (now - w->queued_at > options_.queue_wait_max)
            late.push_back(w);
        else if (std::holds_alternative<settle_command const*>(w->command))
            settling.push_back(w);
        else
            reserving.push_back(w);
    }
    for (auto* w : late) {
        metrics_.queue_rejected();
        w->fault = std::make_exception_ptr(overloaded());
    }
    answer(late);
    if (late.size() < batch.size())
        metrics_.lane_batch(batch.size() - late.size());
    auto const deadline = now + options_.queue_wait_max;
    // Units that come back first may be taken by those who want some.
    run_or_split<waiting>(settling, deadline, [&](auto each) { settle(link, each); });
    finish(settling);
    run_or_split<waiting>(reserving, deadline, [&](auto each) { reserve(link, each); });
    finish(reserving);
}

void lanes::settle(db::link& link, std::span<waiting*> batch)
{
    std::vector<settle_command const*> commands;
    for (auto const* w : batch)
        commands.push_back(std::get<settle_command const*>(w->command));
    auto answers = reservations_.settle(link, commands);
    for (std::size_t i = 0; i < batch.size(); ++i)
        batch[i]->settled = std::move(answers[i]);
}

void lanes::reserve(db::link& link, std::span<waiting*> batch)
{
    std::vector<reserve_command const*> commands;
    for (auto const* w : batch)
        commands.push_back(std::get<reserve_command const*>(w->command));
    auto answers = reservations_.reserve(link, commands, company::many);
    for (std::size_t i = 0; i < batch.size(); ++i)
        batch[i]->reserved = std::move(answers[i]);
}

// Answers what is done, and hands what has to be done alone to the other workers.
void lanes::finish(std::span<waiting*> batch)
{
    std::vector<waiting*> done;
    for (auto* w : batch)
        if (w->fault || w->reserved || w->settled || !set_aside(*w))
            done.push_back(w);
    answer(done);
}

bool lanes::set_aside(waiting& w)
{
    auto const do_alone = [this, &w](db::link& link) {
        try {
            if (auto const* const* cmd = std::get_if<reserve_command const*>(&w.command))
                w.reserved = reservations_.reserve(link, **cmd);
            else
                w.settled = reservations_.settle(link, *std::get<settle_command const*>(w.command));
        } catch (std::exception const&) {
            w.fault = std::current_exception(); // thrown again where the caller waits
        }
        std::array<waiting*, 1> one{&w};
        answer(one);
    };
    auto const refuse = [&w] {
        w.fault = std::make_exception_ptr(overloaded());
        std::array<waiting*, 1> one{&w};
        answer(one);
    };
    if (aside_.post(do_alone, refuse))
        return true;
    w.fault = std::make_exception_ptr(overloaded());
    return false;
}

// A command is gone once its caller runs.
void lanes::answer(std::span<waiting*> done)
{
    std::vector<waiter*> callers;
    callers.reserve(done.size());
    for (auto* w : done)
        callers.push_back(&w->who);
    resume_all(std::move(callers));
}

} // namespace holdfast
