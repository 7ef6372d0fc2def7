#include "cmd/launch/host_lines.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "runtime/processes/job.h"

namespace mtfc {
namespace {

constexpr const char* kSupervisor = "MTFC_SUPERVISOR";  // token, port and addresses
constexpr std::chrono::seconds kConnecting{2};
// A rank that can't connect is on a host that has been cut off, if MPI has not begun by then.
constexpr std::chrono::seconds kBeginning{4};
// By then, ranks of hosts that answer have ended, and other hosts are known to be lost.
constexpr std::chrono::seconds kSettling{7};
// Connections that have not said who they are, as ranks do as soon as they are connected.
constexpr size_t kMostStrangers = 64;
// News that one look takes, so that nobody who connects again and again keeps this process from its other work.
constexpr int kMostNews = 256;

}  // namespace

HostLines::HostLines(bool elsewhere) : queue_(epoll_create1(EPOLL_CLOEXEC)), token_(random_token()) {
  int port = 0;
  unsetenv(kSupervisor);
  if (elsewhere) listener_ = listen_anywhere(port);
  if (!listener_) return;
  watch(listener_.get());
  std::string text = fmt::format("{} {}", token_, port);
  for (const std::string& address : own_addresses()) text += " " + address;
  setenv(kSupervisor, text.c_str(), 1);
}

void HostLines::watch(int file) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = file;
  epoll_ctl(queue_.get(), EPOLL_CTL_ADD, file, &event);
}

void HostLines::look() {
  epoll_event event;
  for (int news = 0; news < kMostNews && epoll_wait(queue_.get(), &event, 1, 0) == 1; ++news) {
    if (event.data.fd == listener_.get())
      accept_lines();
    else
      look_at(event.data.fd);
  }
}

void HostLines::settle() {
  const auto until = std::chrono::steady_clock::now() + kSettling;
  look();
  for (const int file : strangers_) lines_.erase(file);
  strangers_.clear();
  while (!lines_.empty() && lost_rank_ < 0 && std::chrono::steady_clock::now() < until) {
    pollfd news{queue_.get(), POLLIN, 0};
    poll(&news, 1, 100);
    look();
  }
}

void HostLines::accept_lines() {
  for (size_t count = 0; count < kMostStrangers; ++count) {
    // The oldest one has had the time to speak.
    if (strangers_.size() == kMostStrangers) greet(strangers_.front());
    UniqueFd file(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!file) return;
    ask_whether_alive(file.get());
    watch(file.get());
    const int number = file.get();
    lines_[number] = {std::move(file)};
    strangers_.push_back(number);
  }
}

// Keeps the connection of a rank of this run, and closes any other.
void HostLines::greet(int file) {
  std::erase(strangers_, file);
  Greeting greeting;
  if (recv(file, &greeting, sizeof greeting, MSG_DONTWAIT) == sizeof greeting && greeting.token == token_)
    lines_[file].rank = static_cast<int>(greeting.rank);
  else
    lines_.erase(file);
}

// Closing a descriptor takes it out of the queue.
void HostLines::look_at(int file) {
  Line& line = lines_[file];
  if (line.rank < 0) return greet(file);
  const LineEvent event = look_at_line(file);
  if (event == LineEvent::kLost && lost_rank_ < 0) {
    lost_rank_ = line.rank;
    lost_at_ = std::chrono::steady_clock::now();
  }
  if (event == LineEvent::kLost || event == LineEvent::kClosed) lines_.erase(file);
}

namespace {

// These variables limit the ports of the launcher and of MPI. A firewall may let those ports pass, and stop the one of
// HostLines.
bool may_be_stopped_by_firewall() {
  const std::array kRanges{"MPIR_CVAR_CH3_PORT_RANGE", "MPIR_CVAR_PORT_RANGE", "MPICH_CH3_PORT_RANGE",
                           "MPICH_PORT_RANGE",         "MPIEXEC_PORT_RANGE",   "HYDRA_PORT_RANGE",
                           "MPIEXEC_PORTRANGE",        "UCX_TCP_PORT_RANGE"};
  return std::any_of(kRanges.begin(), kRanges.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace

void connect_to_supervisor() {
  const char *place = std::getenv(kSupervisor), *number = std::getenv("MPI_LOCALRANKID");
  if (!place || !number || std::atoi(number) != 0) return;
  std::istringstream words(place);
  HostLines::Greeting greeting{0, rank_in_job()};
  int port = 0;
  words >> greeting.token >> port;
  UniqueFd file = connect_to({std::istream_iterator<std::string>(words), {}}, port, kConnecting);
  if (file && send(file.get(), &greeting, sizeof greeting, MSG_NOSIGNAL) == sizeof greeting) {
    ask_whether_alive(file.get());
    set_supervisor(std::move(file));
  } else if (!may_be_stopped_by_firewall()) {
    await_mpi(kBeginning);
  }
}

}  // namespace mtfc
