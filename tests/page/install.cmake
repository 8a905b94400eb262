# SPDX-License-Identifier: Apache-2.0
# Lays the tests of the page out in a copy, with their packages; the browser is Debian's:
#   cmake -D from=tests/page -D to=FOLDER -P tests/page/install.cmake
cmake_minimum_required(VERSION 3.25)

include(${CMAKE_CURRENT_LIST_DIR}/../../tools/npm.cmake)

file(GLOB before ${to}/*.mjs)
if(before)
  file(REMOVE ${before})
endif()
file(GLOB sources ${from}/*.mjs)
file(COPY ${sources} ${from}/package.json ${from}/package-lock.json DESTINATION ${to})

install_npm_packages(${to})
