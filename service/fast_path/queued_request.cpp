// SPDX-License-Identifier: Apache-2.0
#include "service/fast_path/queued_request.hpp"

#include "service/json_writer.hpp"
#include "service/secrets.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace holdfast::fast_path {

namespace {

using nlohmann::json;

request_fingerprint read_fingerprint(std::string const& text)
{
    request_fingerprint bytes{};
    if (!parse_base64url(text, bytes))
        throw std::invalid_argument("fingerprint");
    return bytes;
}

std::optional<std::string> text_or_null(json const& value)
{
    return value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
}

// Who can write into Redis can make requests, but none beyond the bounds of those of the API.
void check(reserve_command const& cmd)
{
    constexpr std::size_t key_length_max = 255;
    constexpr std::size_t bytes_of_a_character_max = 4;
    auto const is_short = [](std::optional<std::string> const& text) {
        return !text || text->size() <= name_length_max * bytes_of_a_character_max;
    };
    auto const is_sound = [](line_request const& line) {
        return !sku::fault_of(line.at.sku.str()) && !location::fault_of(line.at.location.str()) &&
               line.quantity >= 1 && line.quantity <= quantity_max;
    };
    bool const is_request = !cmd.lines.empty() && cmd.lines.size() <= lines_max &&
                            std::ranges::all_of(cmd.lines, is_sound) && cmd.ttl.count() >= 1 &&
                            cmd.ttl.count() <= ttl_seconds_max &&
                            cmd.key.key.size() <= key_length_max && is_short(cmd.customer) &&
                            is_short(cmd.reference) && cmd.metadata.size() <= metadata_bytes_max &&
                            json::parse(cmd.metadata).is_object();
    if (!is_request)
        throw std::invalid_argument("a queued request");
}

queued_request read(json const& from)
{
    reserve_command command{.key = {.api_key_id = from.at("api_key").get<std::int64_t>(),
                                    .key = from.at("key").get<std::string>(),
                                    .fingerprint = read_fingerprint(from.at("fingerprint"))},
                            .actor = from.at("actor").get<std::string>(),
                            .lines = {},
                            .customer = text_or_null(from.at("customer")),
                            .reference = text_or_null(from.at("reference")),
                            .ttl = std::chrono::seconds(from.at("ttl").get<std::int64_t>()),
                            .metadata = from.at("metadata").get<std::string>(),
                            .id = uuid::parse(from.at("id").get<std::string>()).value(),
                            .is_accepted = true};
    sku const item(from.at("sku").get<std::string>());
    for (auto const& line : from.at("lines"))
        command.lines.push_back(
            {{item, location(line.at(0).get<std::string>())}, line.at(1).get<units>()});
    command.lines = merged(std::move(command.lines));
    check(command);
    command.notes.push_back({item, from.at("epoch").get<std::int64_t>()});
    auto const accepted_at = parse_rfc3339(from.at("accepted_at").get<std::string>());
    return {command.id.value(), accepted_at.value(), std::move(command)};
}

} // namespace

std::string to_text(queued_request const& r)
{
    auto const& cmd = r.command;
    json_writer out;
    out.begin_object();
    out.member("id", r.id);
    out.member("accepted_at", r.accepted_at);
    out.member("api_key", cmd.key.api_key_id);
    out.member("key", std::string_view(cmd.key.key));
    out.member("fingerprint", std::string_view(to_base64url(cmd.key.fingerprint)));
    out.member("actor", std::string_view(cmd.actor));
    out.member("sku", cmd.lines.front().at.sku);
    out.member("epoch", cmd.notes.front().epoch);
    out.key("lines");
    out.begin_array();
    for (auto const& line : cmd.lines) {
        out.begin_array();
        out.value(line.at.location);
        out.value(line.quantity);
        out.end_array();
    }
    out.end_array();
    out.member("customer", cmd.customer);
    out.member("reference", cmd.reference);
    out.member("ttl", cmd.ttl.count());
    out.member("metadata", std::string_view(cmd.metadata));
    out.end_object();
    return out.take();
}

std::optional<queued_request> parse_queued(std::string_view text)
{
    try {
        return read(json::parse(text));
    } catch (std::exception const&) {
        return std::nullopt; // whatever it is, nobody queued it through us
    }
}

} // namespace holdfast::fast_path
