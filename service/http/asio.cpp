// SPDX-License-Identifier: Apache-2.0
// Compiles what Asio and Beast would otherwise put into every file that includes them.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
