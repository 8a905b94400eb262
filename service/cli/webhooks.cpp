// SPDX-License-Identifier: Apache-2.0

#include "service/cli/webhooks.hpp"

#include "service/cli/client.hpp"
#include "service/cli/command_error.hpp"
#include "service/config.hpp"
#include "service/secrets.hpp"
#include "stock/percent.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <optional>
#include <ostream>
#include <vector>

namespace holdfast::cli {

using nlohmann::json;

namespace {

namespace asio = boost::asio;
namespace bhttp = boost::beast::http;
using asio::ip::tcp;

constexpr std::uint64_t body_size_max = 1 << 20;
constexpr auto idle_max = std::chrono::minutes(5);
constexpr long tolerance_seconds = 300; // Standard Webhooks 1.0.0: against calls sent again later
constexpr std::size_t text_size_max = 200;

using call = bhttp::request<bhttp::string_body>;

std::string field_of(call const& c, char const* name)
{
    auto const value = c[name];
    return {value.data(), value.size()};
}

// What is wrong with a call, or nothing.
std::optional<std::string> fault_of(call const& c, std::vector<std::uint8_t> const& secret)
{
    auto const id = field_of(c, "webhook-id");
    auto const timestamp = field_of(c, "webhook-timestamp");
    long sent_at = 0;
    auto const* const end = timestamp.data() + timestamp.size();
    if (std::from_chars(timestamp.data(), end, sent_at).ptr != end || timestamp.empty() ||
        std::labs(std::time(nullptr) - sent_at) > tolerance_seconds)
        return "its time is not of now";
    auto const expected = webhook_signature(secret, id, timestamp, c.body());
    auto const given = field_of(c, "webhook-signature");
    for (std::size_t at = 0; at < given.size();) {
        auto const space = std::min(given.find(' ', at), given.size());
        if (is_same_secret(std::string_view(given).substr(at, space - at), expected))
            return std::nullopt;
        at = space + 1;
    }
    return "its signature is not one of this secret";
}

std::string line_of(call const& c, std::string_view verdict)
{
    auto const body = json::parse(c.body(), nullptr, false);
    auto const text = [](json const& of, char const* name) -> std::string {
        if (!of.is_object() || !of.contains(name) || of.at(name).is_null())
            return "-";
        auto const& member = of.at(name);
        return printable(member.is_string() ? member.get<std::string>() : member.dump(),
                         text_size_max);
    };
    auto const data = body.is_object() && body.contains("data") ? body.at("data") : json();
    return fmt::format("{}  {}  {} {} v{}  on hand {}, reserved {}, available {}  {}", verdict,
                       text(body, "type"), text(data, "sku"), text(data, "location"),
                       text(data, "version"), text(data, "on_hand"), text(data, "reserved"),
                       text(data, "available"),
                       printable(field_of(c, "webhook-id"), text_size_max));
}

class listener {
public:
    listener(listen_options const& options, std::ostream& out) : options_(options), out_(out)
    {
        if (options.secret.empty())
            return;
        secret_ = parse_whsec(options.secret);
        if (!secret_)
            throw command_error("the secret must be whsec_ and base64, as the webhook's answer "
                                "had it");
    }

    void run()
    {
        auto const where = parse_endpoint(options_.listen);
        if (!where)
            throw command_error("--listen must be an address and a port, such as 127.0.0.1:9000");
        tcp::resolver names(context_);
        auto const found = names.resolve(where->host, std::to_string(where->port));
        tcp::acceptor acceptor(context_, found.begin()->endpoint());
        out_ << "listening on http://" << acceptor.local_endpoint() << '/' << std::endl;
        if (!secret_)
            out_ << "without a secret: signatures are not checked" << std::endl;
        asio::co_spawn(context_, accept(acceptor), asio::detached);
        context_.run();
    }

private:
    asio::awaitable<void> accept(tcp::acceptor& acceptor)
    {
        for (;;) {
            auto socket = co_await acceptor.async_accept(asio::use_awaitable);
            asio::co_spawn(context_, serve(boost::beast::tcp_stream(std::move(socket))),
                           asio::detached);
        }
    }

    asio::awaitable<void> serve(boost::beast::tcp_stream stream)
    {
        boost::beast::flat_buffer buffer;
        boost::system::error_code ec;
        for (bool stays = true; stays && !ec;) {
            bhttp::request_parser<bhttp::string_body> parser;
            parser.body_limit(body_size_max);
            stream.expires_after(idle_max);
            co_await bhttp::async_read(stream, buffer, parser,
                                       asio::redirect_error(asio::use_awaitable, ec));
            if (ec)
                co_return;
            auto answer = answer_to(parser.get());
            stays = answer.keep_alive();
            co_await bhttp::async_write(stream, answer,
                                        asio::redirect_error(asio::use_awaitable, ec));
            if (options_.count > 0 && ++seen_ >= options_.count)
                context_.stop();
        }
    }

    bhttp::response<bhttp::empty_body> answer_to(call const& c)
    {
        bool const is_post = c.method() == bhttp::verb::post;
        auto fault = is_post ? std::nullopt : std::optional<std::string>("it is no POST");
        if (!fault && secret_)
            fault = fault_of(c, *secret_);
        out_ << line_of(c, fault     ? "refused, " + *fault
                           : secret_ ? "verified"
                                     : "not checked")
             << std::endl;
        bhttp::response<bhttp::empty_body> answer(
            fault ? bhttp::status::bad_request : bhttp::status::no_content, c.version());
        answer.keep_alive(c.keep_alive());
        if (fault)
            answer.content_length(0);
        return answer;
    }

    listen_options const& options_;
    std::ostream& out_;
    std::optional<std::vector<std::uint8_t>> secret_;
    std::int64_t seen_ = 0;
    asio::io_context context_{1};
};

} // namespace

int listen_to_webhook(listen_options const& options, std::ostream& out, std::ostream& errors)
{
    try {
        listener(options, out).run();
        return exit_ok;
    } catch (boost::system::system_error const& e) {
        errors << "holdfast: cannot listen on " << options.listen << ": " << e.code().message()
               << '\n';
    } catch (command_error const& e) {
        errors << "holdfast: " << e.what() << '\n';
    }
    return exit_unusable;
}

int resend_delivery(resend_options const& options, std::ostream& out, std::ostream& errors)
{
    try {
        client service{parse_url(options.url), options.key};
        auto const given = service.send_patiently(
            {.method = "POST",
             .target = "/v1/webhooks/" + percent_encoded(options.webhook) + "/deliveries/" +
                       percent_encoded(options.delivery) + "/resend"});
        if (given.status == 401 || given.status == 403)
            require_status(given, 202, "send again");
        if (given.status != 202) {
            errors << "holdfast: " << explain(given) << '\n';
            return exit_broken;
        }
        out << "it will be sent again within moments\n";
        return exit_ok;
    } catch (command_error const& e) {
        errors << "holdfast: " << e.what() << '\n';
    }
    return exit_unusable;
}

} // namespace holdfast::cli
