// SPDX-License-Identifier: Apache-2.0
#include "service/cli/drill_report.hpp"

#include "service/cli/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string_view>

namespace holdfast::cli {

using nlohmann::json;

namespace {

constexpr std::size_t violations_shown_max = 10;

void print_audit(audit_answer const& audit, std::ostream& out)
{
    if (!audit.trouble.empty()) {
        out << fmt::format("  audit           not made: {}\n", audit.trouble);
        return;
    }
    out << fmt::format("  audit           {}, {} checked\n", audit.is_ok() ? "ok" : "NOT OK",
                       audit.document.value("checked", std::uint64_t{0}));
    auto const violations = audit.document.value("violations", json::array());
    for (std::size_t i = 0; i < std::min(violations.size(), violations_shown_max); ++i)
        out << "    " << printable(violations[i].dump(), failure_size_max) << '\n';
    if (violations.size() > violations_shown_max)
        out << fmt::format("    … and {} more\n", violations.size() - violations_shown_max);
}

} // namespace

std::uint32_t percentile(std::span<std::uint32_t const> sorted, unsigned per_mille)
{
    if (sorted.empty())
        return 0;
    auto const rank = (sorted.size() * per_mille + 999) / 1000;
    return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

std::vector<std::string> drill_report::faults() const
{
    std::vector<std::string> all;
    auto const add = [&all](bool is_fault, std::string_view sentence, auto number) {
        if (is_fault)
            all.push_back(fmt::format(fmt::runtime(sentence), number));
    };
    add(findings.oversold != 0, "{} units oversold", findings.oversold);
    add(findings.lost > 0, "{} units taken without an answer", findings.lost);
    add(findings.lost < 0, "{} acknowledged units gone", -findings.lost);
    add(findings.false_refusals != 0, "{} requests refused while units were free",
        findings.false_refusals);
    add(counts.failed != 0, "{} requests failed", counts.failed);
    if (given_back) {
        add(given_back->failed != 0, "{} holds could not be released", given_back->failed);
        add(leaked() > 0, "{} units did not come back", leaked());
        add(leaked() < 0, "{} units came back that were not there before", -leaked());
    }
    add(!audit.is_ok(), audit.trouble.empty() ? "the audit found violations" : "no audit", 0);
    return all;
}

json to_json(drill_options const& options, drill_report const& report)
{
    auto const& counts = report.counts;
    json document{
        {"sku", options.sku},
        {"location", options.location},
        {"quantity", options.quantity},
        {"clients", options.clients},
        {"rate", options.rate ? json(*options.rate) : json(nullptr)},
        {"requests", counts.requests},
        {"succeeded", counts.succeeded},
        {"queued", counts.queued},
        {"refused", counts.refused()},
        {"failed", counts.failed},
        {"retried", counts.retried},
        {"oversold", report.findings.oversold},
        {"lost", report.findings.lost},
        {"false_refusals", report.findings.false_refusals},
        {"available_before", report.before.level.available()},
        {"available_after", report.after.available()},
        {"p50_ms", report.latency_ms(500)},
        {"p90_ms", report.latency_ms(900)},
        {"p99_ms", report.latency_ms(990)},
        {"p999_ms", report.latency_ms(999)},
        {"max_ms", report.latency_ms(1000)},
        {"seconds", report.took_seconds},
        {"rps", report.per_second()},
        {"audit", report.audit.document},
        {"failures", report.failures},
        {"notes", report.notes},
        {"interrupted", report.was_interrupted},
        {"broken", report.faults()},
        {"ok", report.faults().empty()},
    };
    if (report.given_back) {
        document["released"] = report.given_back->released;
        document["release_failed"] = report.given_back->failed;
        document["leaked"] = report.leaked();
    }
    return document;
}

void print_text(drill_options const& options, drill_report const& report, std::ostream& out)
{
    auto const& counts = report.counts;
    auto const loop = options.rate ? fmt::format("{} due per second", *options.rate)
                                   : std::string{"each client waits for its answer"};
    out << fmt::format("Drill on {} at {}: {} requests for {} each, {} clients, {}, {:.2f} s\n\n",
                       options.sku, options.location, counts.requests, options.quantity,
                       options.clients, loop, report.took_seconds);
    auto const row = [&](std::string_view name, auto value) {
        out << fmt::format("  {:<15} {}\n", name, value);
    };
    row("succeeded", counts.succeeded);
    if (counts.queued > 0)
        row("queued first", counts.queued);
    row("refused", counts.refused());
    row("failed", counts.failed);
    row("retried", counts.retried);
    row("oversold", report.findings.oversold);
    row("lost", report.findings.lost);
    row("false refusals", report.findings.false_refusals);
    row("available", fmt::format("{} before, {} after", report.before.level.available(),
                                 report.after.available()));
    if (report.given_back)
        row("released", fmt::format("{}, {} failed; {} available again, {} missing",
                                    report.given_back->released, report.given_back->failed,
                                    report.given_back->level.available(), report.leaked()));
    row("latency in ms",
        fmt::format("p50 {:.2f}  p90 {:.2f}  p99 {:.2f}  p99.9 {:.2f}  max {:.2f}",
                    report.latency_ms(500), report.latency_ms(900), report.latency_ms(990),
                    report.latency_ms(999), report.latency_ms(1000)));
    row("per second", fmt::format("{:.0f}", report.per_second()));
    print_audit(report.audit, out);
    for (auto const& failure : report.failures)
        out << "  failed with: " << failure << '\n';
    for (auto const& note : report.notes)
        out << "  note: " << note << '\n';
    auto const faults = report.faults();
    out << (faults.empty() ? "\nPASSED: nothing oversold, nothing lost, nobody sent away in vain\n"
                           : fmt::format("\nNOT PASSED: {}\n", fmt::join(faults, ", ")));
}

} // namespace holdfast::cli
