// SPDX-License-Identifier: Apache-2.0
// Good requests with damage: hundreds of random mutations, none of which may bring the service to
// its knees, to a 500, or to talk about its database.
#include "tests/http/answers.hpp"
#include "tests/http/raw_connection.hpp"
#include "tests/support/database.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::string_literals;

// What damage is likely to find something.
std::vector<std::string> const nasty{
    "\0"s,
    "\xFF",
    "\r\n",
    "\r\n\r\n",
    "\"",
    "\\",
    "\\u0000",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "-1",
    "0",
    "1e309",
    "9223372036854775808",
    "99999999999999999999999",
    "1.5",
    "%00",
    "%",
    "%FF",
    "../",
    "?",
    "&",
    "#",
    "'; --",
    "${x}",
    "{{x}}",
    "\xC3\x28",
    "\xE2\x80\xAE",
    "\xF0\x9F\xA7\xA6",
    "e\xCC\x81",
    "Content-Length: 3\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Host: y\r\n",
    std::string(3000, 'A'),
};

class mutator {
public:
    explicit mutator(std::uint64_t random_seed) : random_(random_seed) {}

    std::size_t upto(std::size_t n) { return n == 0 ? 0 : random_() % n; }

    template <class T>
    T const& one_of(std::vector<T> const& all)
    {
        return all[upto(all.size())];
    }

    // One to four wounds.
    std::string damaged(std::string text, std::string_view other)
    {
        for (auto n = upto(4) + 1; n > 0; --n)
            wound(text, other);
        return text;
    }

private:
    void wound(std::string& text, std::string_view other)
    {
        auto const at = upto(text.size() + 1);
        auto const size = std::min(text.size() - at, upto(20) + 1);
        switch (upto(8)) {
        case 0: text.erase(at, size); break;
        case 1: text.insert(at, text.substr(at, size)); break;
        case 2: text.insert(at, one_of(nasty)); break;
        case 3: text.replace(at, size, one_of(nasty)); break;
        case 4: text.resize(at); break;
        case 5: text.replace(at, std::string::npos, other.substr(upto(other.size()))); break;
        case 6:
            if (at < text.size())
                text[at] = static_cast<char>(text[at] ^ (1 << upto(8)));
            break;
        default: replace_number(text); break;
        }
    }

    // Any number becomes one that hardly anybody thinks of.
    void replace_number(std::string& text)
    {
        auto const first = text.find_first_of("0123456789", upto(text.size()));
        if (first == std::string::npos)
            return;
        auto const last = std::min(text.find_first_not_of("0123456789", first), text.size());
        text.replace(first, last - first,
                     one_of(std::vector<std::string>{"0", "-1", "1000000001", "9000000000000001",
                                                     "18446744073709551616", "1e3", "1.0", "00"}));
    }

    std::mt19937_64 random_;
};

// Good requests of every kind about one item and one reservation.
std::vector<http_request> good_requests(std::string const& sku, std::string const& id)
{
    auto const line = R"({"sku":")" + sku + R"(","quantity":1,"location":"main"})";
    auto const post = [](std::string target, std::string body) {
        return http_request{.method = "POST",
                            .target = std::move(target),
                            .body = std::move(body),
                            .headers = {{"Idempotency-Key", unique("key")}}};
    };
    auto import = post("/v1/imports?mode=add&dry_run=false",
                       "sku,quantity,location,name\r\n\"" + sku + "\",1,main,\"A, b\"\r\n");
    import.headers.emplace_back("Content-Type", "text/csv");
    return {
        post("/v1/reservations",
             R"({"lines":[)" + line +
                 R"(],"customer":"c-42","reference":"order-1001",)"
                 R"("ttl_seconds":900,"confirm":false,"metadata":{"note":"caf\u00e9"}})"),
        post("/v1/reservations", R"({"lines":[)" + line + R"(],"supersedes":")" + id + "\"}"),
        post("/v1/reservations/" + id + "/confirm",
             R"({"lines":[)" + line + R"(],"if_expired":"reserve_again"})"),
        post("/v1/reservations/" + id + "/extend", R"({"ttl_seconds":600})"),
        post("/v1/reservations/" + id + "/release", ""),
        post("/v1/reservations/" + id + "/returns",
             R"({"lines":[)" + line + R"(],"restock":true})"),
        post("/v1/stock/" + sku + "/adjustments",
             R"({"set_to":1000,"expect_on_hand":null,"reason":"count","note":"by hand"})"),
        std::move(import),
        {.method = "PUT",
         .target = "/v1/stock/" + sku,
         .body = R"({"name":"Tee","on_sale":true,"sale_starts_at":"2026-01-01T00:00:00Z",)"
                 R"("max_per_customer":null,"low_stock_at":3,"strategy":"row_lock"})"},
        {.target = "/v1/stock?q=" + sku + "&low=false&limit=10"},
        {.target = "/v1/reservations?state=held&sku=" + sku + "&customer=c-42&limit=10"},
        {.target = "/v1/stock/" + sku + "/movements?limit=5"},
    };
}

// Damages the whole request, or its body or its target only so that the rest is read at all.
std::string mutation_of(std::vector<http_request> const& good, std::string const& key,
                        mutator& with)
{
    auto request = with.one_of(good);
    auto const& other = with.one_of(good);
    auto const depth = with.upto(10);
    if (depth < 3)
        return with.damaged(to_bytes(request, key), to_bytes(other, key));
    if (depth < 8 && !request.body.empty()) {
        request.body = with.damaged(request.body, other.body);
        return to_bytes(request, key);
    }
    request.target = with.damaged(request.target, other.target);
    return to_bytes(request, key);
}

} // namespace

TEST_CASE("no damage to a request brings a 500, a word of the database, or a wrong number")
{
    constexpr int mutations = 300;
    database const db;
    service_process const service({.database_url = db.connection_string(),
                                   .environment = {{"HOLDFAST_REQUEST_READ_SECONDS", "1"}}});
    shop front(service);
    mutator with(seed());
    MESSAGE("seed: HOLDFAST_SEED=" << seed());

    std::map<std::string, int> outcomes;
    for (int i = 0; i < mutations; ++i) {
        // Damage may well take an item off sale, so each has its own.
        auto const sku = front.item(1000);
        auto const id = front.hold({{sku}});
        auto const bytes = mutation_of(good_requests(sku, id), service.admin_key(), with);
        CAPTURE(i);
        CAPTURE(bytes);
        raw_connection connection(service.port());
        connection.send(bytes);
        connection.finish_sending();
        // Damage can make several requests of one.
        for (auto answer = connection.receive(); answer; answer = connection.receive()) {
            if (answer->status == 100)
                continue;
            ++outcomes[outcome(*answer)];
            CHECK(objection_to(*answer) == "");
            CHECK(answer->status < 500);
            if (answer->header("connection") == "close")
                break;
        }
    }

    for (auto const& [kind, times] : outcomes)
        MESSAGE(kind << " came " << times << " times");
    // The damage was neither so gentle that all passed nor so rude that nothing was read.
    CHECK(outcomes["400 validation-failed"] > 0);
    CHECK(outcomes["400 malformed-json"] > 0);
    CHECK(outcomes["201"] + outcomes["200"] > 0);
    CHECK(front.get("/livez").status == 200);
    CHECK(front.audit_ok());
}

} // namespace holdfast::test
