// SPDX-License-Identifier: Apache-2.0
// Passwords: which are good, what is stored of them, and what is said when there is no memory left
// to look at one.
#include "service/overload.hpp"
#include "service/passwords.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

using namespace holdfast;

namespace {

// While it lives, this process gets little more memory than it has: less than a hash takes.
class little_memory {
public:
    little_memory()
    {
        rlim_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        getrlimit(RLIMIT_AS, &before_);
        auto now = before_;
        now.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (16U << 20U);
        setrlimit(RLIMIT_AS, &now);
    }
    ~little_memory() { setrlimit(RLIMIT_AS, &before_); }
    little_memory(little_memory const&) = delete;
    little_memory& operator=(little_memory const&) = delete;

private:
    rlimit before_{};
};

} // namespace

TEST_CASE("a password is good by its length alone, in whatever form it is typed")
{
    CHECK(fault_of_password("123456789").has_value());
    CHECK_FALSE(fault_of_password("aaaaaaaaaa").has_value());
    CHECK_FALSE(fault_of_password(std::string(200, 'a')).has_value());
    CHECK(fault_of_password(std::string(201, 'a')).has_value());
    CHECK(fault_of_password("\xFF 123456789").has_value());
    CHECK(fault_of_password("\u00E9\u00E9\u00E9\u00E9\u00E9").has_value()); // ten bytes
    auto const hash = hash_password("caf\u00E9 caf\u00E9");
    CHECK(is_password(hash, "cafe\u0301 cafe\u0301"));
    CHECK_FALSE(is_password(hash, "cafe cafe"));
    CHECK_FALSE(is_password(nobodys_hash(), ""));
}

TEST_CASE("a password there is no memory to look at is not a wrong one")
{
    std::string const password = "correct horse battery staple";
    auto const hash = hash_password(password);
    {
        little_memory const now;
        CHECK_THROWS_AS((void)is_password(hash, password), overloaded);
        CHECK_THROWS_AS((void)is_password(nobodys_hash(), password), overloaded);
        CHECK_THROWS_AS((void)hash_password(password), overloaded);
    }
    CHECK(is_password(hash, password));
}

TEST_CASE("what is no hash fits no password")
{
    std::string const password = "correct horse battery staple";
    auto const hash = hash_password(password);
    CHECK_FALSE(is_password("", password));
    CHECK_FALSE(is_password("$argon2id$v=19$m=65536", password));
    CHECK_FALSE(is_password(hash.substr(0, hash.size() - 1), password));
    CHECK_FALSE(is_password(hash + 'A', password));
    CHECK_FALSE(is_password("$2b$12$" + std::string(53, 'a'), password));
}
