// SPDX-License-Identifier: Apache-2.0
// Appends every event to a stream of Redis, in the order of the feed. How far it has come is kept
// beside the stream and moved by the same script, so an event is there once however many processes
// write; after Redis has lost its memory it is filled again from the oldest event that is kept.
#pragma once

#include "redis/client.hpp"
#include "service/event_bell.hpp"
#include "service/event_feed.hpp"
#include "service/workers/periodic.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::workers {

struct stream_options {
    std::string name = "holdfast:events";
    std::int64_t length_max = 1'000'000; // about; 0 = any
};

class stream_writer {
public:
    // The feed and the bell must outlive this.
    stream_writer(redis::target, stream_options, event_feed const&, event_bell const&, metrics&);

    // Appends one page of what is new. Throws redis::error.
    progress step(db::link&);

private:
    using clock = std::chrono::steady_clock;

    [[nodiscard]] std::string read_place();
    bool go_to(std::string place);
    [[nodiscard]] bool is_someone_else_at_it();
    [[nodiscard]] bool append(event_page const&);

    redis::client redis_;
    stream_options options_;
    event_feed const& feed_;
    event_bell const& bell_;
    metrics& metrics_;
    std::string place_key_;
    std::optional<std::string> place_;          // as last known; nothing: has to be read
    event_place next_;                          // where to read on, perhaps behind the place
    std::optional<event_place> read_up_to_;     // the feed held nothing behind it
    std::optional<clock::time_point> stand_by_; // somebody else writes: look again then
    clock::time_point look_again_{};            // at a stream that has been told everything
};

} // namespace holdfast::workers
