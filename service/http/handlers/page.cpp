// SPDX-License-Identifier: Apache-2.0
// The back-office page, as web/ is bundled into the program. It is open to everybody: it knows
// nothing by itself, and asks the API as whoever is signed in.
#include "page.hpp"

#include "service/http/handlers.hpp"
#include "service/http/problem.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <map>
#include <string>
#include <string_view>

namespace holdfast::http {

namespace {

struct page_file {
    std::string_view content;
    std::string_view content_type;
    std::string_view caching;
    std::string tag; // as ETag has it, quotes and all
};

// Scripts and styles come from here only, and nothing may be made into a script that was a text.
constexpr std::string_view content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

std::string_view content_type_of(std::string_view name)
{
    if (name.ends_with(".html"))
        return "text/html; charset=utf-8";
    if (name.ends_with(".js"))
        return "text/javascript; charset=utf-8";
    if (name.ends_with(".css"))
        return "text/css; charset=utf-8";
    return "image/svg+xml";
}

// The bundler puts a hash of the content into the names it makes up: page-L62BB6GF.js. Under such a
// name there is never anything else.
std::string_view caching_of(std::string_view name)
{
    if (name.find('-') != std::string_view::npos)
        return "public, max-age=31536000, immutable";
    return "no-cache";
}

std::string tag_of(std::string_view content)
{
    std::array<unsigned char, crypto_generichash_BYTES_MIN> digest{};
    crypto_generichash(digest.data(), digest.size(),
                       reinterpret_cast<unsigned char const*>(content.data()), content.size(),
                       nullptr, 0);
    std::string tag = "\"";
    for (auto const byte : digest)
        tag += fmt::format("{:02x}", byte);
    return tag + '"';
}

std::map<std::string_view, page_file> const& page_files()
{
    static auto const files = [] {
        std::map<std::string_view, page_file> all;
        for (auto const& [name, content] : assets::page)
            all.emplace(name, page_file{.content = content,
                                        .content_type = content_type_of(name),
                                        .caching = caching_of(name),
                                        .tag = tag_of(content)});
        return all;
    }();
    return files;
}

reply file_reply(std::string_view name, request const& req)
{
    auto const found = page_files().find(name);
    if (found == page_files().end())
        return problem(refusal{.code = errc::not_found}, req);

    auto const& file = found->second;
    reply r{.headers = {{"ETag", file.tag},
                        {"Cache-Control", std::string(file.caching)},
                        {"Content-Security-Policy", std::string(content_security_policy)},
                        {"Cross-Origin-Opener-Policy", "same-origin"},
                        {"Cross-Origin-Resource-Policy", "same-origin"},
                        {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
                        {"Referrer-Policy", "no-referrer"}}};
    // Browsers send back the one tag they were given; a list of several just costs the file again.
    auto known = req.header("if-none-match").value_or("");
    if (known.starts_with("W/"))
        known.remove_prefix(2);
    if (known == file.tag) {
        r.status = 304;
        return r;
    }
    r.body = file.content;
    r.content_type = file.content_type;
    return r;
}

} // namespace

// GET /admin
pending_reply lead_to_page(request const&, app&)
{
    // Relative, so that a proxy may have the service below a path of its own.
    co_return reply{.status = 308,
                    .body = "The page is at admin/.\n",
                    .content_type = "text/plain; charset=utf-8",
                    .headers = {{"Location", "admin/"}}};
}

// GET /admin/
pending_reply show_page(request const& req, app&)
{
    co_return file_reply("index.html", req);
}

// GET /admin/{file}
pending_reply show_page_file(request const& req, app&)
{
    co_return file_reply(req.captured.at(0), req);
}

} // namespace holdfast::http
