# SPDX-License-Identifier: Apache-2.0
# Bundles the page in a copy, because npm writes beside package.json; several builds of one tree do
# not meet there. npm's registry is asked only when package-lock.json has changed:
#   cmake -D from=web -D to=FOLDER -P web/bundle.cmake
cmake_minimum_required(VERSION 3.25)

find_program(npm npm)
if(NOT npm)
  message(FATAL_ERROR "the page in web/ is bundled by npm, which is not installed; as root: "
    "apt-get install nodejs npm. For a program without its page: cmake -D HOLDFAST_PAGE=OFF")
endif()

file(REMOVE_RECURSE ${to}/src)
file(COPY ${from}/src ${from}/package.json ${from}/package-lock.json ${from}/tsconfig.json
  ${from}/build.mjs DESTINATION ${to})

file(SHA256 ${to}/package-lock.json wanted)
set(installed "")
if(EXISTS ${to}/installed.txt)
  file(READ ${to}/installed.txt installed)
endif()
if(NOT installed STREQUAL wanted)
  # No package may run anything of its own at installation.
  execute_process(COMMAND ${npm} ci --ignore-scripts --no-audit --no-fund --prefer-offline
    WORKING_DIRECTORY ${to} COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${to}/installed.txt "${wanted}")
endif()
execute_process(COMMAND ${npm} run --silent build
  WORKING_DIRECTORY ${to} COMMAND_ERROR_IS_FATAL ANY)
