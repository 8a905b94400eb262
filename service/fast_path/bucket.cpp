// SPDX-License-Identifier: Apache-2.0
#include "service/fast_path/bucket.hpp"

#include "service/secrets.hpp"

#include <fmt/format.h>

namespace holdfast::fast_path {

namespace {

// Grows when what stands in the keys changes, so that two releases can run side by side.
constexpr int layout = 1;

std::string digest_of(std::string_view text)
{
    auto const digest = fingerprint(text);
    return {reinterpret_cast<char const*>(digest.data()), digest.size()};
}

} // namespace

bucket bucket_of(std::string_view prefix, std::string_view sku, int number)
{
    auto const place =
        fmt::format("{}:{}:{{{}.{}}}:", prefix, layout, to_hex(fingerprint(sku)), number);
    return {place + "state",     place + "pending", place + "noted",
            place + "customers", place + "queue",   place + "queued"};
}

std::string note_of(std::int64_t api_key_id, std::string_view key)
{
    return digest_of(fmt::format("{}:{}", api_key_id, key));
}

int home_of(std::optional<std::string> const& customer, std::string_view note, int buckets)
{
    if (buckets == 1)
        return 0;
    auto const digest = customer ? digest_of(*customer) : std::string(note);
    auto const number =
        static_cast<unsigned char>(digest[0]) * 256U + static_cast<unsigned char>(digest[1]);
    return static_cast<int>(number % static_cast<unsigned>(buckets));
}

} // namespace holdfast::fast_path
