// SPDX-License-Identifier: Apache-2.0
#include "service/workers/stream_writer.hpp"

#include "redis/error.hpp"
#include "redis/script.hpp"
#include "service/event_json.hpp"
#include "service/log.hpp"

#include <array>
#include <utility>
#include <vector>

namespace holdfast::workers {

namespace {

constexpr std::size_t page_max = 500;

// A writer whose place does not move for so long is gone.
constexpr auto patience = std::chrono::seconds(1);

// A key in the slot of another one.
std::string key_beside(std::string const& key, std::string_view what)
{
    auto const open = key.find('{');
    bool const has_tag = open != std::string::npos && key.find('}', open) > open + 1;
    return (has_tag ? key : "{" + key + "}") + ":" + std::string(what);
}

std::string json_of(event const& what)
{
    json_writer out;
    write(out, what);
    return out.take();
}

} // namespace

stream_writer::stream_writer(redis::target where, stream_options options, event_feed const& feed,
                             event_bell const& bell, metrics& m)
    : redis_(std::move(where)), options_(std::move(options)), feed_(feed), bell_(bell), metrics_(m),
      place_key_(key_beside(options_.name, "place"))
{}

progress stream_writer::step(db::link& link)
{
    if (is_someone_else_at_it())
        return progress::done_for_now;
    if (!place_)
        place_ = read_place();
    else if (read_up_to_ && bell_.last_position() < read_up_to_->position)
        return progress::done_for_now;
    auto const after = parse_event_place(*place_).value_or(event_place{});
    auto page = feed_.page(link, after, {}, page_max);
    if (!page) { // what stood there is forgotten
        log::warning("stream.events_forgotten", {{"stream", options_.name}, {"place", *place_}});
        page = feed_.page(link, {}, {}, page_max);
    }
    if (page->next != after && !append(*page)) {
        place_.reset();
        stand_by_ = clock::now() + patience;
        return progress::done_for_now;
    }
    read_up_to_ = page->is_at_end ? std::optional(page->next) : std::nullopt;
    return page->is_at_end ? progress::done_for_now : progress::more_to_do;
}

// After somebody else has moved the place, until it stands still.
bool stream_writer::is_someone_else_at_it()
{
    if (!stand_by_)
        return false;
    if (clock::now() < *stand_by_)
        return true;
    auto const now_at = read_place();
    auto const was_at = std::exchange(place_, now_at);
    if (was_at == now_at) {
        stand_by_.reset();
        return false;
    }
    stand_by_ = clock::now() + patience;
    return true;
}

std::string stream_writer::read_place()
{
    auto const got = redis_.run({place_key_, {"GET", place_key_}});
    return got.is_nil() ? std::string() : got.text();
}

// False when the stream is not where we thought it is.
bool stream_writer::append(event_page const& page)
{
    auto const behind = to_string(page.next);
    std::vector<std::string> arguments{*place_, behind, std::to_string(options_.length_max)};
    for (auto const& each : page.events)
        arguments.insert(arguments.end(), {each.id, std::string(to_string(each.type)),
                                           each.at.sku.str(), json_of(each)});
    std::array<std::string, 2> const keys{options_.name, place_key_};
    try {
        if (redis_.run({options_.name, redis::call("publish", keys, arguments)}).number() == 0)
            return false;
    } catch (redis::error const&) {
        place_.reset(); // it may have been carried out
        throw;
    }
    place_ = behind;
    metrics_.events_streamed(page.events.size());
    return true;
}

} // namespace holdfast::workers
