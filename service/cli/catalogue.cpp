// SPDX-License-Identifier: Apache-2.0

#include "service/cli/catalogue.hpp"

#include "service/cli/client.hpp"
#include "service/cli/command_error.hpp"
#include "service/cli/keys.hpp"
#include "service/cli/progress.hpp"
#include "stock/csv.hpp"
#include "stock/percent.hpp"
#include "stock/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <vector>

namespace holdfast::cli {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// What the service takes; asking it with more would only cost the time to send it.
constexpr std::size_t file_size_max = 64U << 20U;
constexpr std::size_t import_answer_size_max = 1U << 30U;
constexpr std::chrono::seconds import_deadline{120};

// After a real import of thousands of rows the totals are what is looked for; a dry run shows
// every difference it is told.
constexpr std::size_t differences_shown_max = 50;
constexpr std::size_t errors_shown_max = 100;
constexpr std::size_t fault_size_max = 1000;

constexpr std::string_view mode_name(import_mode mode)
{
    switch (mode) {
    case import_mode::set: return "set";
    case import_mode::add: return "add";
    case import_mode::count: return "count";
    }
    return "";
}

std::string read_up_to_limit(std::istream& in, std::string_view name)
{
    std::string content;
    std::vector<char> piece(256U << 10U);
    while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
        content.append(piece.data(), static_cast<std::size_t>(in.gcount()));
        if (content.size() > file_size_max)
            throw command_error(fmt::format("{} is larger than the 64 MiB an import may have:"
                                            " split it into several files",
                                            name));
    }
    if (in.bad())
        throw command_error(fmt::format("{} could not be read to its end", name));
    return content;
}

std::string read_file(std::string const& name)
{
    if (name == "-")
        return read_up_to_limit(std::cin, "standard input");
    std::error_code unknown;
    if (fs::is_directory(name, unknown))
        throw command_error(name + " is a directory, not a CSV file");
    std::ifstream in(name, std::ios::binary);
    if (!in)
        throw command_error(fmt::format("cannot open {}: {}", name, std::strerror(errno)));
    return read_up_to_limit(in, name);
}

// An answer of the service in JSON; anything else means that something else answered.
json parsed(answer const& given)
{
    auto document = json::parse(given.body, nullptr, false);
    if (!document.is_object())
        throw command_error("the answer is not Holdfast's: " + explain(given));
    return document;
}

std::size_t width_of(std::string_view text)
{
    std::size_t width = 0;
    auto rest = text;
    while (auto const character = next_character(rest))
        width +=
            static_cast<std::size_t>(utf8proc_charwidth(static_cast<utf8proc_int32_t>(*character)));
    return rest.empty() ? width : text.size();
}

// Rows of text in columns as wide as their widest cell on a terminal; numbers stand to the right.
class text_table {
public:
    static constexpr std::size_t columns = 7;
    using row = std::array<std::string, columns>;

    void add(row cells)
    {
        for (std::size_t i = 0; i < columns; ++i)
            widths_[i] = std::max(widths_[i], width_of(cells[i]));
        rows_.push_back(std::move(cells));
    }

    void print(std::ostream& out) const
    {
        constexpr std::array to_the_right{true, false, false, true, false, true, false};
        for (auto const& cells : rows_) {
            std::string line;
            for (std::size_t i = 0; i < columns; ++i) {
                std::string const padding(widths_[i] - width_of(cells[i]), ' ');
                line += to_the_right[i] ? padding + cells[i] : cells[i] + padding;
                line += i == 3 || i == 4 ? " " : "  ";
            }
            line.erase(line.find_last_not_of(' ') + 1);
            out << line << '\n';
        }
    }

private:
    std::array<std::size_t, columns> widths_{};
    std::vector<row> rows_;
};

// "created", or what else there is to know: "20 short; name, on_sale".
std::string remarks_on(json const& difference)
{
    if (difference.at("created").get<bool>())
        return "created";
    auto const settings = difference.at("settings").get<std::vector<std::string>>();
    auto remarks = fmt::format("{}", fmt::join(settings, ", "));
    if (auto const missing = difference.at("short").get<std::int64_t>(); missing > 0)
        remarks = fmt::format("{} short{}{}", missing, settings.empty() ? "" : "; ", remarks);
    return remarks;
}

void print_differences(json const& report, std::size_t shown_max, std::ostream& out)
{
    auto const& differences = report.at("differences");
    if (differences.empty())
        return;
    text_table table;
    table.add({"row", "sku", "location", "before", "", "after", ""});
    auto const shown = std::min(differences.size(), shown_max);
    for (std::size_t i = 0; i < shown; ++i) {
        auto const& one = differences[i];
        table.add({one.at("row").dump(), one.at("sku").get<std::string>(),
                   one.at("location").get<std::string>(), one.at("on_hand_before").dump(), "→",
                   one.at("on_hand_after").dump(), remarks_on(one)});
    }
    table.print(out);
    auto const all =
        report.at("created").get<std::size_t>() + report.at("changed").get<std::size_t>();
    if (shown < all)
        out << fmt::format("… and {} more rows\n", all - shown);
    out << '\n';
}

// What was applied and undone is not there, whatever the numbers say.
std::string told_of_replay(import_options const& options, json const& undone_at)
{
    bool const may_add = options.mode == import_mode::add && !options.key_for_retry;
    if (undone_at.is_string())
        return fmt::format("This import was applied before and undone at {}; nothing was done"
                           " again. {} applies it anew.\n",
                           printable(undone_at.get<std::string>(), 40),
                           may_add ? "--again" : "Another key");
    return fmt::format("This import was already applied before; nothing was done again.{}\n",
                       may_add ? " --again adds the same delivery once more." : "");
}

void print_outcome(import_options const& options, answer const& given, std::ostream& out)
{
    auto const report = parsed(given);
    print_differences(report, options.dry_run ? SIZE_MAX : differences_shown_max, out);
    out << fmt::format("{} rows: {} created, {} changed, {} unchanged", report.at("rows").dump(),
                       report.at("created").dump(), report.at("changed").dump(),
                       report.at("unchanged").dump());
    out << (options.dry_run ? " (dry run: nothing was written)\n" : "\n");
    if (given.replayed)
        out << told_of_replay(options, report.value("undone_at", json()));
}

// FILE:17: quantity: must be a whole number
void print_faults(std::string_view file, answer const& given, std::ostream& errors)
{
    auto const document = json::parse(given.body, nullptr, false);
    auto const faults =
        document.is_object() ? document.value("errors", json::array()) : json::array();
    if (!faults.is_array() || faults.empty()) {
        errors << fmt::format("{}: {}\n", file, explain(given));
        return;
    }
    for (std::size_t i = 0; i < std::min(faults.size(), errors_shown_max); ++i) {
        auto const& fault = faults[i];
        auto const row = fault.value("row", std::uint64_t{0});
        auto const column = fault.value("column", "");
        auto const where = column.empty() ? fault.value("pointer", "") : column;
        auto const place =
            (row == 0 ? "" : fmt::format("{}: ", row)) + (where.empty() ? "" : where + ": ");
        errors << printable(fmt::format("{}:{}{}{}", file, row == 0 ? " " : "", place,
                                        fault.value("detail", "")),
                            fault_size_max)
               << '\n';
    }
    if (faults.size() > errors_shown_max)
        errors << fmt::format("… and {} more\n", faults.size() - errors_shown_max);
    errors << fmt::format("{}: nothing was imported: {}\n", file, document.value("detail", ""));
}

// Answers that say something about the file, and not about the way to the service.
bool is_about_the_file(int status)
{
    return status == 400 || status == 404 || status == 409 || status == 422;
}

audience audience_of(import_options const& options, std::ostream const& errors)
{
    return is_terminal(errors) && !options.json ? audience::terminal : audience::nobody;
}

// CSV that goes to the same terminal tells by itself how far it has come.
audience audience_of(export_options const& options, std::ostream const& out,
                     std::ostream const& errors)
{
    auto const is_seen = is_terminal(errors) && (options.output || !is_terminal(out));
    return is_seen ? audience::terminal : audience::nobody;
}

// The service says nothing while it works; that it does, and for how long, is all there is to tell.
class import_progress {
public:
    import_progress(import_options const& options, std::size_t size, std::ostream& errors)
        : line_(errors, audience_of(options, errors)), size_(size),
          doing_(options.dry_run ? "comparing" : "applying")
    {}

    void tell(std::size_t sent)
    {
        if (sent < size_)
            sent_at_ = progress::clock::now();
        if (!line_.is_due())
            return;
        auto const waited = progress::clock::now() - sent_at_;
        line_.show(
            sent < size_
                ? "import  " + transfer_text(sent, size_)
                : fmt::format("import  {}, {} s", doing_,
                              std::chrono::duration_cast<std::chrono::seconds>(waited).count()));
    }

private:
    progress line_;
    std::size_t size_;
    std::string_view doing_;
    progress::clock::time_point sent_at_ = progress::clock::now();
};

answer send_import(client& service, import_options const& options, request wanted,
                   std::ostream& errors)
{
    import_progress shown{options, wanted.body.size(), errors};
    wanted.on_progress = [&shown](std::size_t sent) { shown.tell(sent); };
    return service.send_patiently(wanted);
}

int import_or_throw(import_options const& options, std::ostream& out, std::ostream& errors)
{
    require_api_key(options.key);
    client service{parse_url(options.url), options.key};
    auto const content = read_file(options.file);
    auto const key = import_key(options, content);

    service.connect();
    answer given;
    try {
        request const wanted{
            .method = "POST",
            .target = fmt::format("/v1/imports?mode={}&dry_run={}", mode_name(options.mode),
                                  options.dry_run),
            .body = content,
            .content_type = "text/csv",
            .idempotency_key = key,
            .deadline = import_deadline,
            .answer_size_max = import_answer_size_max,
        };
        given = send_import(service, options, wanted, errors);
    } catch (no_answer const& e) {
        if (options.dry_run)
            throw;
        throw no_answer(
            fmt::format("{}. If it did arrive it may have been applied; running the same"
                        " command with --key-for-retry {} is safe either way",
                        e.what(), key));
    }

    auto const is_refused = is_about_the_file(given.status);
    if (given.status != 200 && given.status != 201 && !is_refused)
        require_status(given, 200, "import");
    if (options.json) {
        auto document = parsed(given);
        document["replayed"] = given.replayed;
        out << document.dump() << '\n';
    } else if (is_refused) {
        print_faults(options.file == "-" ? "<stdin>" : options.file, given, errors);
    } else {
        print_outcome(options, given, out);
    }
    return is_refused ? exit_broken : exit_ok;
}

// A file that is only there once it is complete: written beside its place, then renamed into it.
class whole_file {
public:
    explicit whole_file(std::string const& name)
        : target_(fs::weakly_canonical(name)), draft_(random_key(target_.string()))
    {
        if (fs::exists(target_) && !fs::is_regular_file(target_))
            throw command_error(fmt::format("{} is not a file that could be replaced", name));
        descriptor_ = ::open(draft_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor_ < 0)
            throw command_error(fmt::format("cannot write {}: {}", name, std::strerror(errno)));
    }

    ~whole_file()
    {
        if (descriptor_ >= 0) {
            ::close(descriptor_);
            ::unlink(draft_.c_str());
        }
    }

    whole_file(whole_file const&) = delete;
    whole_file& operator=(whole_file const&) = delete;

    void write(std::string_view text)
    {
        while (!text.empty()) {
            auto const written = ::write(descriptor_, text.data(), text.size());
            if (written < 0 && errno == EINTR)
                continue;
            require(written >= 0);
            text.remove_prefix(static_cast<std::size_t>(written));
        }
    }

    void finish()
    {
        require(::fsync(descriptor_) == 0);
        require(::rename(draft_.c_str(), target_.c_str()) == 0);
        ::close(descriptor_);
        descriptor_ = -1;
    }

private:
    void require(bool succeeded) const
    {
        if (!succeeded)
            throw command_error(
                fmt::format("cannot write {}: {}", target_.string(), std::strerror(errno)));
    }

    fs::path target_;
    std::string draft_;
    int descriptor_ = -1;
};

std::string text_of(json const& value)
{
    return value.is_string() ? value.get<std::string>()
           : value.is_null() ? std::string{}
                             : value.dump();
}

void write_item(json const& item, csv::writer& rows)
{
    auto const write = [&](std::string_view quantity, std::string_view location) {
        rows.row({item.at("sku").get<std::string>(), quantity, location, text_of(item.at("name")),
                  text_of(item.at("max_per_customer")), text_of(item.at("low_stock_at")),
                  text_of(item.at("on_sale"))});
    };
    auto const& levels = item.at("levels");
    if (levels.empty())
        write("0", "main");
    for (auto const& level : levels)
        write(level.at("on_hand").dump(), level.at("location").get<std::string>());
}

template <class Write>
void export_or_throw(client& service, progress& shown, Write const& write)
{
    std::size_t items = 0;
    csv::writer rows;
    rows.row(
        {"sku", "quantity", "location", "name", "max_per_customer", "low_stock_at", "on_sale"});
    std::string cursor;
    for (;;) {
        auto const given = service.send_patiently(
            {.target = "/v1/stock?limit=200" +
                       (cursor.empty() ? "" : "&cursor=" + percent_encoded(cursor))});
        require_status(given, 200, "read the catalogue");
        auto const page = parsed(given);
        for (auto const& item : page.at("data"))
            write_item(item, rows);
        write(rows.take());
        items += page.at("data").size();
        if (shown.is_due())
            shown.show(fmt::format("export  {} items", items));

        auto const next = text_of(page.at("next_cursor"));
        if (next.empty())
            return;
        if (next == cursor)
            throw command_error(
                "the service gives the same page again and again: the export has no end");
        cursor = next;
    }
}

} // namespace

std::string import_key(import_options const& options, std::string_view content)
{
    // A dry run changes nothing; were it sent with the key of the real import, that one would be
    // another request under a used key.
    if (options.dry_run)
        return random_key("import-dry");
    if (options.key_for_retry)
        return *options.key_for_retry;
    auto const prefix = fmt::format("import-{}", mode_name(options.mode));
    if (options.mode == import_mode::add && !options.again)
        return content_key(prefix, content);
    return random_key(prefix);
}

int import_file(import_options const& options, std::ostream& out, std::ostream& errors)
{
    try {
        return import_or_throw(options, out, errors);
    } catch (command_error const& e) {
        errors << "holdfast import: " << e.what() << '\n';
    } catch (json::exception const& e) {
        errors << "holdfast import: the answer is not Holdfast's: " << e.what() << '\n';
    }
    return exit_unusable;
}

int export_catalogue(export_options const& options, std::ostream& out, std::ostream& errors)
{
    try {
        require_api_key(options.key);
        client service{parse_url(options.url), options.key};
        progress shown{errors, audience_of(options, out, errors)};
        if (options.output) {
            whole_file file{*options.output};
            export_or_throw(service, shown, [&](std::string const& text) { file.write(text); });
            file.finish();
        } else {
            export_or_throw(service, shown, [&](std::string const& text) { out << text; });
            if (!out.flush())
                throw command_error("the output could not be written to its end");
        }
        return exit_ok;
    } catch (command_error const& e) {
        errors << "holdfast export: " << e.what() << '\n';
    } catch (json::exception const& e) {
        errors << "holdfast export: the answer is not Holdfast's: " << e.what() << '\n';
    } catch (fs::filesystem_error const& e) {
        errors << "holdfast export: " << e.what() << '\n';
    }
    return exit_unusable;
}

} // namespace holdfast::cli
