# SPDX-License-Identifier: Apache-2.0
# What scripts need that use npm packages, in a copy, because npm writes beside package.json.

# Installs what FOLDER's package-lock.json names. npm's registry is asked only when that has changed.
function(install_npm_packages folder)
  file(SHA256 ${folder}/package-lock.json wanted)
  set(installed "")
  if(EXISTS ${folder}/installed.txt)
    file(READ ${folder}/installed.txt installed)
  endif()
  if(NOT installed STREQUAL wanted)
    # No package may run anything of its own at installation.
    execute_process(COMMAND ${npm} ci --ignore-scripts --no-audit --no-fund --prefer-offline
      WORKING_DIRECTORY ${folder} COMMAND_ERROR_IS_FATAL ANY)
    file(WRITE ${folder}/installed.txt "${wanted}")
  endif()
endfunction()

find_program(npm npm)
if(NOT npm)
  message(FATAL_ERROR "npm is not installed; as root: apt-get install nodejs npm. For a program "
    "without its page, which takes no npm: cmake -D HOLDFAST_PAGE=OFF")
endif()
