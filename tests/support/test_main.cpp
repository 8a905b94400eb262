// SPDX-License-Identifier: Apache-2.0
// The main function of the test binaries that start services. A failed test shows what its
// services logged; a service that crashed or did not stop cleanly fails the run.
#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdio>
#include <ostream>

namespace {

class log_of_failures final : public doctest::IReporter {
public:
    explicit log_of_failures(doctest::ContextOptions const& options) : out_(*options.cout) {}

    void test_case_end(doctest::CurrentTestCaseStats const& stats) override
    {
        auto const logs = holdfast::test::service_process::take_ended_logs();
        if (stats.failure_flags != 0)
            out_ << logs << std::flush;
    }

    void report_query(doctest::QueryData const&) override {}
    void test_run_start() override {}
    void test_run_end(doctest::TestRunStats const&) override {}
    void test_case_start(doctest::TestCaseData const&) override {}
    void test_case_reenter(doctest::TestCaseData const&) override {}
    void test_case_exception(doctest::TestCaseException const&) override {}
    void subcase_start(doctest::SubcaseSignature const&) override {}
    void subcase_end() override {}
    void log_assert(doctest::AssertData const&) override {}
    void log_message(doctest::MessageData const&) override {}
    void test_case_skipped(doctest::TestCaseData const&) override {}

private:
    std::ostream& out_;
};

REGISTER_LISTENER("log_of_failures", 1, log_of_failures);

} // namespace

int main(int argc, char** argv)
{
    // A service that hangs up must be an error of one exchange, not the end of all tests.
    std::signal(SIGPIPE, SIG_IGN);

    doctest::Context context(argc, argv);
    if (context.shouldExit())
        return context.run();
    std::printf("seed: HOLDFAST_SEED=%llu\n",
                static_cast<unsigned long long>(holdfast::test::seed()));
    std::fflush(stdout);

    auto const status = context.run();
    auto const unclean = holdfast::test::service_process::unclean_exits();
    if (unclean != 0)
        std::printf("%d services crashed or did not stop cleanly\n", unclean);
    return status != 0 ? status : (unclean != 0 ? 1 : 0);
}
