// SPDX-License-Identifier: Apache-2.0
// What everybody needs who starts a program from a test.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace holdfast::test {

// As execve() wants them. Valid as long as the texts are.
inline std::vector<char*> pointers_to(std::vector<std::string>& texts)
{
    std::vector<char*> pointers;
    for (auto& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// Throws std::system_error with the file's name.
inline int open_file(std::filesystem::path const& file, int flags, mode_t mode = 0600)
{
    auto const descriptor = ::open(file.c_str(), flags | O_CLOEXEC, mode);
    if (descriptor < 0)
        throw std::system_error(errno, std::generic_category(), file.string());
    return descriptor;
}

} // namespace holdfast::test
