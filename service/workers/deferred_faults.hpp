// SPDX-License-Identifier: Apache-2.0
// Faults of several pieces of work none of which may keep the others from their turn.
#pragma once

#include <exception>
#include <utility>

namespace holdfast::workers {

class deferred_faults {
public:
    // Returns whether it was done without one.
    template <class Work>
    bool run(Work const& work)
    {
        try {
            work();
            return true;
        } catch (std::exception const&) {
            keep(std::current_exception());
            return false;
        }
    }

    // The first is kept: the others mostly have the same cause.
    void keep(std::exception_ptr fault)
    {
        if (!first_)
            first_ = std::move(fault);
    }

    // Once all have had their turn.
    void throw_if_any() const
    {
        if (first_)
            std::rethrow_exception(first_);
    }

private:
    std::exception_ptr first_;
};

} // namespace holdfast::workers
