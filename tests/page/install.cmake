# SPDX-License-Identifier: Apache-2.0
# Lays the tests of the page out in a copy, because npm writes beside package.json. npm's registry
# is asked only when package-lock.json has changed:
#   cmake -D from=tests/page -D to=FOLDER -P tests/page/install.cmake
cmake_minimum_required(VERSION 3.25)

find_program(npm npm)
if(NOT npm)
  message(FATAL_ERROR "npm is not installed; as root: apt-get install nodejs npm")
endif()

file(GLOB before ${to}/*.mjs)
if(before)
  file(REMOVE ${before})
endif()
file(GLOB sources ${from}/*.mjs)
file(COPY ${sources} ${from}/package.json ${from}/package-lock.json DESTINATION ${to})

file(SHA256 ${to}/package-lock.json wanted)
set(installed "")
if(EXISTS ${to}/installed.txt)
  file(READ ${to}/installed.txt installed)
endif()
if(NOT installed STREQUAL wanted)
  # No package may run anything of its own at installation; the browser is Debian's.
  execute_process(COMMAND ${npm} ci --ignore-scripts --no-audit --no-fund --prefer-offline
    WORKING_DIRECTORY ${to} COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${to}/installed.txt "${wanted}")
endif()
