// SPDX-License-Identifier: Apache-2.0
#include "db/link.hpp"

namespace holdfast::db {

session& link::session()
{
    if (session_ && !session_->is_usable())
        session_.reset();
    if (!session_)
        session_ = std::make_unique<db::session>(options_);
    return *session_;
}

} // namespace holdfast::db
