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

// How often a stream is looked at that has been told everything.
constexpr auto idle_look = std::chrono::seconds(2);

// A key in the slot of another one, whose braces, if it has any, are a hash tag.
std::string key_beside(std::string const& key, std::string_view what)
{
    bool const has_tag = key.find('{') != std::string::npos;
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
    bool const has_news = !read_up_to_ || bell_.last_position() >= read_up_to_->position;
    if (place_ && !has_news && clock::now() < look_again_)
        return progress::done_for_now;
    if (!place_ || !has_news) {
        look_again_ = clock::now() + idle_look;
        if (!go_to(read_place()))
            return progress::done_for_now;
    }
    auto page = feed_.page(link, next_, {}, page_max);
    bool const is_forgotten = !page;
    if (is_forgotten)
        page = feed_.page(link, {}, {}, page_max);
    if (!page->events.empty() && !append(*page)) {
        place_.reset();
        stand_by_ = clock::now() + patience;
        return progress::done_for_now;
    }
    if (is_forgotten)
        log::warning("stream.events_forgotten", {{"stream", options_.name}});
    next_ = page->next;
    read_up_to_ = page->is_at_end ? std::optional(next_) : std::nullopt;
    return page->is_at_end ? progress::done_for_now : progress::more_to_do;
}

// After somebody else has moved the place, until it stands still.
bool stream_writer::is_someone_else_at_it()
{
    if (!stand_by_)
        return false;
    if (clock::now() < *stand_by_)
        return true;
    if (!go_to(read_place())) {
        stand_by_.reset();
        return false;
    }
    stand_by_ = clock::now() + patience;
    return true;
}

// Of a stream that is not there: none.
std::string stream_writer::read_place()
{
    std::array<redis::request, 2> const asked{
        redis::request{options_.name, {"EXISTS", options_.name}},
        redis::request{place_key_, {"GET", place_key_}}};
    auto const got = redis_.run(asked);
    bool const is_there = got[0].number() == 1;
    return is_there && !got[1].is_nil() ? got[1].text() : std::string();
}

// Goes on from there. False when we were there already.
bool stream_writer::go_to(std::string place)
{
    if (place_ == place)
        return false;
    next_ = parse_event_place(place).value_or(event_place());
    place_ = std::move(place);
    read_up_to_.reset();
    return true;
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
