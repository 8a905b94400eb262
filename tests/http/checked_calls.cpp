// SPDX-License-Identifier: Apache-2.0
#include "tests/http/checked_calls.hpp"

#include <doctest/doctest.h>

namespace holdfast::test {

http_response checked_calls::operator()(std::string const& path, http_request request)
{
    CAPTURE(request.method);
    CAPTURE(request.target);
    if (request.method != "GET")
        request.headers.emplace_back("Idempotency-Key", unique("key"));
    auto answer = by_ != nullptr ? by_->send(request) : front_.http().send(request);
    CAPTURE(answer.status);
    CAPTURE(answer.body);
    auto method = request.method;
    for (auto& c : method)
        c = static_cast<char>(c - 'A' + 'a');
    auto const& operation = reader_.document().at("paths").at(path).at(method);
    auto const& responses = operation.at("responses");
    auto const status = std::to_string(answer.status);
    REQUIRE(responses.contains(status));
    if (answer.status == 204) { // has no body
        CHECK_FALSE(reader_.resolved(responses.at(status)).contains("content"));
        succeeded_.insert(operation.at("operationId").get<std::string>());
        return answer;
    }
    auto const& content = reader_.resolved(responses.at(status)).at("content");
    auto const type = answer.header("content-type").value_or("");
    auto const plain_type = type.substr(0, type.find(';'));
    REQUIRE(content.contains(plain_type));
    if (plain_type.ends_with("json"))
        CHECK(reader_.misfit(content.at(plain_type).at("schema"), answer.json()) == "");
    if (answer.status < 400)
        succeeded_.insert(operation.at("operationId").get<std::string>());
    else
        refusals_.insert(answer.json().at("code").get<std::string>());
    return answer;
}

} // namespace holdfast::test
