// SPDX-License-Identifier: Apache-2.0
#include "service/fast_path/gate.hpp"

#include "redis/error.hpp"
#include "service/overload.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

namespace holdfast::fast_path {

namespace {

using clock = std::chrono::steady_clock;

// What became of requests waits so long at most for somebody who asks, to go along with him. A call
// of a script costs as much as three of the requests in it.
constexpr std::chrono::milliseconds told_within{5};
constexpr std::size_t tellings_max = 16'384;

// Requests, or tellings, that go out together at most, unless one caller alone has more.
constexpr std::size_t together_max = 512;

// What an admission came to, in the words of the metrics.
std::string_view word_of(admission const& of)
{
    auto const any = [&of](auto const& is) {
        return std::ranges::any_of(of.parts(), [&is](auto const& p) { return is(*p); });
    };
    if (any([](part const& p) { return p.is_lost; }))
        return "lost";
    if (any([](part const& p) { return p.may_only_replay; }))
        return "asked";
    if (any([](part const& p) {
            return p.verdict == verdict::short_of_units || p.verdict == verdict::customer_limit ||
                   p.verdict == verdict::closed;
        }))
        return "refused";
    if (any([](part const& p) {
            return p.verdict == verdict::queued || p.verdict == verdict::repeated;
        }))
        return "queued";
    return any([](part const& p) { return p.verdict != verdict::taken; }) ? "asked" : "taken";
}

} // namespace

gate::gate(gate_options options, metrics& m) : options_(std::move(options)), metrics_(m)
{
    for (std::size_t i = 0; i < options_.connections; ++i)
        threads_.emplace_back([this] { work_through(); });
}

gate::~gate()
{
    stop();
}

void gate::stop()
{
    {
        std::scoped_lock const lock(mutex_);
        is_stopping_ = true;
    }
    wake_.notify_all();
    threads_.clear();
}

boost::asio::awaitable<void> gate::ask(admission& of)
{
    waiting w{.what = &of};
    co_await wait(w);
}

boost::asio::awaitable<std::vector<redis::reply>>
gate::run(std::vector<redis::request> const& requests)
{
    waiting w{.what = &requests};
    co_await wait(w);
    co_return std::move(w.replies);
}

boost::asio::awaitable<void> gate::tell_now(std::vector<telling> const& told)
{
    waiting w{.what = told};
    try {
        co_await wait(w);
    } catch (overloaded const&) {
        metrics_.fast_path_answered("untold", told.size()); // the reconciler will find it
    } catch (redis::error const&) {
        // Counted already, and nothing that the caller has done is undone by it.
    }
}

void gate::tell(std::vector<telling> told)
{
    if (told.empty())
        return;
    bool is_first = false;
    {
        std::scoped_lock const lock(mutex_);
        if (is_stopping_ || told_.size() >= tellings_max) {
            metrics_.fast_path_answered("untold", told.size());
            return;
        }
        is_first = told_.empty();
        if (is_first)
            told_by_ = clock::now() + told_within;
        std::ranges::move(told, std::back_inserter(told_));
    }
    if (is_first) // somebody has to look at the clock
        wake_.notify_one();
}

void gate::send(std::vector<redis::request> requests)
{
    auto const w = std::make_shared<waiting>();
    w->what = std::move(requests);
    w->queued_at = clock::now();
    w->kept = w; // until it is done
    if (!push(w.get()))
        w->kept.reset();
}

boost::asio::awaitable<void> gate::wait(waiting& w)
{
    w.queued_at = clock::now();
    auto const push_it = [this, &w] { return push(&w); };
    bool const is_queued = co_await wait_in_queue(w.who, push_it);
    if (!is_queued)
        throw overloaded();
    if (w.fault)
        std::rethrow_exception(w.fault);
}

bool gate::push(waiting* w)
{
    {
        std::scoped_lock const lock(mutex_);
        if (is_stopping_ || queue_.size() >= options_.queue_length_max)
            return false;
        queue_.push_back(w);
    }
    wake_.notify_one();
    return true;
}

// Waits for what is to be done next. Nothing when that is over.
gate::work gate::take()
{
    std::unique_lock lock(mutex_);
    auto const is_due = [this] { return !told_.empty() && clock::now() >= told_by_; };
    while (!is_stopping_ && queue_.empty() && !is_due()) {
        if (told_.empty())
            wake_.wait(lock);
        else
            wake_.wait_until(lock, told_by_);
    }
    auto const count = std::min(options_.batch_max, queue_.size());
    auto const end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
    auto const told_end =
        told_.begin() + static_cast<std::ptrdiff_t>(std::min(together_max, told_.size()));
    work next{{queue_.begin(), end},
              {std::make_move_iterator(told_.begin()), std::make_move_iterator(told_end)}};
    queue_.erase(queue_.begin(), end);
    told_.erase(told_.begin(), told_end);
    return next;
}

void gate::work_through()
{
    redis::client client(options_.where, options_.limits);
    for (;;) {
        auto next = take();
        auto const count = next.asked.size() + next.told.size();
        if (count == 0)
            return;
        metrics_.redis_in_flight(static_cast<std::ptrdiff_t>(count));
        metrics_.redis_batch(count);
        do_batch(client, next);
        metrics_.redis_in_flight(-static_cast<std::ptrdiff_t>(count));
        answer(next.asked);
    }
}

void gate::do_batch(redis::client& client, work& next)
{
    std::vector<admission*> asked;
    auto& told = next.told;
    std::vector<waiting*> raw;
    auto const now = clock::now();
    for (auto* w : next.asked) {
        metrics_.redis_waited(now - w->queued_at);
        if (now - w->queued_at > options_.queue_wait_max && !w->kept)
            w->fault = std::make_exception_ptr(overloaded());
        else if (auto* const* one = std::get_if<admission*>(&w->what))
            asked.push_back(*one);
        else if (auto* some = std::get_if<std::vector<telling>>(&w->what))
            told.insert(told.end(), some->begin(), some->end());
        else
            raw.push_back(w);
    }
    try {
        if (!asked.empty() || !told.empty())
            admit(client, options_.prefix, asked, told);
        count(asked);
        run_raw(client, raw);
    } catch (std::exception const&) {
        if (!told.empty())
            metrics_.fast_path_answered("untold", told.size()); // as far as we know
        auto const fault = std::current_exception(); // thrown again where the callers wait
        for (auto* w : next.asked)
            w->fault = w->fault ? w->fault : fault;
    }
}

std::vector<redis::request> const& gate::requests_of(waiting const& w)
{
    if (auto const* const* borrowed = std::get_if<std::vector<redis::request> const*>(&w.what))
        return **borrowed;
    return std::get<std::vector<redis::request>>(w.what);
}

// Callers travel together until there are enough requests for one go.
void gate::run_raw(redis::client& client, std::span<waiting* const> raw)
{
    while (!raw.empty()) {
        std::size_t callers = 0;
        for (std::size_t count = 0; callers < raw.size() && count < together_max; ++callers)
            count += requests_of(*raw[callers]).size();
        run_together(client, raw.first(callers));
        raw = raw.subspan(callers);
    }
}

// A fault is that of all who travelled together, and of nobody else.
void gate::run_together(redis::client& client, std::span<waiting* const> raw)
{
    std::vector<redis::request> requests;
    for (auto const* w : raw)
        requests.insert(requests.end(), requests_of(*w).begin(), requests_of(*w).end());
    try {
        auto replies = client.run(requests);
        auto next = std::make_move_iterator(replies.begin());
        for (auto* w : raw) {
            auto const end = next + static_cast<std::ptrdiff_t>(requests_of(*w).size());
            w->replies.assign(next, end);
            next = end;
        }
    } catch (std::exception const&) {
        for (auto* w : raw)
            w->fault = std::current_exception(); // thrown again where the callers wait
    }
}

void gate::count(std::vector<admission*> const& asked)
{
    static constexpr std::array<std::string_view, 5> words{"taken", "asked", "refused", "lost",
                                                           "queued"};
    std::array<std::size_t, words.size()> counts{};
    for (auto const* each : asked)
        ++counts.at(
            static_cast<std::size_t>(std::ranges::find(words, word_of(*each)) - words.begin()));
    for (std::size_t i = 0; i < words.size(); ++i)
        if (counts[i] > 0)
            metrics_.fast_path_answered(words[i], counts[i]);
}

// A request is gone once its caller runs.
void gate::answer(std::vector<waiting*> const& done)
{
    std::vector<waiter*> callers;
    for (auto* w : done) {
        if (auto const gone = std::move(w->kept))
            continue;
        callers.push_back(&w->who);
    }
    resume_all(std::move(callers));
}

} // namespace holdfast::fast_path
