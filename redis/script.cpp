// SPDX-License-Identifier: Apache-2.0
#include "redis/script.hpp"

#include "assets.hpp"
#include "redis/error.hpp"

#include <boost/uuid/detail/sha1.hpp>

#include <cstddef>
#include <map>

namespace holdfast::redis {

namespace {

// In lower-case hexadecimal digits.
std::string sha1(std::string_view text)
{
    boost::uuids::detail::sha1 digesting;
    digesting.process_bytes(text.data(), text.size());
    boost::uuids::detail::sha1::digest_type words;
    digesting.get_digest(words);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string digest;
    for (auto const word : words)
        for (int shift = 28; shift >= 0; shift -= 4)
            digest += digits[word >> shift & 0xFU];
    return digest;
}

struct script {
    std::string digest;
    std::string_view text;
};

std::map<std::string_view, script> read_scripts()
{
    std::map<std::string_view, script> scripts;
    for (auto const& [file, text] : assets::redis_scripts)
        scripts.emplace(file.substr(0, file.find('.')), script{sha1(text), text});
    return scripts;
}

std::map<std::string_view, script> const& scripts()
{
    static auto const all = read_scripts();
    return all;
}

} // namespace

command call(std::string_view name, std::span<std::string const> keys,
             std::span<std::string const> arguments)
{
    command made{"EVALSHA", scripts().at(name).digest, std::to_string(keys.size())};
    made.insert(made.end(), keys.begin(), keys.end());
    made.insert(made.end(), arguments.begin(), arguments.end());
    return made;
}

command with_text(command const& call)
{
    for (auto const& [name, script] : scripts())
        if (script.digest == call[1]) {
            auto made = call;
            made[0] = "EVAL";
            made[1] = script.text;
            return made;
        }
    throw error("there is no script " + call[1]);
}

} // namespace holdfast::redis
