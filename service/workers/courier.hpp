// SPDX-License-Identifier: Apache-2.0
// Delivers events to webhooks. Each webhook is served by one process at a time, the one whose
// session has its lock; when that process ends, however, another takes it over. Events of one SKU
// go one after the other, those of different SKUs beside each other, and no webhook waits for
// another one.
//
// Of a SKU of which many deliveries wait, no more are written down; where its events go on is
// remembered instead, so that a SKU whose deliveries fail or are slow fills no room of the others.
//
// What is to be delivered is written down before the first attempt, and what came of an attempt
// after it: a crash in between repeats a delivery, and loses none.
#pragma once

#include "service/event_bell.hpp"
#include "service/event_feed.hpp"
#include "service/workers/periodic.hpp"
#include "service/workers/poster.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

namespace holdfast::workers {

struct courier_options {
    std::vector<std::chrono::seconds> schedule{std::chrono::seconds(0)}; // pause before each try
    std::size_t waiting_max = 2000;       // deliveries of a webhook written down and not done
    std::size_t waiting_of_sku_max = 100; // of these, of one SKU
    std::size_t under_way_max = 16;       // calls to one webhook at once
    poster_options calls = {};
};

class courier {
public:
    // What is given here must outlive the courier.
    courier(courier_options, event_feed const&, event_bell const&, address_guard const&, metrics&);
    ~courier();
    courier(courier const&) = delete;
    courier& operator=(courier const&) = delete;

    // One round: takes webhooks over, writes down what is new for them, makes calls that are due,
    // and notes what came of others.
    progress step(db::link&);

    // Lets calls under way end, for a moment, and notes what came of them.
    void finish(db::link&);

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace holdfast::workers
