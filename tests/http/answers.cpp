// SPDX-License-Identifier: Apache-2.0
#include "tests/http/answers.hpp"

#include "tests/support/shop.hpp"

#include <array>
#include <regex>

namespace holdfast::test {

namespace {

// What PostgreSQL, libpq, SOCI and C++ say about a fault, in lower case. None of it is a client's
// business.
constexpr std::array leaks{
    "sqlstate",    "error:",    "relation", "psql",        "libpq",
    "soci::",      "postgres",  "pg_",      "violates",    "constraint",
    "transaction", "deadlock",  "select ",  "insert into", "update ",
    "std::",       "exception", "terminat", "socket",      "syntax error at"};

std::string lowered(std::string text)
{
    for (auto& c : text)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return text;
}

// RFC 9110, section 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT".
bool is_date(std::string const& text)
{
    static std::regex const pattern(
        "(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \\d\\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) "
        "\\d{4} \\d\\d:\\d\\d:\\d\\d GMT");
    return std::regex_match(text, pattern);
}

std::string objection_to_problem(http_response const& answer)
{
    if (answer.header("content-type") != "application/problem+json")
        return "it has the type " + answer.header("content-type").value_or("of nothing");
    auto const problem = json::parse(answer.body, nullptr, false);
    if (!problem.is_object())
        return "it is no JSON object";
    for (auto const* const name : {"type", "title", "detail", "code", "request_id"})
        if (!problem.contains(name) || !problem.at(name).is_string() ||
            problem.at(name).get<std::string>().empty())
            return std::string("it has no ") + name;
    if (problem.value("status", json(nullptr)) != answer.status)
        return "its status is another one than the answer's";
    if (!problem.at("type").get<std::string>().ends_with(problem.at("code").get<std::string>()))
        return "its type does not go with its code";
    if (problem.at("request_id") != answer.header("x-request-id").value_or(""))
        return "its request_id is another one than X-Request-Id";
    bool const is_validation = problem.at("code") == "validation-failed";
    if (is_validation && problem.value("errors", json::array()).empty())
        return "it names no errors";
    auto const said = lowered(answer.body);
    for (auto const* const leak : leaks)
        if (said.find(leak) != std::string::npos)
            return std::string("it says \"") + leak + '"';
    return "";
}

} // namespace

std::string objection_to(http_response const& answer)
{
    if (answer.header("x-request-id").value_or("").empty())
        return "it has no X-Request-Id";
    if (!is_date(answer.header("date").value_or("")))
        return "it has no Date";
    return answer.status >= 400 ? objection_to_problem(answer) : "";
}

std::string verdict(http_response const& answer)
{
    auto const objection = objection_to(answer);
    return outcome(answer) + (objection.empty() ? "" : ", but " + objection + ": " + answer.body);
}

std::string verdict(std::optional<http_response> const& answer)
{
    return answer ? verdict(*answer) : "closed";
}

std::string books_of(database const& db)
{
    return db.session().value(
        "SELECT concat_ws(' ', (SELECT count(*) FROM item),"
        " (SELECT concat_ws(' ', count(*), sum(on_hand), sum(reserved), sum(version))"
        "    FROM stock_level),"
        " (SELECT count(*) FROM movement), (SELECT count(*) FROM reservation),"
        " (SELECT count(*) FROM reservation_line), (SELECT count(*) FROM idempotency_key))");
}

} // namespace holdfast::test
