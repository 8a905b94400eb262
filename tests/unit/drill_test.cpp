// SPDX-License-Identifier: Apache-2.0
// The parts of the commands that need no service: what a drill concludes from its numbers, when a
// request is tried again, how a URL is read, which key an import is sent with.

#include "service/cli/answer.hpp"
#include "service/cli/catalogue.hpp"
#include "service/cli/client.hpp"
#include "service/cli/command_error.hpp"
#include "service/cli/drill.hpp"
#include "service/cli/drill_report.hpp"
#include "service/cli/retry.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

using namespace holdfast::cli;
using namespace std::chrono_literals;

namespace {

drill_options small_drill()
{
    drill_options options;
    options.url = "http://localhost:8080";
    options.key = "hf_key";
    options.sku = "TEE-M";
    options.requests = 200;
    options.clients = 200;
    return options;
}

std::string complaint_about(drill_options const& options)
{
    try {
        require_valid(options);
    } catch (command_error const& e) {
        return e.what();
    }
    return {};
}

std::string complaint_about_url(std::string_view url)
{
    try {
        static_cast<void>(parse_url(url));
    } catch (command_error const& e) {
        return e.what();
    }
    return {};
}

bool mentions(std::string const& sentence, std::string_view word)
{
    return sentence.find(word) != std::string::npos;
}

} // namespace

TEST_CASE("a rush that sells every unit once and refuses the rest is clean")
{
    auto const found = judge({.requests = 200, .succeeded = 100, .sold_out = 100}, 1,
                             {.on_hand = 120, .reserved = 20, .version = 40},
                             {.on_hand = 120, .reserved = 120, .version = 140});
    CHECK(found.is_clean());
    CHECK(found.oversold == 0);
    CHECK(found.lost == 0);
    CHECK(found.false_refusals == 0);
    CHECK(found.other_movements == 0);
}

TEST_CASE("units left that are too few for one request are no false refusal")
{
    auto const found = judge({.requests = 50, .succeeded = 3, .sold_out = 47}, 3,
                             {.on_hand = 10, .reserved = 0, .version = 1},
                             {.on_hand = 10, .reserved = 9, .version = 4});
    CHECK(found.is_clean());
}

TEST_CASE("one acknowledged unit more than there were is an oversale")
{
    auto const found = judge({.requests = 200, .succeeded = 101, .sold_out = 99}, 1,
                             {.on_hand = 100, .reserved = 0, .version = 1},
                             {.on_hand = 101, .reserved = 101, .version = 102});
    CHECK_FALSE(found.is_clean());
    CHECK(found.oversold == 1);
    CHECK(found.lost == 0);
}

TEST_CASE("an oversale counts units, not requests")
{
    auto const found =
        judge({.requests = 4, .succeeded = 4}, 30, {.on_hand = 100, .reserved = 10, .version = 1},
              {.on_hand = 100, .reserved = 130, .version = 5});
    CHECK(found.oversold == 30);
}

TEST_CASE("an acknowledged hold the level does not show is lost")
{
    auto const found =
        judge({.requests = 50, .succeeded = 50}, 2, {.on_hand = 200, .reserved = 0, .version = 1},
              {.on_hand = 200, .reserved = 96, .version = 49});
    CHECK_FALSE(found.is_clean());
    CHECK(found.lost == -4);
}

TEST_CASE("units taken without an answer are lost to the shop too")
{
    auto const found = judge({.requests = 50, .succeeded = 49, .failed = 1}, 1,
                             {.on_hand = 200, .reserved = 5, .version = 1},
                             {.on_hand = 200, .reserved = 55, .version = 51});
    CHECK_FALSE(found.is_clean());
    CHECK(found.lost == 1);
    CHECK(found.other_movements == 1);
}

TEST_CASE("being told sold out while units are free is a false refusal")
{
    drill_level const before{.on_hand = 100, .reserved = 0, .version = 1};
    drill_level const after{.on_hand = 100, .reserved = 93, .version = 94};

    auto const few = judge({.requests = 95, .succeeded = 93, .sold_out = 2}, 1, before, after);
    CHECK_FALSE(few.is_clean());
    CHECK(few.false_refusals == 2);

    auto const many = judge({.requests = 200, .succeeded = 93, .sold_out = 107}, 1, before, after);
    CHECK(many.false_refusals == 7);
}

TEST_CASE("a customer who reached a limit was not refused falsely")
{
    auto const found = judge({.requests = 10, .succeeded = 2, .customer_limit = 8}, 1,
                             {.on_hand = 100, .reserved = 0, .version = 1},
                             {.on_hand = 100, .reserved = 2, .version = 3});
    CHECK(found.is_clean());
}

TEST_CASE("a level that a count left short has nothing available, and not less than nothing")
{
    CHECK(drill_level{.on_hand = 3, .reserved = 7, .version = 1}.available() == 0);
    CHECK(drill_level{.on_hand = 7, .reserved = 3, .version = 1}.available() == 4);
}

TEST_CASE("percentiles are values that really occurred, by nearest rank")
{
    std::vector<std::uint32_t> hundred(100);
    std::iota(hundred.begin(), hundred.end(), 1U);
    CHECK(percentile(hundred, 500) == 50);
    CHECK(percentile(hundred, 900) == 90);
    CHECK(percentile(hundred, 990) == 99);
    CHECK(percentile(hundred, 999) == 100);
    CHECK(percentile(hundred, 1000) == 100);

    std::vector<std::uint32_t> const one{7};
    CHECK(percentile(one, 0) == 7);
    CHECK(percentile(one, 500) == 7);
    CHECK(percentile(one, 1000) == 7);
    CHECK(percentile({}, 990) == 0);
}

TEST_CASE(
    "a drill within its bounds is accepted, one beyond them is refused with the option's name")
{
    CHECK(complaint_about(small_drill()).empty());

    auto const complains = [](auto change, std::string_view word) {
        auto options = small_drill();
        change(options);
        return mentions(complaint_about(options), word);
    };
    CHECK(complains([](auto& o) { o.key.clear(); }, "--key"));
    CHECK(complains([](auto& o) { o.key = "two words"; }, "API key"));
    CHECK(complains([](auto& o) { o.sku.clear(); }, "--sku"));
    CHECK(complains([](auto& o) { o.sku = " TEE-M"; }, "--sku"));
    CHECK(complains([](auto& o) { o.location = "Main"; }, "--location"));
    CHECK(complains([](auto& o) { o.requests = 0; }, "--requests"));
    CHECK(complains([](auto& o) { o.requests = 10'000'001; }, "--requests"));
    CHECK(complains([](auto& o) { o.clients = 0; }, "--clients"));
    CHECK(complains([](auto& o) { o.clients = 10'001; }, "--clients"));
    CHECK(complains([](auto& o) { o.quantity = 0; }, "--quantity"));
    CHECK(complains([](auto& o) { o.quantity = 1'000'000'001; }, "--quantity"));
    CHECK(complains([](auto& o) { o.rate = 0; }, "--rate"));
    CHECK(complains([](auto& o) { o.rate = std::nan(""); }, "--rate"));
    CHECK(complains([](auto& o) { o.ttl = 0s; }, "--ttl"));
    CHECK(complains([](auto& o) { o.ttl = 604'801s; }, "--ttl"));
}

TEST_CASE("a drill that can only be refused proves nothing, and says so instead of passing")
{
    auto const complaint = [](std::int64_t quantity, drill_item const& found) {
        auto options = small_drill();
        options.quantity = quantity;
        try {
            require_winnable(options, found);
        } catch (command_error const& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    auto const shelf = [](std::int64_t on_hand, std::int64_t reserved) {
        return drill_item{.level = {.on_hand = on_hand, .reserved = reserved, .version = 1},
                          .max_per_customer = std::nullopt};
    };
    CHECK(complaint(1, shelf(0, 0)) ==
          "nothing would be proven: each request wants 1 of \"TEE-M\", and only 0 are available at "
          "main; put some there first");
    CHECK(mentions(complaint(1, shelf(100, 100)), "only 0 are available"));
    CHECK(mentions(complaint(1, shelf(3, 7)), "only 0 are available"));
    CHECK(mentions(complaint(3, shelf(10, 8)), "only 2 are available"));
    CHECK(complaint(2, shelf(10, 8)).empty());
    CHECK(complaint(1, shelf(1, 0)).empty());

    auto limited = shelf(100, 0);
    limited.max_per_customer = 2;
    CHECK(complaint(2, limited).empty());
    CHECK(complaint(3, limited) ==
          "nothing would be proven: each request wants 3 of \"TEE-M\", and a "
          "customer may have 2");
}

TEST_CASE("the API key is never part of a complaint")
{
    auto options = small_drill();
    options.key = "secret key";
    CHECK_FALSE(mentions(complaint_about(options), "secret"));
}

TEST_CASE("pauses between tries double, spread by half, up to their bound")
{
    retry_limits const limits{.tries_max = 10,
                              .time_max = 30s,
                              .pause_first = 100ms,
                              .pause_max = 1s,
                              .retry_after_max = 5s};
    auto const pause = [&](int tries, double jitter) {
        return pause_before_retry(limits, {.tries = tries}, jitter);
    };
    CHECK(pause(1, 0.0) == 50ms);
    CHECK(pause(1, 1.0) == 100ms);
    CHECK(pause(2, 1.0) == 200ms);
    CHECK(pause(4, 1.0) == 800ms);
    CHECK(pause(5, 1.0) == 1s);
    CHECK(pause(9, 0.0) == 500ms);
}

TEST_CASE("a request is given up after its last try, or when its time is used up")
{
    retry_limits const limits{};
    CHECK(pause_before_retry(limits, {.tries = 9}, 0.0).has_value());
    CHECK_FALSE(pause_before_retry(limits, {.tries = 10}, 0.0).has_value());
    CHECK_FALSE(pause_before_retry(limits, {.tries = 1, .spent = 30s}, 0.0).has_value());
}

TEST_CASE("what the service asks for with Retry-After is waited for, within reason")
{
    retry_limits const limits{};
    auto const asked = [&](std::chrono::seconds retry_after) {
        return pause_before_retry(limits, {.tries = 1, .retry_after = retry_after}, 1.0);
    };
    CHECK(asked(0s) == limits.pause_first);
    CHECK(asked(2s) == 2s + limits.pause_first);
    CHECK(asked(3600s) == limits.retry_after_max + limits.pause_first);
}

TEST_CASE("Retry-After is read in seconds, and anything else counts as absent")
{
    CHECK(parse_retry_after("0") == 0s);
    CHECK(parse_retry_after("17") == 17s);
    CHECK_FALSE(parse_retry_after("").has_value());
    CHECK_FALSE(parse_retry_after("-1").has_value());
    CHECK_FALSE(parse_retry_after("1.5").has_value());
    CHECK_FALSE(parse_retry_after("99999999999").has_value());
    CHECK_FALSE(parse_retry_after("Sun, 29 Nov 2026 17:27:15 GMT").has_value());
}

TEST_CASE("only answers that mean not now are worth another try")
{
    CHECK(may_be_retried(503, R"({"code":"overloaded"})"));
    CHECK(may_be_retried(503, R"({"code":"outcome-unknown"})"));
    CHECK(may_be_retried(502, "<html>"));
    CHECK(may_be_retried(504, ""));
    CHECK(may_be_retried(429, R"({"code":"rate-limited"})"));
    CHECK(may_be_retried(409, R"({"code":"idempotency-key-in-progress"})"));
    CHECK_FALSE(may_be_retried(409, R"({"code":"insufficient-stock"})"));
    CHECK_FALSE(may_be_retried(201, "{}"));
    CHECK_FALSE(may_be_retried(422, R"({"code":"idempotency-key-reused"})"));
    CHECK_FALSE(may_be_retried(500, R"({"code":"internal"})"));
}

TEST_CASE("the code of a problem document is found however it is spaced")
{
    CHECK(problem_code(R"({"status":409,"code":"customer-limit"})") == "customer-limit");
    CHECK(problem_code("{\n  \"code\" : \"not-on-sale\",\n  \"status\": 409\n}") == "not-on-sale");
    CHECK(problem_code(R"({"detail":"a \"code\": \"x\" in it","code":"internal"})") == "internal");
    CHECK(problem_code(R"({"code":409})").empty());
    CHECK(problem_code(R"({"code":"cut off)").empty());
    CHECK(problem_code("<html>409</html>").empty());
    CHECK(problem_code("").empty());
}

TEST_CASE("a bad answer is told in one line, whoever gave it")
{
    CHECK(explain(
              {.status = 409, .body = R"({"code":"insufficient-stock","detail":"only 2 left"})"}) ==
          "409 insufficient-stock: only 2 left");
    CHECK(explain({.status = 502, .body = "<b>\nBad gateway\x1b[2J</b>"}) ==
          "502, not in Holdfast's form: <b> Bad gateway?[2J</b>");
    CHECK(explain({.status = 404, .body = {}}) == "404 with an empty body");
    CHECK(explain({.status = 400,
                   .body = R"({"code":"validation-failed","detail":"The request has 2 faults.",)"
                           R"("errors":[{"pointer":"/reason","detail":"is none"},)"
                           R"({"pointer":"/note","detail":"is too long"}]})"}) ==
          "400 validation-failed: The request has 2 faults. /reason is none; /note is too long");
}

TEST_CASE("a text that is cut off is not cut within a character")
{
    CHECK(printable("Tee", 10) == "Tee");
    CHECK(printable("Café au lait", 5) == "Café…");
    CHECK(printable("Café au lait", 4) == "Caf…");
}

TEST_CASE("a service URL gives host, port and the path before the API")
{
    auto const plain = parse_url("http://shop.example");
    CHECK(plain.host == "shop.example");
    CHECK(plain.port == 80);
    CHECK(plain.path.empty());
    CHECK(plain.authority() == "shop.example");

    auto const usual = parse_url("http://127.0.0.1:8080/");
    CHECK(usual.host == "127.0.0.1");
    CHECK(usual.port == 8080);
    CHECK(usual.path.empty());
    CHECK(usual.authority() == "127.0.0.1:8080");

    auto const behind_proxy = parse_url("http://shop.example:81/stock/holdfast/");
    CHECK(behind_proxy.port == 81);
    CHECK(behind_proxy.path == "/stock/holdfast");

    auto const v6 = parse_url("http://[2001:db8::7]:8080");
    CHECK(v6.host == "2001:db8::7");
    CHECK(v6.port == 8080);
    CHECK(v6.authority() == "[2001:db8::7]:8080");
    CHECK(parse_url("http://[::1]").authority() == "[::1]");
}

TEST_CASE("a URL that cannot be used is refused with the reason")
{
    CHECK(mentions(complaint_about_url(""), "--url"));
    CHECK(mentions(complaint_about_url("https://shop.example"), "https is not spoken"));
    CHECK(mentions(complaint_about_url("shop.example:8080"), "http://"));
    CHECK(mentions(complaint_about_url("http://"), "host is missing"));
    CHECK(mentions(complaint_about_url("http://:8080"), "host is missing"));
    CHECK(mentions(complaint_about_url("http://shop:"), "port"));
    CHECK(mentions(complaint_about_url("http://shop:0"), "port"));
    CHECK(mentions(complaint_about_url("http://shop:65536"), "port"));
    CHECK(mentions(complaint_about_url("http://shop:80x"), "port"));
    CHECK(mentions(complaint_about_url("http://::1"), "brackets"));
    CHECK(mentions(complaint_about_url("http://[::1"), "bracket"));
    CHECK(mentions(complaint_about_url("http://[shop]:80"), "IPv6"));
    CHECK(mentions(complaint_about_url("http://[::1]80"), "between"));
    CHECK(mentions(complaint_about_url("http://shop/?a=b"), "query"));
    CHECK(mentions(complaint_about_url("http://shop\r\nX: y"), "white space"));
    CHECK(mentions(complaint_about_url("http://me:secret@shop"), "password"));
    CHECK_FALSE(mentions(complaint_about_url("http://me:secret@shop"), "secret"));
}

TEST_CASE("the same delivery added twice is one import, and --again makes it another")
{
    import_options delivery;
    delivery.mode = import_mode::add;
    auto const key = import_key(delivery, "sku,quantity\nTEE-M,5\n");
    CHECK(import_key(delivery, "sku,quantity\nTEE-M,5\n") == key);
    CHECK(import_key(delivery, "sku,quantity\nTEE-M,6\n") != key);

    auto once_more = delivery;
    once_more.again = true;
    CHECK(import_key(once_more, "sku,quantity\nTEE-M,5\n") != key);
    CHECK(import_key(once_more, "sku,quantity\nTEE-M,5\n") !=
          import_key(once_more, "sku,quantity\nTEE-M,5\n"));
}

TEST_CASE("setting and counting levels are new imports each time")
{
    for (auto const mode : {import_mode::set, import_mode::count}) {
        import_options options;
        options.mode = mode;
        CHECK(import_key(options, "same") != import_key(options, "same"));
    }
}

TEST_CASE("an import tried again by hand goes under the key it was given, a dry run never does")
{
    import_options options;
    options.mode = import_mode::set;
    options.key_for_retry = "monday";
    CHECK(import_key(options, "x") == "monday");
    options.dry_run = true;
    CHECK(import_key(options, "x") != "monday");

    import_options rehearsal;
    rehearsal.mode = import_mode::add;
    rehearsal.dry_run = true;
    auto real = rehearsal;
    real.dry_run = false;
    CHECK(import_key(rehearsal, "x") != import_key(real, "x"));
}
