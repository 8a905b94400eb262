// SPDX-License-Identifier: Apache-2.0
// HTTP as clients and attackers really speak it: addresses, sizes, speeds, pipelines, old versions
// and plain garbage.
#include "tests/http/answers.hpp"
#include "tests/http/raw_connection.hpp"
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using std::chrono::steady_clock;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// A reservation of one unit under a key of its own.
http_request reservation_of(std::string const& sku, header_list headers = {})
{
    headers.emplace_back("Idempotency-Key", unique("key"));
    return {.method = "POST",
            .target = "/v1/reservations",
            .body = R"({"lines":[{"sku":")" + sku + R"(","quantity":1}]})",
            .headers = std::move(headers)};
}

// A body in chunks of so many bytes, with what else the format allows.
std::string chunked(std::string_view body, std::size_t size)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    while (!body.empty()) {
        auto const part = body.substr(0, size);
        body.remove_prefix(part.size());
        std::string length;
        for (auto left = part.size(); left > 0; left /= 16)
            length.insert(length.begin(), digits[left % 16]);
        text.append(length).append(";name=value\r\n").append(part).append("\r\n");
    }
    return text + "0\r\nX-Trailer: yes\r\n\r\n";
}

// The answer to bytes after which the client has nothing more to say.
std::optional<http_response> answer_to(service_process const& service, std::string_view bytes)
{
    raw_connection connection(service.port());
    connection.send(bytes);
    connection.finish_sending();
    return connection.receive();
}

// Nothing was done and nothing was given away: a clean refusal, or a closed door.
bool is_turned_away(std::string const& verdict)
{
    return verdict == "closed" ||
           (verdict.starts_with('4') && verdict.find(", but ") == std::string::npos);
}

struct exchange {
    std::chrono::milliseconds took{0};
    std::string heard = {};
};

std::chrono::milliseconds since(steady_clock::time_point began)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - began);
}

// Sends the beginning, then a byte every 50 ms, until the service hangs up.
exchange dribble(service_process const& service, std::string_view beginning)
{
    raw_connection connection(service.port());
    auto const began = steady_clock::now();
    connection.send(beginning);
    while (!connection.is_closed_within(50ms) && since(began) < 20s)
        connection.send("a");
    return {.took = since(began), .heard = connection.unread()};
}

} // namespace

TEST_CASE("a wrong address and a wrong method are told apart")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);

    for (std::string const target : {"/",
                                     "//",
                                     "/v1",
                                     "/v1/",
                                     "/v1/stock/",
                                     "/v1/stock/A/",
                                     "/v1/stock/A/movements/",
                                     "/v1/stock/A/B",
                                     "/V1/stock",
                                     "/v1/Stock",
                                     "/v1/reservations//confirm",
                                     "/v1/reservation",
                                     "/livez/",
                                     "/..",
                                     "/../../etc/passwd",
                                     "/v1/../livez",
                                     "/%2e%2e/%2e%2e/etc/passwd",
                                     "/v1%2Fstock",
                                     "/favicon.ico",
                                     "/.git/config",
                                     "/v1/event",
                                     "/v1/stock;a=b"}) {
        CAPTURE(target);
        CHECK(verdict(front.get(target)) == "404 not-found");
    }
    struct {
        std::string method;
        std::string target;
        std::set<std::string> allowed;
    } const wrong_methods[]{
        {"DELETE", "/v1/stock/A", {"GET", "HEAD", "PUT"}},
        {"POST", "/v1/stock/A", {"GET", "HEAD", "PUT"}},
        {"PATCH", "/v1/reservations", {"GET", "HEAD", "POST"}},
        {"PUT", "/v1/reservations", {"GET", "HEAD", "POST"}},
        {"GET", "/v1/reservations/x/confirm", {"POST"}},
        {"DELETE", "/v1/reservations/x", {"GET", "HEAD"}},
        {"PUT", "/v1/imports", {"GET", "HEAD", "POST"}},
        {"POST", "/livez", {"GET", "HEAD"}},
        {"OPTIONS", "/v1/stock", {"GET", "HEAD"}},
        {"TRACE", "/v1/audit", {"GET", "HEAD"}},
        {"BREW", "/v1/audit", {"GET", "HEAD"}},
        {"get", "/v1/audit", {"GET", "HEAD"}},
    };
    for (auto const& [each_method, each_target, allowed] : wrong_methods) {
        auto const& method = each_method;
        auto const& target = each_target;
        CAPTURE(method);
        CAPTURE(target);
        auto const answer = front.http().send({.method = method, .target = target});
        CHECK(verdict(answer) == "405 method-not-allowed");
        std::set<std::string> told;
        auto list = answer.header("allow").value_or("") + ',';
        for (auto end = list.find(','); end != std::string::npos; end = list.find(',')) {
            told.insert(list.substr(0, end));
            list.erase(0, list.find_first_not_of(' ', end + 1));
        }
        CHECK(told == allowed);
    }
}

TEST_CASE("a path is decoded once, and what it cannot mean is refused")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    REQUIRE(front.put_item("a/b", {{"on_hand", 1}}).status == 201);
    REQUIRE(front.put_item("%41", {{"on_hand", 2}}).status == 201);
    REQUIRE(front.put_item("a+b", {{"on_hand", 3}}).status == 201);
    auto const books = books_of(db);

    CHECK(front.get("/v1/stock/a%2Fb").json().at("on_hand") == 1);
    CHECK(front.get("/v1/stock/a%2fb").json().at("on_hand") == 1);
    CHECK(front.get("/v1/stock/%61%2Fb").json().at("sku") == "a/b");
    CHECK(front.get("/v1/stock/%2541").json().at("on_hand") == 2);
    CHECK(front.get("/v1/stock/a+b").json().at("on_hand") == 3);
    CHECK(verdict(front.get("/v1/stock/a%20b")) == "404 unknown-sku");
    CHECK(verdict(front.get("/v1/stock?&&&")) == "200");
    CHECK(verdict(front.get("/v1/stock?")) == "200");

    for (std::string const target : {"/v1/stock/%",
                                     "/v1/stock/%2",
                                     "/v1/stock/%zz",
                                     "/v1/stock/a%",
                                     "/v1/stock?q=%",
                                     "/v1/stock?q=%f",
                                     "/v1/stock?%zz=1",
                                     "/v1/stock/%00",
                                     "/v1/stock/a%00b",
                                     "/v1/stock/%FF",
                                     "/v1/stock/%C0%AF",
                                     "/v1/stock/%ED%A0%80",
                                     "/v1/stock/%F4%90%80%80",
                                     "/v1/stock/%E2%82",
                                     "/v1/stock/%0A",
                                     "/v1/stock/%20a",
                                     "/v1/stock/%7F",
                                     "/v1/stock/%00/movements",
                                     "/v1/reservations/%",
                                     "/v1/stock?=",
                                     "/v1/stock?q=%00",
                                     "/v1/stock?q=%FF",
                                     "/v1/stock?%00=1",
                                     "/v1/stock?%FF=1",
                                     "/v1/stock?q=a&q=b",
                                     "/v1/audit?now=1"}) {
        CAPTURE(target);
        CHECK(verdict(front.get(target)) == "400 validation-failed");
    }
    for (std::string const target : {"/v1/stock/%00", "/v1/stock/%FF", "/v1/stock/a%00b"}) {
        CAPTURE(target);
        auto const put =
            front.http().send({.method = "PUT", .target = target, .body = R"({"on_hand":1})"});
        CHECK(verdict(put) == "400 validation-failed");
        auto const adjusted =
            front.post(target + "/adjustments", {{"delta", 1}, {"reason", "found"}});
        CHECK(verdict(adjusted) == "400 validation-failed");
    }

    // Targets that are no path of ours, or no target at all.
    auto const& key = service.admin_key();
    for (auto const& target :
         {"*"s, "livez"s, "?"s, "/\xFF"s, "/v1/stock/\xC3"s, "/v1/stock/\x7F"s, "/v1/sto ck"s, ""s,
          "ftp://127.0.0.1/livez"s, "http:///livez"s, "http://me:secret@127.0.0.1/livez"s,
          "/" + std::string(15'000, 'a'), "/v1" + std::string(7000, '/')}) {
        CAPTURE(target);
        CHECK(is_turned_away(verdict(answer_to(service, to_bytes({.target = target}, key)))));
    }
    CHECK(is_turned_away(
        verdict(answer_to(service, "CONNECT example.com:80 HTTP/1.1\r\nHost: x\r\n\r\n"))));
    CHECK(books_of(db) == books);
}

TEST_CASE("a client that writes the whole address, as for a proxy, is served all the same")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    REQUIRE(front.put_item("a/b", {{"on_hand", 1}}).status == 201);
    auto const ask = [&](std::string target) {
        return answer_to(service, to_bytes({.target = std::move(target)}, service.admin_key()));
    };

    CHECK(verdict(ask("http://127.0.0.1/livez")) == "200");
    CHECK(verdict(ask("HTTP://shop.example:8080/livez")) == "200");
    CHECK(ask(service.url() + "/v1/stock/a%2Fb").value().json().at("sku") == "a/b");
    CHECK(ask(service.url() + "/v1/stock?q=a%2Fb").value().json().at("data").size() == 1);
    CHECK(verdict(ask(service.url())) == "404 not-found");
    CHECK(verdict(ask(service.url() + "/v1/stock?limit=0")) == "400 validation-failed");
    CHECK(verdict(answer_to(service, to_bytes({.target = service.url() + "/v1/stock"}))) ==
          "401 unauthenticated");
}

TEST_CASE("a body of another kind than the address takes is refused")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const id = front.hold({{sku}});
    auto const books = books_of(db);

    for (std::string const type :
         {"text/plain", "text/csv", "application/jsonp", "application/merge-patch+json",
          "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json", "*/*", "",
          "application/json/x"}) {
        CAPTURE(type);
        auto request = reservation_of(sku, {{"Content-Type", type}});
        CHECK(verdict(front.http().send(request)) == "415 unsupported-media-type");
        request.method = "PUT";
        request.target = "/v1/stock/" + sku;
        CHECK(verdict(front.http().send(request)) == "415 unsupported-media-type");
    }
    CHECK(verdict(front.post("/v1/imports?mode=set", json::object())) ==
          "415 unsupported-media-type");
    CHECK(books_of(db) == books);

    for (std::string const type : {"application/json", "Application/JSON",
                                   "application/json; charset=utf-8", "application/json ;a=b"}) {
        CAPTURE(type);
        CHECK(verdict(front.http().send(reservation_of(sku, {{"Content-Type", type}}))) == "201");
    }
    // Without a body there is nothing to have a type.
    CHECK(verdict(front.http().send(
              {.method = "POST", .target = "/v1/reservations/" + id + "/release"})) == "200");
    CHECK(front.audit_ok());
}

TEST_CASE("a body that is too large is refused, and the refusal arrives")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const books = books_of(db);
    auto const& key = service.admin_key();
    auto request = reservation_of(sku);
    auto const small = request.body;

    // Two mebibytes in one go, as a client that does not wait for answers sends them.
    for (auto const size : {mebibyte + 1, 2 * mebibyte}) {
        CAPTURE(size);
        request.body = small + std::string(size - small.size(), ' ');
        raw_connection connection(service.port());
        CHECK(connection.send(to_bytes(request, key)));
        CHECK(verdict(connection.receive()) == "413 payload-too-large");
        CHECK(connection.is_closed_within(10s));
        CHECK_FALSE(connection.was_reset());
    }

    // The same in chunks, whose end nobody knows beforehand.
    auto in_chunks = request;
    in_chunks.headers.emplace_back("Transfer-Encoding", "chunked");
    in_chunks.body = chunked(request.body, 10'000);
    raw_connection connection(service.port());
    CHECK(connection.send(to_bytes(in_chunks, key)));
    CHECK(verdict(connection.receive()) == "413 payload-too-large");
    CHECK_FALSE(connection.was_reset());

    // Lengths that are announced and never meant.
    for (std::string const length : {"1048577", "67108865", "9223372036854775807"}) {
        CAPTURE(length);
        http_request const announced{.method = "POST",
                                     .target = "/v1/imports?mode=set",
                                     .headers = {{"Content-Type", "text/csv"},
                                                 {"Idempotency-Key", unique("key")},
                                                 {"Content-Length", length}}};
        bool const fits_an_import = length == "1048577";
        auto const told = verdict(answer_to(service, to_bytes(announced, key)));
        CHECK(told == (fits_an_import ? "closed" : "413 payload-too-large"));
    }
    CHECK(books_of(db) == books);

    request.body = small + std::string(mebibyte - small.size(), ' ');
    CHECK(verdict(front.http().send(request)) == "201");
    CHECK(front.audit_ok());
}

TEST_CASE("a header that is too large is refused, and the refusal arrives")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    std::string many;
    for (int i = 0; i < 1000; ++i)
        many += "X-Header-" + std::to_string(i) + ": 0123456789\r\n";
    std::string const host = "GET /livez HTTP/1.1\r\nHost: x\r\n";

    for (auto const& bytes :
         {host + "X-Long: " + std::string(17'000, 'a') + "\r\n\r\n", host + many + "\r\n",
          host + "Cookie: " + std::string(300'000, 'a') + "\r\n\r\n",
          host + std::string(40'000, 'a') + ": b\r\n\r\n",
          "GET /" + std::string(17'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"}) {
        CAPTURE(bytes.substr(0, 80));
        raw_connection connection(service.port());
        CHECK(connection.send(bytes));
        CHECK(verdict(connection.receive()) == "431 payload-too-large");
        CHECK(connection.is_closed_within(10s));
        CHECK_FALSE(connection.was_reset());
    }
    CHECK(verdict(answer_to(service, host + "X-Long: " + std::string(15'000, 'a') + "\r\n\r\n")) ==
          "200");
}

TEST_CASE("a client that is too slow is cut off, and nobody waits for it")
{
    database const db;
    service_process const service({.database_url = db.connection_string(),
                                   .environment = {{"HOLDFAST_REQUEST_READ_SECONDS", "1"}}});
    shop front(service);
    auto const sku = front.item(100);
    auto const books = books_of(db);
    http_request slow_body = reservation_of(sku, {{"Content-Length", "5000"}});
    http_request slow_chunks = reservation_of(sku, {{"Transfer-Encoding", "chunked"}});
    slow_chunks.body = "fff\r\n{";
    std::vector<std::string> const beginnings{
        "G",
        "GET /livez",
        "GET /livez HTTP/1.1\r\nHost: x\r\n",
        "GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        to_bytes(slow_body, service.admin_key()),
        to_bytes(slow_chunks, service.admin_key()),
    };
    constexpr std::size_t of_each = 8;
    auto const slow_ones = beginnings.size() * of_each;

    auto const exchanges = run_together(slow_ones + 1, [&](std::size_t i) {
        if (i < slow_ones)
            return dribble(service, beginnings[i % beginnings.size()]);
        auto const began = steady_clock::now();
        for (int n = 0; n < 20; ++n)
            front.level_of(sku);
        return exchange{.took = since(began)};
    });

    for (std::size_t i = 0; i < slow_ones; ++i) {
        CAPTURE(beginnings[i % beginnings.size()]);
        CHECK(exchanges[i].took >= 900ms);
        CHECK(exchanges[i].took < 10s);
        CHECK(exchanges[i].heard.empty());
    }
    CHECK(exchanges.back().took < 10s);
    CHECK(books_of(db) == books);
    CHECK(front.audit_ok());
}

TEST_CASE("a connection nobody uses is closed, and one in use is kept")
{
    database const db;
    service_process const service({.database_url = db.connection_string(),
                                   .environment = {{"HOLDFAST_IDLE_CONNECTION_SECONDS", "2"}}});
    raw_connection silent(service.port());
    raw_connection used_once(service.port());
    raw_connection busy(service.port());
    auto const livez = to_bytes({.target = "/livez"});
    used_once.send(livez);
    CHECK(verdict(used_once.receive()) == "200");

    // The busy one says something every now and then, for longer than anybody may be idle.
    auto const began = steady_clock::now();
    while (steady_clock::now() - began < 4s) {
        busy.send(livez);
        REQUIRE(verdict(busy.receive()) == "200");
        CHECK_FALSE(busy.is_closed_within(200ms));
    }
    CHECK(silent.is_closed_within(10s));
    CHECK(used_once.is_closed_within(10s));
    CHECK(silent.unread().empty());
    CHECK(used_once.unread().empty());
}

TEST_CASE("requests sent in one go are answered one after the other, in their order")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const& key = service.admin_key();
    std::vector<std::string> skus;
    for (int i = 0; i < 10; ++i)
        skus.push_back(front.item(100 + i));

    std::string bytes = to_bytes({.target = "/v1/audit"}, key); // The slowest comes first.
    for (auto const& sku : skus)
        bytes += to_bytes({.target = "/v1/stock/" + sku}, key) +
                 to_bytes(reservation_of(sku), key) + to_bytes({.target = "/v1/stock/" + sku}, key);
    bytes += to_bytes({.target = "/nothing/here"});
    bytes += to_bytes({.target = "/livez"});

    // In one piece, and byte by byte.
    for (std::int64_t round = 0; round < 2; ++round) {
        CAPTURE(round);
        raw_connection connection(service.port());
        auto const piece = round == 0 ? bytes.size() : 1;
        for (std::size_t at = 0; at < bytes.size(); at += piece)
            connection.send(std::string_view(bytes).substr(at, piece));

        CHECK(connection.receive().value().json().at("ok") == true);
        for (auto const& sku : skus) {
            auto const before = connection.receive().value().json();
            CHECK(before.at("sku") == sku);
            CHECK(before.at("reserved") == (round == 0 ? 0 : 1));
            // In the second round its key was seen before, and its unit is the same one.
            CHECK(verdict(connection.receive()) == "201");
            CHECK(connection.receive().value().json().at("reserved") == 1);
        }
        CHECK(verdict(connection.receive()) == "404 not-found");
        CHECK(connection.receive().value().json().at("status") == "alive");
    }
    CHECK(front.audit_ok());
}

TEST_CASE("garbage behind a good request is refused, and ends the connection")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(100);
    auto const& key = service.admin_key();

    std::int64_t reserved = 0;
    for (auto const& garbage :
         {"\0\xFF\x01 nonsense\r\n\r\n"s, "{\"lines\":[]}\r\n\r\n"s, "POST\r\n\r\n"s,
          "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"s, "GET / HTTP/3.0\r\n\r\n"s}) {
        CAPTURE(garbage);
        raw_connection connection(service.port());
        // What follows the garbage must never be taken for a request.
        connection.send(to_bytes(reservation_of(sku), key) + garbage +
                        to_bytes(reservation_of(sku), key));
        CHECK(verdict(connection.receive()) == "201");
        CHECK(verdict(connection.receive()) == "400 validation-failed");
        CHECK(connection.is_closed_within(10s));
        CHECK(connection.unread().empty());
        CHECK(front.level_of(sku).reserved == ++reserved);
    }
    CHECK(front.audit_ok());
}

TEST_CASE("what is no HTTP, or two things at once, is turned away")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(100);
    auto const books = books_of(db);
    auto const authorization = "Authorization: Bearer " + service.admin_key() + "\r\n";
    auto const head = "POST /v1/reservations HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n" +
                      authorization + "Content-Type: application/json\r\n";
    auto const body = reservation_of(sku).body;
    auto const length = "Content-Length: " + std::to_string(body.size()) + "\r\n";

    for (auto const& bytes : {
             "\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03"s, // the beginning of a TLS handshake
             "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"s,
             "SSH-2.0-OpenSSH_9.2\r\n"s,
             "*1\r\n$4\r\nPING\r\n"s,
             std::string(3, '\0'),
             std::string(100'000, '\0'),
             std::string(100'000, '\n'),
             "GET /livez\r\n\r\n"s,
             "GET  /livez HTTP/1.1\r\nHost: x\r\n\r\n"s,
             "GET /livez HTTP/1.1\nHost: x\n\n"s,
             "GE\x01T /livez HTTP/1.1\r\nHost: x\r\n\r\n"s,
             "GET /livez HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n"s,
             "GET /livez HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n"s,
             "GET /livez HTTP/1.1\r\nHost: x\r\n: no name\r\n\r\n"s,
             "GET /livez HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n"s,
             // Where a body ends must never be a matter of taste.
             head + length + "Transfer-Encoding: chunked\r\n\r\n" + chunked(body, 10),
             head + "Transfer-Encoding: chunked\r\n" + length + "\r\n" + chunked(body, 10),
             head + length + "Content-Length: 7\r\n\r\n" + body,
             head + "Content-Length: -1\r\n\r\n" + body,
             head + "Content-Length: +60\r\n\r\n" + body,
             head + "Content-Length: 0x3c\r\n\r\n" + body,
             head + "Content-Length: 99999999999999999999\r\n\r\n" + body,
             head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + body,
             head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" + body,
             head + "Transfer-Encoding: chunked\r\n\r\n5\r\n" + body + "\r\n0\r\n\r\n",
             head + authorization + length + "\r\n" + body,
             head + "Content-Type: text/plain\r\n" + length + "\r\n" + body,
             // Cut short by a client that is gone.
             head + length + "\r\n" + body.substr(0, 10),
             head + "Transfer-Encoding: chunked\r\n\r\n20\r\n" + body.substr(0, 10),
             head,
         }) {
        CAPTURE(bytes.substr(0, 400));
        CHECK(is_turned_away(verdict(answer_to(service, bytes))));
        CHECK(books_of(db) == books);
    }
    CHECK(verdict(front.reserve(sku)) == "201");
    CHECK(front.audit_ok());
}

TEST_CASE("what follows a body whose end cannot be told is never taken for a request")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(100);
    auto const body = reservation_of(sku).body;
    auto const hidden = "POST /v1/reservations HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n"
                        "Authorization: Bearer " +
                        service.admin_key() + "\r\nContent-Type: application/json\r\n" +
                        "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    for (auto const* const version : {"1.0", "1.1"})
        for (auto const* const method : {"GET", "POST", "PUT"})
            for (auto const* const coding :
                 {"xchunked", "identity", "", "\"chunked\"", "chunked, identity", "gzip, chunked",
                  "chunked, chunked", "chunked;x=1", "identity\r\nTransfer-Encoding: chunked"}) {
                CAPTURE(method);
                CAPTURE(coding);
                raw_connection client(service.port());
                client.send(std::string(method) + " /livez HTTP/" + version +
                            "\r\nHost: x\r\nTransfer-Encoding: " + coding + "\r\n\r\n" + hidden);
                CHECK(verdict(client.receive()) == "400 validation-failed");
                CHECK(client.is_closed_within(5s));
            }
    CHECK(front.level_of(sku).reserved == 0);
}

TEST_CASE("old clients, bodies in chunks, and clients that ask before they send are served")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(100);
    auto const& key = service.admin_key();

    // HTTP/1.0 knows neither Host nor chunks, and one request is all unless it says otherwise.
    raw_connection old(service.port());
    old.send("GET /livez HTTP/1.0\r\n\r\n");
    CHECK(verdict(old.receive()) == "200");
    CHECK(old.is_closed_within(5s));
    raw_connection old_and_kept(service.port());
    for (int i = 0; i < 2; ++i) {
        old_and_kept.send("GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        CHECK(verdict(old_and_kept.receive()) == "200");
    }

    for (auto const size : {1, 7, 1000}) {
        CAPTURE(size);
        auto request = reservation_of(sku, {{"Transfer-Encoding", "chunked"}});
        request.body = chunked(request.body, static_cast<std::size_t>(size));
        raw_connection connection(service.port());
        connection.send(to_bytes(request, key) + to_bytes({.target = "/livez"}));
        CHECK(verdict(connection.receive()) == "201");
        CHECK(verdict(connection.receive()) == "200");
    }

    // A client that asks first hears yes or no before it sends anything.
    auto polite = reservation_of(sku, {{"Expect", "100-continue"}});
    auto const body = polite.body;
    polite.headers.emplace_back("Content-Type", "application/json");
    polite.headers.emplace_back("Content-Length", std::to_string(body.size()));
    polite.body.clear();
    raw_connection welcome(service.port());
    welcome.send(to_bytes(polite, key));
    CHECK(welcome.receive().value().status == 100);
    welcome.send(body);
    CHECK(verdict(welcome.receive()) == "201");
    raw_connection stranger(service.port());
    stranger.send(to_bytes(polite, "a-key-nobody-made-0123456789"));
    CHECK(verdict(stranger.receive()) == "401 unauthenticated");
    polite.headers.back().second = std::to_string(2 * mebibyte);
    raw_connection too_much(service.port());
    too_much.send(to_bytes(polite, key));
    CHECK(verdict(too_much.receive()) == "413 payload-too-large");

    CHECK(front.level_of(sku).reserved == 4);
    CHECK(front.audit_ok());
}

TEST_CASE("a client that asks for the end of the connection gets it at once")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});

    for (auto const& bytes :
         {to_bytes({.target = "/livez", .headers = {{"Connection", "close"}}}),
          to_bytes({.target = "/nowhere", .headers = {{"Connection", "close"}}}),
          "GET /livez HTTP/1.0\r\n\r\n"s}) {
        CAPTURE(bytes);
        raw_connection connection(service.port());
        connection.send(bytes);
        auto const answer = connection.receive();
        REQUIRE(answer.has_value());
        CHECK(objection_to(*answer) == "");
        CHECK(connection.is_closed_within(5s));
        CHECK_FALSE(connection.was_reset());
    }
}

TEST_CASE("HEAD is answered like GET, without a body that could be taken for the next answer")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(3);
    auto const& key = service.admin_key();

    raw_connection connection(service.port());
    for (auto const& target :
         {"/livez"s, "/readyz"s, "/openapi.json"s, "/v1/stock"s, "/v1/stock/" + sku, "/v1/audit"s,
          "/v1/stock?limit=0"s, "/v1/stock/NEVER"s, "/nothing/here"s}) {
        CAPTURE(target);
        connection.send(to_bytes({.method = "HEAD", .target = target}, key));
        connection.send(to_bytes({.target = target}, key));
        auto const head = connection.receive(raw_connection::to::head);
        auto const got = connection.receive();
        REQUIRE(head.has_value());
        REQUIRE(got.has_value());
        CHECK(head->status == got->status);
        for (std::string const name : {"content-type", "content-length"})
            CHECK(head->header(name) == got->header(name));
        CHECK(connection.unread().empty());
    }

    // Where there is no GET there is no HEAD, and nobody gets in by it.
    connection.send(to_bytes({.method = "HEAD", .target = "/v1/reservations/x/confirm"}, key));
    auto const refused = connection.receive(raw_connection::to::head);
    CHECK(refused.value().status == 405);
    CHECK(refused.value().header("allow") == "POST");
    connection.send(to_bytes({.method = "HEAD", .target = "/v1/stock"}));
    CHECK(connection.receive(raw_connection::to::head).value().status == 401);
}

} // namespace holdfast::test
