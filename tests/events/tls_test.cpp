// SPDX-License-Identifier: Apache-2.0
// Webhooks over https: whose certificate is believed, and for which name.
#include "tests/support/database.hpp"
#include "tests/support/hooks.hpp"
#include "tests/support/program.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

// curl's words for a certificate that proves nothing.
constexpr char unproven[] = "SSL peer certificate or SSH remote key was not OK";

// An HTTPS server with a certificate for the name localhost, signed by nobody but itself.
class tls_receiver {
public:
    tls_receiver()
    {
        program making(
            {.name = "openssl",
             .packages = "openssl",
             .arguments = {"req", "-x509", "-newkey", "ec", "-pkeyopt",
                           "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                           "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                           file("key.pem"), "-out", certificate()}});
        auto const status = making.wait();
        INFO(making.err());
        REQUIRE(status == 0);
        serving_ = std::make_unique<program>(
            program_options{.name = "python3",
                            .packages = "python3",
                            .arguments = {HOLDFAST_SOURCE_DIR "/tests/support/https_receiver.py",
                                          certificate(), file("key.pem")}});
        auto const is_settled = [&] {
            return serving_->out().find('\n') != std::string::npos || !serving_->is_running();
        };
        CHECK(eventually(30s, is_settled));
        auto const said = serving_->out();
        std::from_chars(said.data(), said.data() + said.size(), port_);
        INFO(serving_->err());
        REQUIRE(port_ != 0);
    }

    [[nodiscard]] std::string certificate() const { return file("certificate.pem"); }

    [[nodiscard]] std::string url(std::string const& host) const
    {
        return "https://" + host + ':' + std::to_string(port_) + "/hook";
    }

    // The webhook-id of each call it answered, each with a line end.
    [[nodiscard]] std::string calls() const
    {
        auto const said = serving_->out();
        return said.substr(said.find('\n') + 1);
    }

private:
    [[nodiscard]] std::string file(std::string const& name) const
    {
        return (place_.path() / name).string();
    }

    temporary_directory place_;
    std::unique_ptr<program> serving_;
    std::uint16_t port_ = 0;
};

service_options with_one_try(database const& db, std::vector<std::string> const& more = {})
{
    std::vector<std::string> arguments{"--webhook-allow", "127.0.0.0/8,::1/128",
                                       "--webhook-retry-seconds", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return {.database_url = db.connection_string(), .arguments = std::move(arguments)};
}

// What became of a message of test to this address.
json delivery_to(shop& front, std::string const& url)
{
    auto const hook = make_hook(front, {{"url", url}});
    REQUIRE(outcome(front.post(path_of(hook) + "/test", json::object())) == "202");
    REQUIRE(eventually(30s, [&] { return deliveries_of(front, hook, "pending").empty(); }));
    return deliveries_of(front, hook).at(0);
}

} // namespace

TEST_CASE("a certificate that no trusted authority stands for is not believed")
{
    tls_receiver const office;
    database const db;
    service_process const service(with_one_try(db));
    shop front(service);
    auto const sent = delivery_to(front, office.url("localhost"));
    CHECK(sent.at("state") == "dead");
    CHECK(sent.at("last_fault") == unproven);
    CHECK(sent.at("last_status").is_null());
    CHECK(office.calls() == "");
}

TEST_CASE("an authority of one's own is trusted, and only for the name in the certificate")
{
    tls_receiver const office;
    database const db;
    service_process const service(with_one_try(db, {"--webhook-ca-file", office.certificate()}));
    shop front(service);
    auto const sent = delivery_to(front, office.url("localhost"));
    CHECK(sent.at("state") == "delivered");
    CHECK(sent.at("last_fault").is_null());
    CHECK(sent.at("last_status") == 204);
    CHECK(office.calls() == sent.at("id").get<std::string>() + '\n');

    // The same server and the same authority; what differs is the name it is called by.
    auto const elsewhere = delivery_to(front, office.url("127.0.0.1"));
    CHECK(elsewhere.at("state") == "dead");
    CHECK(elsewhere.at("last_fault") == unproven);
    CHECK(office.calls() == sent.at("id").get<std::string>() + '\n');
}

} // namespace holdfast::test
