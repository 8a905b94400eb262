// SPDX-License-Identifier: Apache-2.0
#include "service/workers/poster.hpp"

#include <boost/asio/ip/address.hpp>
#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>

namespace holdfast::workers {

namespace {

namespace ip = boost::asio::ip;

constexpr long connections_kept = 256;

void start_curl()
{
    static bool const is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (!is_ready)
        throw std::runtime_error("libcurl cannot start");
}

std::optional<ip::address> to_address(curl_sockaddr const& peer)
{
    if (peer.family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &peer.addr, sizeof v4);
        return ip::address_v4(ntohl(v4.sin_addr.s_addr));
    }
    if (peer.family == AF_INET6) {
        // curl keeps the whole address behind the field, which is only large enough for IPv4.
        sockaddr_in6 v6{};
        std::memcpy(&v6, reinterpret_cast<char const*>(&peer) + offsetof(curl_sockaddr, addr),
                    sizeof v6);
        ip::address_v6::bytes_type bytes;
        std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
        return ip::address_v6(bytes);
    }
    return std::nullopt;
}

// One call under way.
struct transfer {
    transfer(call c, address_guard const& g, std::size_t most)
        : asked(std::move(c)), guard(g), answer_bytes_left(most)
    {}
    ~transfer()
    {
        curl_slist_free_all(headers);
        curl_easy_cleanup(handle);
    }
    transfer(transfer const&) = delete;
    transfer& operator=(transfer const&) = delete;

    call asked;
    address_guard const& guard;
    std::size_t answer_bytes_left;
    CURL* handle = nullptr;
    curl_slist* headers = nullptr;
    std::string refused;   // why its address is not called
    bool has_head = false; // of an answer that is more than "go on"
};

// Called with the address a name has led to, right before the connection is made to just that one.
curl_socket_t open_socket(void* context, curlsocktype, curl_sockaddr* peer)
{
    auto& of = *static_cast<transfer*>(context);
    auto const address = to_address(*peer);
    if (!address || !of.guard.is_allowed(*address)) {
        of.refused = fmt::format("{} is no public address",
                                 address ? address->to_string() : "what the name leads to");
        return CURL_SOCKET_BAD;
    }
    if (of.asked.url.starts_with("http:") && !of.guard.is_opened(*address)) {
        of.refused = "plain http is only for addresses in webhook_allow";
        return CURL_SOCKET_BAD;
    }
    return ::socket(peer->family, peer->socktype | SOCK_CLOEXEC, peer->protocol);
}

// Reads an answer's body to its bound, so that the connection can be used again, and keeps nothing.
std::size_t drop_body(char*, std::size_t, std::size_t size, void* context)
{
    auto& of = *static_cast<transfer*>(context);
    if (size > of.answer_bytes_left)
        return 0;
    of.answer_bytes_left -= size;
    return size;
}

// Called with each line of an answer's head; the empty one ends it.
std::size_t see_head(char* text, std::size_t, std::size_t size, void* context)
{
    auto& of = *static_cast<transfer*>(context);
    std::string_view const line(text, size);
    if (line.starts_with("HTTP/"))
        of.has_head = false;
    if (line == "\r\n" || line == "\n") {
        long status = 0;
        curl_easy_getinfo(of.handle, CURLINFO_RESPONSE_CODE, &status);
        of.has_head = status >= 200;
    }
    return size;
}

std::string fault_of(transfer const& t, CURLcode code)
{
    // Of several addresses one may have been refused, and another have failed in its own way.
    if (!t.refused.empty() && code == CURLE_COULDNT_CONNECT)
        return t.refused;
    if (code == CURLE_OPERATION_TIMEDOUT)
        return "it did not answer in time";
    return curl_easy_strerror(code);
}

} // namespace

struct poster::impl {
    impl(poster_options o, address_guard const& g) : options(std::move(o)), guard(g)
    {
        start_curl();
        multi = curl_multi_init();
        if (multi == nullptr)
            throw std::runtime_error("libcurl cannot start");
        curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, connections_kept);
    }
    ~impl()
    {
        cut_all();
        curl_multi_cleanup(multi);
    }
    impl(impl const&) = delete;
    impl& operator=(impl const&) = delete;

    void cut_all() noexcept
    {
        for (auto const& [handle, each] : transfers)
            curl_multi_remove_handle(multi, handle);
        transfers.clear();
    }

    void set_up(transfer& t) const
    {
        auto* const h = t.handle;
        curl_easy_setopt(h, CURLOPT_URL, t.asked.url.c_str());
        curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
        curl_easy_setopt(h, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
        curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
        curl_easy_setopt(h, CURLOPT_PROXY, ""); // whatever the environment says
        curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(h, CURLOPT_QUICK_EXIT, 1L); // does not wait for a resolver that hangs
        curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout.count() * 1000));
        curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
        curl_easy_setopt(h, CURLOPT_OPENSOCKETDATA, &t);
        curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, &see_head);
        curl_easy_setopt(h, CURLOPT_HEADERDATA, &t);
        curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, &drop_body);
        curl_easy_setopt(h, CURLOPT_WRITEDATA, &t);
        curl_easy_setopt(h, CURLOPT_USERAGENT, options.user_agent.c_str());
        if (!options.ca_file.empty())
            curl_easy_setopt(h, CURLOPT_CAINFO, options.ca_file.c_str());
        for (auto const& [name, value] : t.asked.headers)
            t.headers = curl_slist_append(t.headers, fmt::format("{}: {}", name, value).c_str());
        t.headers = curl_slist_append(t.headers, "Expect:");
        curl_easy_setopt(h, CURLOPT_HTTPHEADER, t.headers);
        curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE, static_cast<long>(t.asked.body.size()));
        curl_easy_setopt(h, CURLOPT_POSTFIELDS, t.asked.body.data());
    }

    call_outcome outcome_of(transfer const& t, CURLcode code) const
    {
        call_outcome came{.number = t.asked.number};
        long status = 0;
        curl_easy_getinfo(t.handle, CURLINFO_RESPONSE_CODE, &status);
        if (t.has_head) // came whole; what became of the body does not matter
            came.status = static_cast<int>(status);
        else
            came.fault = fault_of(t, code);
        curl_off_t wait = 0;
        curl_easy_getinfo(t.handle, CURLINFO_RETRY_AFTER, &wait);
        if (wait > 0)
            came.retry_after = std::chrono::seconds(wait);
        return came;
    }

    poster_options options;
    address_guard const& guard;
    CURLM* multi = nullptr;
    std::map<CURL*, std::unique_ptr<transfer>> transfers;
};

poster::poster(poster_options options, address_guard const& guard)
    : impl_(std::make_unique<impl>(std::move(options), guard))
{}

poster::~poster() = default;

void poster::post(call c)
{
    auto made =
        std::make_unique<transfer>(std::move(c), impl_->guard, impl_->options.answer_bytes_max);
    made->handle = curl_easy_init();
    if (made->handle == nullptr)
        throw std::runtime_error("libcurl cannot make a call");
    impl_->set_up(*made);
    curl_multi_add_handle(impl_->multi, made->handle);
    auto* const handle = made->handle;
    impl_->transfers.emplace(handle, std::move(made));
}

std::vector<call_outcome> poster::wait(std::chrono::milliseconds longest)
{
    int running = 0;
    curl_multi_perform(impl_->multi, &running);
    if (static_cast<std::size_t>(running) == impl_->transfers.size()) {
        curl_multi_poll(impl_->multi, nullptr, 0, static_cast<int>(longest.count()), nullptr);
        curl_multi_perform(impl_->multi, &running);
    }
    std::vector<call_outcome> ended;
    int left = 0;
    while (auto const* const message = curl_multi_info_read(impl_->multi, &left)) {
        auto* const handle = message->easy_handle;
        auto const code = message->data.result;
        curl_multi_remove_handle(impl_->multi, handle);
        auto const found = impl_->transfers.find(handle);
        ended.push_back(impl_->outcome_of(*found->second, code));
        impl_->transfers.erase(found);
    }
    return ended;
}

void poster::cut_all() noexcept
{
    impl_->cut_all();
}

std::size_t poster::under_way() const noexcept
{
    return impl_->transfers.size();
}

} // namespace holdfast::workers
