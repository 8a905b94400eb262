// SPDX-License-Identifier: Apache-2.0
#include "tests/http/schema_reader.hpp"

#include <algorithm>

namespace holdfast::test {

namespace {

bool has_type(json const& schema, json const& value)
{
    auto const is = [&](json const& type) {
        return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
               (type == "string" && value.is_string()) || (type == "null" && value.is_null()) ||
               (type == "boolean" && value.is_boolean()) ||
               (type == "integer" && value.is_number_integer()) ||
               (type == "number" && value.is_number());
    };
    auto const type = schema.find("type");
    if (type == schema.end())
        return true;
    return type->is_array() ? std::any_of(type->begin(), type->end(), is) : is(*type);
}

} // namespace

json const& schema_reader::resolved(json const& node) const
{
    auto const reference = node.find("$ref");
    if (reference == node.end())
        return node;
    return resolved(document_.at(json::json_pointer(reference->get<std::string>().substr(1))));
}

std::string schema_reader::misfit(json const& schema_or_reference, json const& value,
                                  std::string const& where) const
{
    auto const& schema = resolved(schema_or_reference);
    for (auto const& part : schema.value("allOf", json::array()))
        if (auto fault = misfit(part, value, where); !fault.empty())
            return fault;
    if (auto const choices = schema.find("oneOf"); choices != schema.end())
        return misfit_of_choices(*choices, value, where);
    if (!has_type(schema, value))
        return where + " is " + value.dump() + ", not " + schema.at("type").dump();
    if (auto const words = schema.find("enum");
        words != schema.end() && std::find(words->begin(), words->end(), value) == words->end())
        return where + " is none of " + words->dump() + ": " + value.dump();
    if (value.is_number() &&
        (value < schema.value("minimum", value) || value > schema.value("maximum", value)))
        return where + " is out of bounds: " + value.dump();
    if (value.is_object())
        return misfit_of_members(schema, value, where);
    return value.is_array() ? misfit_of_elements(schema, value, where) : "";
}

// One of them has to fit. Told is why the last does not.
std::string schema_reader::misfit_of_choices(json const& choices, json const& value,
                                             std::string const& where) const
{
    std::string fault;
    for (auto const& choice : choices)
        if (fault = misfit(choice, value, where); fault.empty())
            break;
    return fault;
}

// Members that are promised have to be there; members that are there have to be described.
std::string schema_reader::misfit_of_members(json const& schema, json const& value,
                                             std::string const& where) const
{
    for (auto const& name : schema.value("required", json::array()))
        if (!value.contains(name.get<std::string>()))
            return where + " has no " + name.get<std::string>();
    auto const properties = schema.find("properties");
    if (properties == schema.end())
        return "";
    bool const is_whole = schema.contains("required"); // and not a narrowing in an allOf
    for (auto const& [name, member] : value.items()) {
        auto const property = properties->find(name);
        if (property == properties->end() && is_whole)
            return where + " has " + name + ", which is not described";
        if (property == properties->end())
            continue;
        if (auto fault = misfit(*property, member, where + '/' + name); !fault.empty())
            return fault;
    }
    return "";
}

std::string schema_reader::misfit_of_elements(json const& schema, json const& value,
                                              std::string const& where) const
{
    auto const items = schema.find("items");
    for (std::size_t i = 0; items != schema.end() && i < value.size(); ++i)
        if (auto fault = misfit(*items, value[i], where + '/' + std::to_string(i)); !fault.empty())
            return fault;
    return "";
}

} // namespace holdfast::test
