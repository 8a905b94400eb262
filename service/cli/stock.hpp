// SPDX-License-Identifier: Apache-2.0
// `holdfast stock` and `holdfast reservation`: what a clerk looks at and does, over HTTP. Each
// returns 0 when it is done, 1 when the service refuses it, 2 when the service cannot be asked.

#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace holdfast::cli {

struct clerk_options {
    std::string url;
    std::string key;
    bool json = false;
};

int show_stock(clerk_options const&, std::string const& sku, std::ostream& out,
               std::ostream& errors);
int explain_stock(clerk_options const&, std::string const& sku, std::ostream& out,
                  std::ostream& errors);

struct stock_list_options {
    std::string part; // of SKU or name
    bool low = false;
    std::int64_t count = 50; // at most
};

int list_stock(clerk_options const&, stock_list_options const&, std::ostream& out,
               std::ostream& errors);

struct adjust_options {
    std::string sku;
    std::string location = "main";
    std::optional<std::int64_t> delta; // exactly one of delta and set_to
    std::optional<std::int64_t> set_to;
    std::optional<std::int64_t> expect_on_hand;
    std::string reason;
    std::string note;
    std::string reference;
    bool allow_short = false;
};

int adjust_stock(clerk_options const&, adjust_options const&, std::ostream& out,
                 std::ostream& errors);

int show_reservation(clerk_options const&, std::string const& id, std::ostream& out,
                     std::ostream& errors);

// A reason may be left out, and is not empty.
int release_reservation(clerk_options const&, std::string const& id,
                        std::optional<std::string> const& reason, std::ostream& out,
                        std::ostream& errors);

} // namespace holdfast::cli
