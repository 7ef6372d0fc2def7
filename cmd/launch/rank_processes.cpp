#include "cmd/launch/rank_processes.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>

#include "runtime/processes/job.h"

namespace mtfc {
namespace {

constexpr std::chrono::seconds kStarting{30};  // by then all ranks on this node have been found
constexpr std::chrono::milliseconds kElsewhere{
    300};                                           // after a signal, ranks that are not found are elsewhere
constexpr std::chrono::seconds kReady{1};           // a rank that is no mtfc is never ready
constexpr std::chrono::milliseconds kStopped{500};  // after a signal, stopped ranks do not end by themselves
constexpr std::chrono::milliseconds kStill{200};
// By then, the launcher ends by itself when a remote shell has failed, or the ranks have said why they end.
constexpr std::chrono::seconds kShellFailed{2};
constexpr uint32_t kShells = uint32_t{1} << 31;  // numbers in the queue that stand for shells, not for ranks

// A rank that waits for signals has blocked them (cmd/terminal/interrupt.h).
bool is_ready(pid_t pid) {
  const std::string blocked = status_of(pid, "SigBlk");
  return (std::strtoull(blocked.c_str(), nullptr, 16) >> (SIGTERM - 1) & 1) != 0;
}

void send_to(const UniqueFd& file, int signal) {
  syscall(SYS_pidfd_send_signal, file.get(), signal, nullptr, 0);
}

}  // namespace

RankProcesses::RankProcesses(pid_t launcher, int64_t ranks)
    : launcher_(launcher), ranks_(ranks), queue_(epoll_create1(EPOLL_CLOEXEC)) {}

bool RankProcesses::is_busy() const {
  return !signals_.empty() || failed_shell_ >= 0 || (!is_complete() && Clock::now() - start_ < kStarting);
}

void RankProcesses::look() {
  if (is_busy() && !is_complete()) find();
  note_ended();
  if (failed_shell_ >= 0) look_at_shells();
  if (signals_.empty()) return;
  pass_signals();
  end_stopped();
}

void RankProcesses::send(int signal) {
  last_signal_ = Clock::now();
  if (first_stop_ == Clock::time_point{} && signal != SIGUSR1) first_stop_ = last_signal_;
  signals_.push_back(signal);
  pass_signals();
}

void RankProcesses::kill_ranks() const {
  for (const auto& [number, rank] : found_)
    if (!rank.has_ended) send_to(rank.file, SIGKILL);
}

void RankProcesses::find() {
  for (const pid_t proxy : children_of(launcher_)) {
    watch_shell(proxy);
    for (const pid_t process : children_of(proxy))
      if (const int rank = rank_of(process); rank >= 0) watch(process, rank);
  }
}

void RankProcesses::watch_shell(pid_t pid) {
  if (std::any_of(shells_.begin(), shells_.end(), [&](const Shell& shell) { return shell.pid == pid; }))
    return;
  UniqueFd file(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!file) return;
  add_to_queue(file, kShells + static_cast<uint32_t>(shells_.size()));
  shells_.push_back({std::move(file), pid});
}

// The launcher does not notice that a remote shell has failed before it has started a proxy. If a host loses its power,
// the launcher may not notice it either.
void RankProcesses::look_at_shells() {
  if (has_killed_ || Clock::now() - shell_failed_ < kShellFailed) return;
  has_killed_ = true;
  kill_all();
}

void RankProcesses::kill_all() {
  const std::vector<pid_t> proxies = children_of(launcher_);
  kill_ranks();
  for (const pid_t proxy : proxies) kill(proxy, SIGKILL);
  kill(launcher_, SIGKILL);
}

void RankProcesses::add_to_queue(const UniqueFd& file, uint32_t number) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = number;
  epoll_ctl(queue_.get(), EPOLL_CTL_ADD, file.get(), &event);
}

void RankProcesses::watch(pid_t pid, int rank) {
  if (found_.count(rank) > 0) return;
  // The C library of Debian 12 declares pidfd_open without C linkage.
  UniqueFd file(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!file) return;
  add_to_queue(file, static_cast<uint32_t>(rank));
  found_[rank] = {std::move(file), pid};
}

void RankProcesses::note_ended() {
  epoll_event event;
  while (epoll_wait(queue_.get(), &event, 1, 0) == 1) {
    if (event.data.u32 >= kShells) {
      const Shell& shell = shells_[event.data.u32 - kShells];
      epoll_ctl(queue_.get(), EPOLL_CTL_DEL, shell.file.get(), nullptr);
      if (failed_shell_ >= 0 || !has_failed(shell.pid)) continue;
      failed_shell_ = static_cast<int>(event.data.u32 - kShells);
      shell_failed_ = Clock::now();
      failed_first_ = ended_.empty();
      continue;
    }
    Rank& rank = found_[static_cast<int>(event.data.u32)];
    rank.has_ended = true;
    ended_.push_back(static_cast<int>(event.data.u32));
    epoll_ctl(queue_.get(), EPOLL_CTL_DEL, rank.file.get(), nullptr);
  }
}

void RankProcesses::pass_signals() {
  const auto waited = Clock::now() - last_signal_;
  for (auto& [number, rank] : found_) {
    if (rank.has_ended || rank.sent == signals_.size() || (!is_ready(rank.pid) && waited < kReady)) continue;
    for (; rank.sent < signals_.size(); ++rank.sent) send_to(rank.file, signals_[rank.sent]);
  }
  if (is_complete() || waited < kElsewhere) return;
  for (; sent_by_launcher_ < signals_.size(); ++sent_by_launcher_)
    kill(launcher_, signals_[sent_by_launcher_]);
}

// Ends what does not end by itself. A rank that runs ends all others, if the launcher and its proxy do their part.
void RankProcesses::end_stopped() {
  if (first_stop_ == Clock::time_point{} || Clock::now() - first_stop_ < kStopped || !is_complete()) return;
  const auto is_still = [](const auto& entry) {
    return entry.second.has_ended || is_stopped(entry.second.pid);
  };
  if (!std::all_of(found_.begin(), found_.end(), is_still)) {
    still_since_ = {};
    return;
  }
  if (still_since_ == Clock::time_point{}) still_since_ = Clock::now();
  if (Clock::now() - still_since_ < kStill) return;  // the launcher may be about to end
  kill_all();
}

}  // namespace mtfc
