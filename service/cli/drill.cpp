// SPDX-License-Identifier: Apache-2.0

#include "service/cli/drill.hpp"

#include "service/cli/client.hpp"
#include "service/cli/command_error.hpp"
#include "service/cli/drill_report.hpp"
#include "service/cli/keys.hpp"
#include "service/cli/progress.hpp"
#include "service/cli/rush.hpp"
#include "stock/percent.hpp"
#include "stock/sku.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <thread>

namespace holdfast::cli {

using nlohmann::json;
using clock = std::chrono::steady_clock;
using std::chrono::seconds;

namespace {

constexpr std::size_t failures_kept_max = 3;
constexpr seconds audit_deadline{300};
constexpr seconds queue_wait_max{60};
constexpr auto queue_look = std::chrono::milliseconds(20);

// Rewrites one line on a terminal; elsewhere, in a log say, adds one line a second.
class progress_line {
public:
    explicit progress_line(std::ostream& to, std::string verb)
        : to_(to), live_(to), verb_(std::move(verb)), is_live_(is_terminal(to))
    {}

    void show(std::uint64_t done, std::uint64_t total, std::string_view details)
    {
        auto const now = clock::now();
        auto const since = std::chrono::duration<double>(now - shown_at_).count();
        if (!is_live_ && since < 0.99)
            return;
        auto const rate = static_cast<double>(done - done_) / since;
        auto const line = fmt::format("{} {}/{}{}  {:.0f}/s", verb_, done, total, details, rate);
        if (is_live_)
            live_.show(line);
        else
            to_ << line << std::endl;
        shown_at_ = now;
        done_ = done;
    }

    void finish() { live_.clear(); }

private:
    std::ostream& to_;
    terminal_line live_;
    std::string verb_;
    bool is_live_;
    clock::time_point shown_at_ = clock::now();
    std::uint64_t done_ = 0;
};

json parsed(answer const& given, std::string_view what)
{
    auto document = json::parse(given.body, nullptr, false);
    if (!document.is_object())
        throw command_error(fmt::format("{} is not in Holdfast's form: {}", what, explain(given)));
    return document;
}

request stock_request(drill_options const& options)
{
    return {.target = "/v1/stock/" + percent_encoded(options.sku)};
}

drill_item read_item(answer const& given, drill_options const& options)
{
    if (given.status == 404 && problem_code(given.body) == "unknown-sku")
        throw command_error(fmt::format("the service has no SKU \"{}\"", options.sku));
    require_status(given, 200, "read the stock");
    auto const document = parsed(given, "the stock");
    for (auto const& level : document.at("levels")) {
        if (level.at("location") != options.location)
            continue;
        drill_item item{.level = {.on_hand = level.at("on_hand"),
                                  .reserved = level.at("reserved"),
                                  .version = level.at("version")},
                        .max_per_customer = std::nullopt};
        if (auto const& limit = document.at("max_per_customer"); !limit.is_null())
            item.max_per_customer = limit.get<std::int64_t>();
        return item;
    }
    throw command_error(
        fmt::format("\"{}\" has no level at location {}", options.sku, options.location));
}

std::string request_head(drill_options const& options, base_url const& where)
{
    return fmt::format(" HTTP/1.1\r\nHost: {}\r\nUser-Agent: holdfast-drill\r\n"
                       "Authorization: Bearer {}\r\n",
                       where.authority(), options.key);
}

// Writes reservation requests. Everything that is the same for all of them is put together once.
class reservation_writer {
public:
    reservation_writer(drill_options const& options, base_url const& where, bool needs_customer)
        : run_(random_key("drill")), needs_customer_(needs_customer)
    {
        head_ = fmt::format("POST {}/v1/reservations{}Content-Type: application/json\r\n"
                            "Idempotency-Key: {}-",
                            where.path, request_head(options, where), run_);
        json const line{
            {"sku", options.sku}, {"quantity", options.quantity}, {"location", options.location}};
        body_ = fmt::format(R"({{"lines":[{}],"reference":"{}","ttl_seconds":{})", line.dump(),
                            run_, options.ttl.count());
    }

    void write(std::uint64_t index, std::string& to) const
    {
        // A limited item wants a customer, and one customer for all would be refused for that
        // reason.
        auto const customer =
            needs_customer_ ? fmt::format(R"(,"customer":"{}-{}")", run_, index) : std::string{};
        fmt::format_to(std::back_inserter(to), "{}{}\r\nContent-Length: {}\r\n\r\n{}{}}}", head_,
                       index, body_.size() + customer.size() + 1, body_, customer);
    }

private:
    std::string run_;
    bool needs_customer_;
    std::string head_;
    std::string body_;
};

void keep_failure(drill_report& report, settled_request const& one)
{
    ++report.counts.failed;
    if (report.failures.size() >= failures_kept_max)
        return;
    report.failures.push_back(
        one.status == 0 ? fmt::format("no answer: {}", one.trouble)
                        : printable(fmt::format("{} {}", one.status, one.body), failure_size_max));
}

next_step count_reservation(drill_report& report, settled_request const& one, bool keep_ids)
{
    auto& counts = report.counts;
    ++counts.requests;
    if (one.status != 0)
        report.latencies_us.push_back(one.latency_us);
    if (one.status == 401 || one.status == 403) {
        keep_failure(report, one);
        report.stopped_by = explain({.status = one.status, .body = std::string{one.body}});
        return next_step::stop;
    }
    if (one.status == 201 || one.status == 202) {
        ++counts.succeeded;
        counts.queued += one.status == 202 ? 1 : 0;
        if (keep_ids)
            report.held.emplace_back(one.location.substr(one.location.rfind('/') + 1));
        return next_step::go_on;
    }
    auto const code = one.status == 409 ? problem_code(one.body) : std::string_view{};
    if (code == "insufficient-stock")
        ++counts.sold_out;
    else if (code == "customer-limit")
        ++counts.customer_limit;
    else
        keep_failure(report, one);
    return next_step::go_on;
}

void fire(drill_options const& options, base_url const& where, drill_report& report,
          std::ostream& progress)
{
    reservation_writer const writer{options, where, report.before.max_per_customer.has_value()};
    progress_line line{progress, "drill"};
    auto const show = [&] {
        auto const& counts = report.counts;
        line.show(counts.requests, options.requests,
                  fmt::format("  succeeded {}  refused {}  failed {}", counts.succeeded,
                              counts.refused(), counts.failed));
    };
    report.latencies_us.reserve(options.requests);
    auto const outcome = run_rush({
        .where = where,
        .requests = options.requests,
        .clients = options.clients,
        .rate = options.rate,
        .retry = {},
        .write_request = [&](std::uint64_t index, std::string& to) { writer.write(index, to); },
        .on_settled =
            [&](settled_request const& one) {
                return count_reservation(report, one, options.release);
            },
        .on_pulse = show,
    });
    line.finish();
    report.counts.retried = outcome.retried;
    report.took_seconds = std::chrono::duration<double>(outcome.took).count();
    report.was_interrupted = outcome.was_interrupted;
    report.was_given_up = outcome.was_given_up;
    std::sort(report.latencies_us.begin(), report.latencies_us.end());
}

give_back release_all(drill_options const& options, base_url const& where, drill_report& report,
                      std::ostream& progress)
{
    give_back result;
    auto const head = request_head(options, where);
    progress_line line{progress, "release"};
    auto const outcome = run_rush({
        .where = where,
        .requests = report.held.size(),
        .clients = options.clients,
        .rate = std::nullopt,
        .retry = {},
        .write_request =
            [&](std::uint64_t index, std::string& to) {
                fmt::format_to(std::back_inserter(to),
                               "POST {}/v1/reservations/{}/release{}Content-Length: 0\r\n\r\n",
                               where.path, report.held[index], head);
            },
        .on_settled =
            [&](settled_request const& one) {
                if (one.status == 200)
                    ++result.released;
                else if (++result.failed <= failures_kept_max)
                    report.notes.push_back(printable(
                        fmt::format("a release failed: {} {}{}", one.status, one.trouble, one.body),
                        failure_size_max));
                return next_step::go_on;
            },
        .on_pulse = [&] { line.show(result.released + result.failed, report.held.size(), ""); },
    });
    line.finish();
    result.failed += report.held.size() - outcome.settled;
    return result;
}

audit_answer read_audit(client& service)
{
    try {
        auto const given =
            service.send_patiently({.target = "/v1/audit", .deadline = audit_deadline});
        require_status(given, 200, "read the audit");
        return {.document = parsed(given, "the audit"), .trouble = {}};
    } catch (command_error const& e) {
        return {.document = nullptr, .trouble = e.what()};
    }
}

void add_notes(drill_options const& options, drill_report& report)
{
    auto const& found = report.findings;
    if (!found.is_clean() && found.other_movements > 0)
        report.notes.push_back(fmt::format(
            "{} movements of the level answer no request of this drill: other traffic on the SKU "
            "shows as oversold, lost or falsely refused, so rehearse on a SKU of its own",
            found.other_movements));
    if (report.counts.failed > 0 && found.lost > 0)
        report.notes.emplace_back(
            "a failed request may have taken its units all the same, which then"
            " count as lost until its hold runs out");
    if (report.took_seconds >= static_cast<double>(options.ttl.count()))
        report.notes.push_back(
            fmt::format("the drill outlasted its holds of {} s, so units came back and"
                        " were taken again: this verdict means little, raise the ttl",
                        options.ttl.count()));
    if (report.was_given_up)
        report.notes.push_back(fmt::format("given up after {} of {} requests: the service answered "
                                           "none of those waiting for a minute",
                                           report.counts.requests, options.requests));
    if (report.was_interrupted)
        report.notes.push_back(fmt::format("interrupted after {} of {} requests",
                                           report.counts.requests, options.requests));
}

// What was accepted is committed a moment later. What never is shows as gone.
void wait_for_queue(drill_options const& options, client& service)
{
    auto const deadline = clock::now() + queue_wait_max;
    request const look{.target = "/v1/fast-path/" + percent_encoded(options.sku)};
    while (clock::now() < deadline) {
        auto const given = service.send_patiently(look);
        auto const queue =
            given.status == 200 ? parsed(given, "the fast path").at("queue") : json();
        if (queue.is_null() || queue.at("length") == 0)
            return;
        std::this_thread::sleep_for(queue_look);
    }
}

// The service may have been restarted in the middle of the rush, so everything here waits for it.
void look_afterwards(drill_options const& options, client& service, drill_report& report,
                     std::ostream& progress)
{
    auto const level = [&] {
        return read_item(service.send_patiently(stock_request(options)), options).level;
    };
    if (report.counts.queued > 0)
        wait_for_queue(options, service);
    report.after = level();
    report.findings = judge(report.counts, options.quantity, report.before.level, report.after);
    if (options.release) {
        report.given_back = release_all(options, parse_url(options.url), report, progress);
        report.given_back->level = level();
    }
}

int drill_or_throw(drill_options const& options, std::ostream& out, std::ostream& progress)
{
    require_valid(options);
    auto const where = parse_url(options.url);
    client service{where, options.key};
    drill_report report;
    report.before = read_item(service.send(stock_request(options)), options);
    require_winnable(options, report.before);

    fire(options, where, report, progress);
    if (!report.stopped_by.empty())
        throw command_error("this API key may not reserve: the service answered " +
                            report.stopped_by);

    try {
        look_afterwards(options, service, report, progress);
    } catch (no_answer const& e) {
        throw no_answer(
            fmt::format("{}; until then {} of {} requests had come to an end: {} "
                        "succeeded, {} refused, {} failed. Without the level nothing is "
                        "proven",
                        e.what(), report.counts.requests, options.requests, report.counts.succeeded,
                        report.counts.refused(), report.counts.failed));
    }
    report.audit = read_audit(service);
    add_notes(options, report);

    // The bodies of failures are whatever came, in whatever encoding.
    if (options.json)
        out << to_json(options, report).dump(-1, ' ', false, json::error_handler_t::replace)
            << '\n';
    else
        print_text(options, report, out);
    if (!report.faults().empty())
        return exit_broken;
    return report.was_interrupted ? exit_interrupted : exit_ok;
}

} // namespace

std::int64_t drill_level::available() const
{
    return std::max<std::int64_t>(0, on_hand - reserved);
}

bool drill_findings::is_clean() const
{
    return oversold == 0 && lost == 0 && false_refusals == 0;
}

drill_findings judge(drill_counts const& counts, std::int64_t quantity, drill_level const& before,
                     drill_level const& after)
{
    auto const acknowledged = static_cast<std::int64_t>(counts.succeeded) * quantity;
    auto const still_served = static_cast<std::uint64_t>(after.available() / quantity);
    return {
        .oversold = std::max<std::int64_t>(0, acknowledged - before.available()),
        .lost = (after.reserved - before.reserved) - acknowledged,
        .false_refusals = std::min(counts.sold_out, still_served),
        .other_movements =
            (after.version - before.version) - static_cast<std::int64_t>(counts.succeeded),
    };
}

void require_valid(drill_options const& options)
{
    auto const require = [](bool holds, std::string_view sentence) {
        if (!holds)
            throw command_error(std::string{sentence});
    };
    require_api_key(options.key);
    if (auto const fault = sku::fault_of(options.sku))
        throw command_error(fmt::format("--sku: {}", *fault));
    if (auto const fault = location::fault_of(options.location))
        throw command_error(fmt::format("--location: {}", *fault));
    require(options.requests >= 1 && options.requests <= 10'000'000,
            "--requests must be from 1 to 10000000");
    require(options.clients >= 1 && options.clients <= 10'000, "--clients must be from 1 to 10000");
    require(options.quantity >= 1 && options.quantity <= 1'000'000'000,
            "--quantity must be from 1 to 1000000000");
    require(!options.rate || (*options.rate >= 0.01 && *options.rate <= 1'000'000),
            "--rate must be from 0.01 to 1000000 requests per second");
    require(options.ttl >= seconds{1} && options.ttl <= seconds{604'800},
            "--ttl must be from 1 to 604800 seconds");
}

void require_winnable(drill_options const& options, drill_item const& found)
{
    auto const wanted =
        fmt::format("nothing would be proven: each request wants {} of \"{}\", and ",
                    options.quantity, options.sku);
    if (found.level.available() < options.quantity)
        throw command_error(fmt::format("{}only {} are available at {}; put some there first",
                                        wanted, found.level.available(), options.location));
    if (found.max_per_customer && *found.max_per_customer < options.quantity)
        throw command_error(
            fmt::format("{}a customer may have {}", wanted, *found.max_per_customer));
}

int drill(drill_options const& options, std::ostream& out, std::ostream& progress)
{
    try {
        return drill_or_throw(options, out, progress);
    } catch (command_error const& e) {
        progress << "holdfast drill: " << e.what() << '\n';
    } catch (json::exception const& e) {
        progress << "holdfast drill: the answer is not Holdfast's: " << e.what() << '\n';
    }
    return exit_unusable;
}

} // namespace holdfast::cli
