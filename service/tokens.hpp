// SPDX-License-Identifier: Apache-2.0
// Tokens that let a customer buy an item: signed, so that nobody has to keep them, and bound to
// customer and item. What makes them good once is a row that PostgreSQL writes when one is spent.
#pragma once

#include "db/link.hpp"
#include "db/transaction.hpp"
#include "service/secrets.hpp"
#include "stock/clock.hpp"
#include "stock/sku.hpp"
#include "stock/uuid.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

struct token {
    uuid id;
    timestamp expires_at; // in whole milliseconds

    bool operator==(token const&) const = default;
};

// Whom it lets in, and to what.
struct token_bearer {
    holdfast::sku sku;
    std::string customer;
};

// As the bearer has it: base64url of the id, expires_at and a code over both and the bearer. Of
// the bearer nothing stands in it.
[[nodiscard]] std::string to_text(token const&, token_bearer const&, shared_secret const&);

// Nothing when it was not made with this secret for this bearer. It may have expired.
[[nodiscard]] std::optional<token> parse_token(std::string_view text, token_bearer const&,
                                               shared_secret const&);

// The secret that all processes share, remembered once it is known.
class token_secret {
public:
    // Made when there is none yet. Throws db::error.
    [[nodiscard]] shared_secret make(db::link&);

    // Nothing when none was ever made: then no token is good. Throws db::error.
    [[nodiscard]] std::optional<shared_secret> find(db::transaction&);

    [[nodiscard]] std::optional<shared_secret> remembered() const;

private:
    void remember(shared_secret const&);

    std::mutex mutable mutex_;
    std::optional<shared_secret> known_; // only what is committed
};

} // namespace holdfast
