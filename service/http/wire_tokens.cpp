// SPDX-License-Identifier: Apache-2.0
// Tokens between messages and use cases.
#include "service/http/body_reader.hpp"
#include "service/http/json.hpp"
#include "service/http/request_key.hpp"
#include "service/http/wire.hpp"
#include "service/json_writer.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace holdfast::http {

namespace {

void write(json_writer& out, token_bearer const& who)
{
    out.member("sku", who.sku);
    out.member("customer", who.customer);
}

} // namespace

result<token_bearer> parse_token_request(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    body.require("sku");
    body.require("customer");
    auto name = body.text("sku", &sku::fault_of);
    auto customer = body.text("customer", short_text_rule);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return token_bearer{sku(std::move(name.value())), std::move(customer.value())};
}

std::string to_json(token_bearer const& who, fast_path::let_in const& in)
{
    json_writer out;
    out.begin_object();
    write(out, who);
    out.member("token", in.token);
    out.member("expires_at", in.expires_at);
    out.end_object();
    return out.take();
}

std::string to_json(token_bearer const& who, fast_path::told_to_wait const& place)
{
    json_writer out;
    out.begin_object();
    write(out, who);
    out.member("place", place.place);
    out.member("waiting", place.waiting);
    out.member("retry_after_seconds", place.retry_after.count());
    out.end_object();
    return out.take();
}

} // namespace holdfast::http
