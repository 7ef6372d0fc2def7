// The port of the process that has started the launcher: it keeps the lines of its own ranks, and few others at a time.

#include "cmd/launch/host_lines.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/testing/running_command.h"
#include "core/testing/skip.h"

namespace mtfc::host_lines_test {
namespace {

struct Greeting {
  uint64_t token;
  int64_t rank;
};

// The port of the launcher and the token of the job, which ranks read in the environment.
struct Supervisor {
  Supervisor() {
    std::istringstream words(std::getenv("MTFC_SUPERVISOR"));
    words >> token >> port;
  }
  UniqueFd connected() const {
    UniqueFd file(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(connect(file.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return file;
  }
  UniqueFd rank(int64_t number, uint64_t change = 0) const {
    UniqueFd file = connected();
    const Greeting greeting{token ^ change, number};
    REQUIRE(send(file.get(), &greeting, sizeof greeting, MSG_NOSIGNAL) == sizeof greeting);
    return file;
  }
  uint64_t token = 0;
  int port = 0;
};

bool is_open(const UniqueFd& file) {
  char byte = 0;
  return recv(file.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

}  // namespace

TEST_CASE("idle connections are few, and cost no rank its line") {
  HostLines lines(true);
  if (!std::getenv("MTFC_SUPERVISOR")) return skip_without("network", "this process cannot listen");
  const Supervisor supervisor;
  const UniqueFd first = supervisor.rank(3);
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 300; ++i) idle.push_back(supervisor.connected());
  const UniqueFd guess = supervisor.rank(5, 1), last = supervisor.rank(4);
  const auto open = [&] { return std::count_if(idle.begin(), idle.end(), is_open); };
  CHECK(eventually([&] {
    lines.look();
    return open() <= 64 && !is_open(guess);
  }));
  CHECK(is_open(first));
  CHECK(is_open(last));
  // The newest connections may still turn out to be ranks.
  REQUIRE(is_open(idle.back()));
  const Greeting greeting{supervisor.token, 6};
  REQUIRE(send(idle.back().get(), &greeting, sizeof greeting, MSG_NOSIGNAL) == sizeof greeting);
  for (int i = 0; i < 300; ++i) idle.push_back(supervisor.connected());
  const UniqueFd& greeted = idle[299];
  CHECK(eventually([&] {
    lines.look();
    return open() <= 65;
  }));
  CHECK(is_open(greeted));
  CHECK(lines.lost_rank() == -1);
  unsetenv("MTFC_SUPERVISOR");
}

}  // namespace mtfc::host_lines_test
