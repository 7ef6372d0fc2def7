#include "runtime/processes/tcp.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace mtfc {
namespace {

// A host that has not answered so many questions, one per second, is lost.
constexpr int kQuestions = 5;
constexpr int kBacklog = 1024;         // connections that wait for being accepted
constexpr size_t kMostStrangers = 64;  // accepted connections that have not spoken yet

using Clock = std::chrono::steady_clock;

}  // namespace

// Addresses of IPv6 that hold on one link only need more than their digits.
std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return addresses;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || !(one->ifa_flags & IFF_UP) || (one->ifa_flags & IFF_LOOPBACK)) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto* six = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
    if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) continue;
    char text[NI_MAXHOST];
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (getnameinfo(one->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      addresses.emplace_back(text);
  }
  freeifaddrs(all);
  return addresses;
}

uint64_t random_token() {
  uint64_t token = 0;
  if (getrandom(&token, sizeof token, 0) != sizeof token)
    token = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return token;
}

UniqueFd listen_anywhere(int& port) {
  for (const int family : {AF_INET6, AF_INET}) {
    UniqueFd file(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int no = 0;
    sockaddr_storage address = {};
    address.ss_family = static_cast<sa_family_t>(family);
    socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (!file) continue;
    if (family == AF_INET6) setsockopt(file.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (bind(file.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(file.get(), kBacklog) != 0 ||
        getsockname(file.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      continue;
    // The port is in the same place for both.
    port = ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
    return file;
  }
  return UniqueFd();
}

namespace {

// A socket that has begun to connect; none if it can't.
UniqueFd connecting(const std::string& address, int port) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return UniqueFd();
  UniqueFd file(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool has_begun =
      file && (connect(file.get(), found->ai_addr, found->ai_addrlen) == 0 || errno == EINPROGRESS);
  freeaddrinfo(found);
  return has_begun ? std::move(file) : UniqueFd();
}

// For a socket that poll() has returned.
bool is_connected(int socket) {
  int error = -1;
  socklen_t size = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace

UniqueFd connect_to(const std::vector<std::string>& addresses, int port, std::chrono::milliseconds patience,
                    int stop) {
  const auto until = Clock::now() + patience;
  const std::vector<std::string> own = own_addresses();
  std::vector<UniqueFd> sockets;
  std::vector<pollfd> waits;
  for (const std::string& address : addresses) {
    if (std::find(own.begin(), own.end(), address) != own.end()) continue;
    if (UniqueFd socket = connecting(address, port)) {
      waits.push_back({socket.get(), POLLOUT, 0});
      sockets.push_back(std::move(socket));
    }
  }
  waits.push_back({stop, POLLIN, 0});
  for (size_t left = sockets.size(); left > 0;) {
    const int ready = poll(waits.data(), waits.size(), milliseconds_until(until));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || waits.back().revents != 0) break;
    for (size_t i = 0; i < sockets.size(); ++i) {
      if (waits[i].revents == 0) continue;
      if (is_connected(sockets[i].get())) return std::move(sockets[i]);
      waits[i] = {-1, 0, 0};
      --left;
    }
  }
  return UniqueFd();
}

namespace {

bool says(const UniqueFd& socket, uint64_t token) {
  uint64_t said = 0;
  return recv(socket.get(), &said, sizeof said, MSG_DONTWAIT) == sizeof said && said == token;
}

// True for errors of accept() that concern one connection only, or none.
bool is_passing(int error) {
  return error == EAGAIN || error == EINTR || error == ECONNABORTED;
}

}  // namespace

UniqueFd accept_known(int listener, uint64_t token, std::chrono::milliseconds patience, int stop) {
  const auto until = Clock::now() + patience;
  std::vector<UniqueFd> strangers;  // the oldest first
  while (listener >= 0 && Clock::now() < until) {
    std::vector<pollfd> waits{{listener, POLLIN, 0}, {stop, POLLIN, 0}};
    for (const UniqueFd& stranger : strangers) waits.push_back({stranger.get(), POLLIN, 0});
    const int ready = poll(waits.data(), waits.size(), milliseconds_until(until));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || waits[1].revents != 0) break;
    for (size_t i = strangers.size(); i-- > 0;) {
      if (waits[i + 2].revents == 0) continue;
      if (says(strangers[i], token)) return std::move(strangers[i]);
      strangers.erase(strangers.begin() + static_cast<ptrdiff_t>(i));
    }
    if (waits[0].revents == 0) continue;
    UniqueFd file(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!file && !is_passing(errno)) break;
    if (file) strangers.push_back(std::move(file));
    if (strangers.size() <= kMostStrangers) continue;
    // The oldest one has had the time to speak.
    if (says(strangers.front(), token)) return std::move(strangers.front());
    strangers.erase(strangers.begin());
  }
  return UniqueFd();
}

int milliseconds_until(Clock::time_point then) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(then - Clock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

void ask_whether_alive(int socket) {
  const int yes = 1, second = 1, questions = kQuestions;
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &second, sizeof second);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &second, sizeof second);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &questions, sizeof questions);
}

LineEvent look_at_line(int socket) {
  char byte = 0;
  const ssize_t count = recv(socket, &byte, 1, MSG_DONTWAIT);
  if (count > 0) return LineEvent::kByte;
  // A host that answers, but has no such connection, has closed it.
  if (count == 0 || errno == ECONNRESET) return LineEvent::kClosed;
  return errno == EAGAIN || errno == EINTR ? LineEvent::kNothing : LineEvent::kLost;
}

}  // namespace mtfc
