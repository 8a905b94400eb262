# SPDX-License-Identifier: Apache-2.0
# Bundles the page in a copy, so that several builds of one tree do not meet:
#   cmake -D from=web -D to=FOLDER -P web/bundle.cmake
cmake_minimum_required(VERSION 3.25)

include(${CMAKE_CURRENT_LIST_DIR}/../tools/npm.cmake)

file(REMOVE_RECURSE ${to}/src)
file(COPY ${from}/src ${from}/package.json ${from}/package-lock.json ${from}/tsconfig.json
  ${from}/build.mjs DESTINATION ${to})

install_npm_packages(${to})
execute_process(COMMAND ${npm} run --silent build
  WORKING_DIRECTORY ${to} COMMAND_ERROR_IS_FATAL ANY)
