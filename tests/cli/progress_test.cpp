// SPDX-License-Identifier: Apache-2.0
// A long import tells a person how far it is, and nobody else.
#include "tests/cli/command.hpp"
#include "tests/support/database.hpp"
#include "tests/support/program.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

bool has(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

// A command line on a terminal of its own, which `script` makes and writes down.
class screen {
public:
    screen(service_process const& service, std::string const& line)
        : record_(place_.path() / "record"),
          typed_({.name = "script",
                  .packages = "bsdutils",
                  .arguments = {"-qefc", binary_path() + ' ' + line, record_.string()},
                  .environment = {{"HOLDFAST_URL", service.url()},
                                  {"HOLDFAST_KEY", service.admin_key()},
                                  {"TERM", "xterm"}}})
    {}

    [[nodiscard]] std::string text() const { return text_of_file(record_); }
    int wait() { return typed_.wait(); }

private:
    temporary_directory place_;
    std::filesystem::path record_;
    program typed_;
};

} // namespace

TEST_CASE("an import that has to wait says so on a terminal, and nowhere else")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    temporary_directory const place;
    auto const file = place.file("count.csv", "sku,quantity\n" + sku + ",7\n");

    auto in_between = db.session();
    in_between.run("BEGIN");
    in_between.run("SELECT 1 FROM stock_level WHERE sku = $1 FOR UPDATE", {sku});
    screen waiting(service, "import " + file + " --mode count");
    screen for_a_script(service, "import " + file + " --mode count --json");
    CHECK(eventually(20s, [&] { return has(waiting.text(), "import  applying, 1 s"); }));
    in_between.run("COMMIT");

    CHECK(waiting.wait() == 0);
    CHECK(for_a_script.wait() == 0);
    // The line is taken back before the outcome is printed.
    CHECK(has(waiting.text(), "\r\x1b[K"));
    CHECK(has(waiting.text(), "1 rows: "));
    CHECK_FALSE(has(for_a_script.text(), "applying"));
    CHECK_FALSE(has(for_a_script.text(), "\x1b"));
    CHECK(front.level_of(sku).on_hand == 7);
}

} // namespace holdfast::test
