// SPDX-License-Identifier: Apache-2.0
// The proof, the health of the service, and what it says about itself.

#include "assets.hpp"
#include "service/http/handlers.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sodium.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::http {

namespace {

using document = nlohmann::ordered_json;

// Plain enough to read in any browser, light or dark.
constexpr std::string_view page_style = R"css(
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 58rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid #8886; padding: .5rem 0 1rem; }
h1, h2, h3 { line-height: 1.2; }
code, pre { font: .9em/1.4 ui-monospace, monospace; }
pre { background: #8882; padding: .75rem; overflow-x: auto; }
table { border-collapse: collapse; }
td p { margin: 0; }
th, td { text-align: left; vertical-align: top; padding: .15rem 1rem .15rem 0; }
.method { display: inline-block; min-width: 3.5rem; }
)css";

std::string escaped(std::string_view text)
{
    std::string html;
    html.reserve(text.size());
    for (char const c : text) {
        switch (c) {
        case '&': html += "&amp;"; break;
        case '<': html += "&lt;"; break;
        case '>': html += "&gt;"; break;
        case '"': html += "&quot;"; break;
        default: html += c;
        }
    }
    return html;
}

// The little Markdown the document's descriptions use: `code`, **strong**, and empty lines.
std::string prose(std::string_view text)
{
    std::string html = "<p>";
    bool is_code = false;
    bool is_strong = false;
    while (!text.empty()) {
        auto taken = std::size_t{1};
        if (text.starts_with('`')) {
            is_code = !is_code;
            html += is_code ? "<code>" : "</code>";
        } else if (!is_code && text.starts_with("**")) {
            is_strong = !is_strong;
            html += is_strong ? "<strong>" : "</strong>";
            taken = 2;
        } else if (text.starts_with("\n\n")) {
            html += "</p>\n<p>";
            taken = 2;
        } else {
            html += escaped(text.substr(0, 1));
        }
        text.remove_prefix(taken);
    }
    return html + "</p>\n";
}

std::string text_of(document const& node, char const* name)
{
    return node.value(name, std::string());
}

// Writes the API's description for people.
class docs_page {
public:
    explicit docs_page(document const& api) : api_(api) {}

    std::string html()
    {
        auto const& about = api_.at("info");
        auto const title = escaped(text_of(about, "title") + " " + text_of(about, "version"));
        html_ =
            fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width\">\n"
                        "<title>{0} API</title>\n<style>{1}</style>\n</head>\n<body>\n"
                        "<h1>{0} API</h1>\n{2}"
                        "<p>For programs: <a href=\"/openapi.json\">openapi.json</a></p>\n",
                        title, page_style, prose(text_of(about, "description")));
        for (auto const& tag : api_.at("tags"))
            write_tag(tag);
        write_schemas();
        html_ += "</body>\n</html>\n";
        return std::move(html_);
    }

private:
    document const& resolved(document const& node) const
    {
        auto const reference = node.find("$ref");
        if (reference == node.end())
            return node;
        return api_.at(document::json_pointer(reference->get<std::string>().substr(1)));
    }

    void write_tag(document const& tag)
    {
        auto const name = text_of(tag, "name");
        html_ += fmt::format("<h2>{}</h2>\n{}", escaped(name), prose(text_of(tag, "description")));
        for (auto const& [path, item] : api_.at("paths").items())
            for (auto const& [method, operation] : item.items())
                if (method != "parameters" && operation.at("tags").at(0) == name)
                    write_operation(fmt::format("<span class=\"method\">{}</span> <code>{}</code>",
                                                upper(method), escaped(path)),
                                    item, operation);
    }

    void write_operation(std::string_view heading, document const& item, document const& operation)
    {
        html_ += fmt::format("<section id=\"{}\">\n<h3>{}</h3>\n<p><strong>{}</strong></p>\n{}",
                             escaped(text_of(operation, "operationId")), heading,
                             escaped(text_of(operation, "summary")),
                             prose(text_of(operation, "description")));
        html_ += "<table>\n";
        for (auto const* owner : {&item, &operation})
            if (auto const found = owner->find("parameters"); found != owner->end())
                for (auto const& parameter : *found)
                    write_parameter(resolved(parameter));
        html_ += "</table>\n";
        if (auto const body = operation.find("requestBody"); body != operation.end())
            write_body(*body);
        html_ += "<table>\n";
        for (auto const& [status, response] : operation.at("responses").items())
            write_row(status, text_of(resolved(response), "description"));
        html_ += "</table>\n</section>\n";
    }

    void write_parameter(document const& parameter)
    {
        auto const in = text_of(parameter, "in");
        auto const needed = parameter.value("required", false) ? ", required" : "";
        write_row(text_of(parameter, "name"),
                  fmt::format("{}{}. {}", in, needed, text_of(parameter, "description")));
    }

    void write_body(document const& body)
    {
        for (auto const& [media_type, content] : body.at("content").items()) {
            auto const& schema = content.at("schema");
            auto const reference = text_of(schema, "$ref");
            html_ += fmt::format("<p>Body: <code>{}</code>", escaped(media_type));
            if (auto const slash = reference.rfind('/'); slash != std::string::npos)
                html_ += fmt::format(" <a href=\"#schema-{0}\">{0}</a>",
                                     escaped(reference.substr(slash + 1)));
            html_ += "</p>\n";
            write_examples(content);
        }
    }

    void write_examples(document const& content)
    {
        if (auto const one = content.find("example"); one != content.end())
            write_example(*one);
        if (auto const all = content.find("examples"); all != content.end())
            for (auto const& [name, example] : all->items())
                write_example(example.at("value"));
    }

    void write_example(document const& value)
    {
        html_ += fmt::format("<pre>{}</pre>\n",
                             escaped(value.is_string() ? value.get<std::string>() : value.dump(2)));
    }

    void write_schemas()
    {
        html_ += "<h2>Objects</h2>\n";
        for (auto const& [name, schema] : api_.at("components").at("schemas").items()) {
            html_ += fmt::format("<section id=\"schema-{0}\">\n<h3>{0}</h3>\n{1}", escaped(name),
                                 prose(text_of(schema, "description")));
            if (auto const members = schema.find("properties"); members != schema.end()) {
                html_ += "<table>\n";
                for (auto const& [member, rule] : members->items())
                    write_row(member, text_of(resolved(rule), "description"));
                html_ += "</table>\n";
            }
            html_ += "</section>\n";
        }
    }

    void write_row(std::string_view name, std::string_view description)
    {
        html_ += fmt::format("<tr><th><code>{}</code></th><td>{}</td></tr>\n", escaped(name),
                             prose(description));
    }

    static std::string upper(std::string_view method)
    {
        std::string text(method);
        for (auto& c : text)
            c = static_cast<char>(c - 'a' + 'A');
        return text;
    }

    document const& api_;
    std::string html_;
};

// The page may show its own style and nothing else: no script, no image, no frame around it.
std::string content_security_policy()
{
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
    crypto_hash_sha256(digest.data(), reinterpret_cast<unsigned char const*>(page_style.data()),
                       page_style.size());
    std::array<char,
               sodium_base64_ENCODED_LEN(crypto_hash_sha256_BYTES, sodium_base64_VARIANT_ORIGINAL)>
        text{};
    sodium_bin2base64(text.data(), text.size(), digest.data(), digest.size(),
                      sodium_base64_VARIANT_ORIGINAL);
    return fmt::format("default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; "
                       "form-action 'none'; frame-ancestors 'none'",
                       text.data());
}

reply not_ready(fault_kind kind, std::vector<std::string> reasons, request const& req)
{
    return problem(fault_report{.kind = kind,
                                .detail = "The service is not ready; `reasons` tells why.",
                                .reasons = std::move(reasons)},
                   req);
}

reply audit_is_running(request const& req)
{
    return problem(fault_report{.kind = fault_kind::overloaded,
                                .detail = "Another audit is running; ask again when it is done."},
                   req);
}

reply docs_reply()
{
    static std::string const page = docs_page(document::parse(assets::openapi_json)).html();
    static std::string const policy = content_security_policy();
    return {
        .body = page,
        .content_type = "text/html; charset=utf-8",
        .headers = {{"Content-Security-Policy", policy}},
    };
}

} // namespace

// GET /v1/audit
pending_reply show_audit(request const& req, app& service)
{
    if (auto const refused = parse_nothing(req); !refused)
        co_return problem(refused.error(), req);

    auto const look = [&](db::link& db) { return service.auditor.run(db); };
    auto const report = co_await service.workers.run(look);
    if (!report)
        co_return audit_is_running(req);

    co_return reply{.body = to_json(*report)};
}

// GET /livez
pending_reply livez(request const&, app&)
{
    co_return reply{.body = R"({"status":"alive"})"};
}

// GET /readyz
pending_reply readyz(request const& req, app& service)
{
    if (service.is_draining) {
        std::vector<std::string> stopping(1, "the service is stopping");
        co_return not_ready(fault_kind::overloaded, std::move(stopping), req);
    }
    auto reasons = service.lookout.reasons();
    if (!reasons.empty())
        co_return not_ready(fault_kind::database_unavailable, std::move(reasons), req);

    co_return reply{.body = R"({"status":"ready"})"};
}

// GET /metrics
pending_reply show_metrics(request const&, app& service)
{
    co_return reply{.body = service.metrics.text(),
                    .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

// GET /openapi.json
pending_reply openapi(request const&, app&)
{
    co_return reply{.body = std::string(assets::openapi_json)};
}

// GET /docs
pending_reply docs(request const&, app&)
{
    co_return docs_reply();
}

} // namespace holdfast::http
