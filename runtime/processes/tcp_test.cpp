#include "runtime/processes/tcp.h"

#include <doctest/doctest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <vector>

namespace mtfc::tcp_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr uint64_t kToken = 0x0123456789abcdef;

class Listener {
 public:
  Listener() { REQUIRE(file_); }
  int file() const { return file_.get(); }
  // A connection that waits for being accepted.
  UniqueFd connection() const {
    UniqueFd socket = connect_to({"127.0.0.1"}, port_, minutes(1));
    REQUIRE(socket);
    return socket;
  }
  UniqueFd connection_that_says(uint64_t token) const {
    UniqueFd socket = connection();
    REQUIRE(send(socket.get(), &token, sizeof token, MSG_NOSIGNAL) == sizeof token);
    return socket;
  }

 private:
  int port_ = 0;
  UniqueFd file_ = listen_anywhere(port_);
};

// Says something at one end of a connection and waits for it at the other.
bool joins(const UniqueFd& here, const UniqueFd& there) {
  const char byte = 1;
  char found = 0;
  return send(here.get(), &byte, 1, MSG_NOSIGNAL) == 1 && look_at_line(there.get()) == LineEvent::kByte &&
         recv(there.get(), &found, 1, MSG_DONTWAIT) < 0;
}

}  // namespace

// Each alone may be silent for as long as it likes: with a wait for each, the time would be over before the last one.
TEST_CASE("strangers do not delay the one that knows the token") {
  for (const size_t silent : {0, 1, 63, 64, 65, 200}) {
    CAPTURE(silent);
    const Listener listener;
    std::vector<UniqueFd> strangers;
    for (size_t i = 0; i < silent; ++i) strangers.push_back(listener.connection());
    strangers.push_back(listener.connection_that_says(kToken + 1));
    strangers.push_back(listener.connection());
    strangers.back().reset();
    const UniqueFd known = listener.connection_that_says(kToken);
    for (size_t i = 0; i < silent; ++i) strangers.push_back(listener.connection());
    const UniqueFd accepted = accept_known(listener.file(), kToken, minutes(1));
    REQUIRE(accepted);
    CHECK(joins(known, accepted));
  }
}

TEST_CASE("the wait ends with its time, or where it is to stop") {
  const Listener listener;
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(listener.connection());
  CHECK(!accept_known(listener.file(), kToken, milliseconds(20)));
  const UniqueFd stop(eventfd(1, EFD_CLOEXEC));
  CHECK(!accept_known(listener.file(), kToken, minutes(1), stop.get()));
  CHECK(!accept_known(-1, kToken, milliseconds(20)));
}

}  // namespace mtfc::tcp_test
