// SPDX-License-Identifier: Apache-2.0
// Runs work in a transaction and runs it again when the database asks for that. The only place that
// retries. A commit whose answer was lost is settled by running the work again: it must find what
// it did, by its key, by the state it left, or by what the call remembers of its own last attempt.
#pragma once

#include "db/link.hpp"
#include "db/transaction.hpp"

#include <chrono>
#include <functional>
#include <string_view>
#include <type_traits>

namespace holdfast::db {

// Called for each retry with its reason ("conflict", "connection_lost", …) and for each commit in
// doubt with "in_doubt". Set once at start.
void on_retry(std::function<void(std::string_view reason)>);

// Decides after a fault whether the work runs again, and waits a little with jitter before it does.
class retries {
public:
    explicit retries(link& l) : link_(l) {}

    void commit_begins() noexcept { is_committing_ = true; }

    // Returns to run again. Throws the fault when that makes no sense or was tried often enough,
    // and outcome_unknown instead when a commit is still in doubt.
    void after(error const&);

private:
    link& link_;
    int attempts_ = 0;
    bool is_committing_ = false;
    bool is_in_doubt_ = false;
    std::chrono::steady_clock::time_point const began_ = std::chrono::steady_clock::now();
};

// Commits when `work(transaction&)` returns a result with a value (or anything that is no result),
// rolls back when it returns a refusal or throws.
template <class Work>
auto transact(link& l, Work&& work) -> std::invoke_result_t<Work&, transaction&>
{
    retries again(l);
    for (;;) {
        try {
            transaction tx(l.session());
            auto answer = work(tx);
            if constexpr (requires { answer.has_error(); }) {
                if (answer.has_error()) {
                    tx.rollback();
                    return answer;
                }
            }
            again.commit_begins();
            tx.commit();
            return answer;
        } catch (error const& fault) {
            again.after(fault);
        }
    }
}

// Runs reads that change nothing: one statement without BEGIN, or several in one snapshot.
template <class Work>
auto read(link& l, scope how, Work&& work) -> std::invoke_result_t<Work&, transaction&>
{
    retries again(l);
    for (;;) {
        try {
            transaction tx(l.session(), how);
            return work(tx);
        } catch (error const& fault) {
            again.after(fault);
        }
    }
}

} // namespace holdfast::db
