// SPDX-License-Identifier: Apache-2.0
#include "service/event_json.hpp"

#include <algorithm>

namespace holdfast {

void write(json_writer& out, event const& e)
{
    out.begin_object();
    out.member("id", e.id);
    out.member("type", to_string(e.type));
    out.member("occurred_at", e.occurred_at);
    out.member("sku", e.at.sku);
    out.member("location", e.at.location);
    out.member("version", e.after.version);
    out.member("on_hand", e.after.on_hand);
    out.member("reserved", e.after.reserved);
    out.member("available", std::max<units>(0, e.after.available()));
    out.member("quantity", e.quantity);
    out.member("reservation_id", e.reservation_id);
    out.member("reference", e.reference);
    out.member("customer", e.customer);
    out.end_object();
}

std::string webhook_body(event const& e)
{
    json_writer out;
    out.begin_object();
    out.member("type", to_string(e.type));
    out.member("timestamp", e.occurred_at);
    out.key("data");
    write(out, e);
    out.end_object();
    return out.take();
}

} // namespace holdfast
