// SPDX-License-Identifier: Apache-2.0
// Passwords of people: which are good enough, and what is stored of them (Argon2id by libsodium).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// What is wrong with a would-be password, or nothing: 10-200 characters, none of them a control
// character. Nothing else is asked of it: rules of composition make passwords worse (NIST SP
// 800-63B, section 5.1.1.2).
[[nodiscard]] std::optional<std::string> fault_of_password(std::string_view);

// These two take about a tenth of a second and 64 MiB each, which is what keeps passwords from
// being guessed through, and why neither belongs on an I/O thread. A password means the same in
// each of its Unicode forms. Both log and throw overloaded when there is no such memory.

// Precondition: fault_of_password() is empty.
[[nodiscard]] std::string hash_password(std::string_view);

[[nodiscard]] bool is_password(std::string const& hash, std::string_view password);

// What no password fits. Asking takes as long as with any other, so that nobody hears by the clock
// whether there is an account.
[[nodiscard]] std::string const& nobodys_hash();

} // namespace holdfast
