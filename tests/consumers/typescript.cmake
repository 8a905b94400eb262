# SPDX-License-Identifier: Apache-2.0
# Builds the consumer in TypeScript in a copy, because npm writes beside package.json. Does nothing
# when the copy was made of the same files, so that npm's registry is asked only the first time:
#   cmake -D from=examples/consumers/typescript -D to=FOLDER -P tests/consumers/typescript.cmake
cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE sources RELATIVE ${from} ${from}/src/*.ts)
set(made_of "")
foreach(name .npmrc package.json package-lock.json tsconfig.json ${sources})
  file(SHA256 ${from}/${name} hash)
  string(APPEND made_of "${hash} ${name}\n")
endforeach()
if(EXISTS ${to}/made_of.txt)
  file(READ ${to}/made_of.txt was_made_of)
  if(was_made_of STREQUAL made_of)
    return()
  endif()
endif()

find_program(npm npm)
if(NOT npm)
  message(FATAL_ERROR "npm is not installed; as root: apt-get install nodejs npm")
endif()
file(REMOVE_RECURSE ${to})
file(COPY ${from}/ DESTINATION ${to} PATTERN node_modules EXCLUDE PATTERN dist EXCLUDE)
execute_process(COMMAND ${npm} ci --no-audit --no-fund --prefer-offline
  WORKING_DIRECTORY ${to} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${npm} run build WORKING_DIRECTORY ${to} COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${to}/made_of.txt "${made_of}")
