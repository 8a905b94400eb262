// SPDX-License-Identifier: Apache-2.0
#include "service/keeper.hpp"

#include "service/api_keys.hpp"
#include "service/audit.hpp"
#include "service/database.hpp"
#include "service/http/wire.hpp"
#include "service/staff_accounts.hpp"
#include "service/staff_link.hpp"

#include <fmt/format.h>

#include <iostream>
#include <ostream>
#include <stdexcept>

namespace holdfast::keeper {

namespace {

void note(std::string_view sentence)
{
    std::cerr << sentence << '\n';
}

database visit(config const& settings)
{
    return database(settings, database::purpose::visiting, note);
}

} // namespace

int migrate(config const& settings, std::ostream& out)
{
    auto const base = visit(settings);
    auto const applied = base.migrate();
    for (auto const& name : applied)
        out << "applied " << name << '\n';
    if (applied.empty())
        out << "the schema is up to date\n";
    return 0;
}

int create_key(config const& settings, role r, std::string const& name, std::ostream& out)
{
    if (auto const fault = api_keys::fault_of_name(name))
        throw std::runtime_error(fmt::format("--name {}", *fault));
    auto const base = visit(settings);
    base.migrate();
    db::link link(base.session());
    out << api_keys::create(link, r, name) << '\n';
    return 0;
}

int list_keys(config const& settings, std::ostream& out)
{
    auto const base = visit(settings);
    base.migrate();
    db::link link(base.session());
    out << fmt::format("{:>6}  {:<7} {:<8} {:<27}  {}\n", "id", "role", "state", "created", "name");
    for (auto const& key : api_keys::list(link))
        out << fmt::format("{:>6}  {:<7} {:<8} {:<27}  {}\n", key.id, to_string(key.role),
                           key.revoked_at ? "revoked" : "active", to_rfc3339(key.created_at),
                           key.name);
    return 0;
}

int revoke_key(config const& settings, std::int64_t id, std::ostream& out)
{
    auto const base = visit(settings);
    base.migrate();
    db::link link(base.session());
    if (!api_keys::revoke(link, id)) {
        out << "there is no active key " << id << '\n';
        return 1;
    }
    out << "key " << id << " is revoked; running services stop taking it within 5 seconds\n";
    return 0;
}

int invite_staff(config const& settings, new_staff const& who, std::ostream& out)
{
    if (auto const fault = staff_accounts::fault_of_name(who.name))
        throw std::runtime_error(fmt::format("--name {}", *fault));
    auto const base = visit(settings);
    base.migrate();
    db::link link(base.session());
    auto const token = staff_accounts::invite(link, who.role, who.name);
    if (!token)
        throw std::runtime_error("--name belongs to somebody else");
    out << staff_link(who.url, *token) << '\n';
    note("good once, within 24 hours");
    return 0;
}

int audit(config const& settings, output how, std::ostream& out)
{
    auto const base = visit(settings);
    db::link link(base.session());
    auto const report = run_audit(link);
    if (how == output::json) {
        out << http::to_json(report) << '\n';
        return report.is_ok() ? 0 : 1;
    }
    for (auto const& v : report.violations)
        out << fmt::format("{}: {} at {}: {}\n", v.check, v.sku, v.location, v.detail);
    out << fmt::format("{} rows checked, {} violations\n", report.checked,
                       report.violations.size());
    return report.is_ok() ? 0 : 1;
}

} // namespace holdfast::keeper
