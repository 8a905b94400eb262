// SPDX-License-Identifier: Apache-2.0
// How those who wait for events learn that there are new ones.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast {

// The last position of the feed that this process knows of. Only grows.
class event_bell {
public:
    [[nodiscard]] std::int64_t last_position() const noexcept { return last_position_.load(); }
    void ring(std::int64_t position) noexcept { last_position_.store(position); }

private:
    std::atomic<std::int64_t> last_position_{0};
};

} // namespace holdfast
