#include "runtime/processes/job.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

namespace mtfc {
namespace {

// The launcher drops output that it has not read when it is asked to end.
constexpr std::chrono::milliseconds kReading{100};
// Within this time the launcher reads what it is told, before it sees that the process has ended.
constexpr std::chrono::milliseconds kTelling{100};
// Within this time a launcher that can be reached ends the ranks.
constexpr std::chrono::seconds kEndingAll{1};
// Within this time a thread gets a signal.
constexpr std::chrono::milliseconds kStopping{10};

// The first 15 bytes of its name, which is all that the kernel keeps.
constexpr const char* kProxy = "hydra_pmi_proxy";

std::atomic<int> code_channel = -1;
std::atomic<bool> tells_by_line = false;

// The socket that the launcher gave for commands of PMI's version 1, which MPICH and Slurm understand.
int launcher_socket() {
  const char* socket = std::getenv("PMI_FD");
  return socket ? std::atoi(socket) : -1;
}

void tell_launcher(std::string_view line) {
  if (write(launcher_socket(), line.data(), line.size()) < 0) return;
}

// Stops a thread for good, wherever it is. It may hold locks, those of the heap too.
void stop_thread(pthread_t thread) {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    for (;;) pause();
  };
  if (sigaction(SIGUSR2, &action, nullptr) != 0 || pthread_kill(thread, SIGUSR2) != 0) return;
  std::this_thread::sleep_for(kStopping);
}

std::string name_of(pid_t process) {
  std::string name;
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::getline(file, name);
  return name;
}

// The words of /proc/PID/stat from the state on, which is the third; empty if there is no such process.
std::vector<std::string> stat_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string stat;
  std::getline(file, stat, '\0');           // fails quietly if the process ends meanwhile
  const size_t name_end = stat.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return {};
  std::istringstream words(stat.substr(name_end + 1));
  return {std::istream_iterator<std::string>(words), {}};
}

pid_t parent_of(pid_t process) {
  const std::vector<std::string> stat = stat_of(process);
  return stat.size() < 2 ? 0 : std::atoi(stat[1].c_str());
}

}  // namespace

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  std::error_code error;
  namespace fs = std::filesystem;
  // Each thread has children of its own.
  for (fs::directory_iterator task(fmt::format("/proc/{}/task", process), error), end; !error && task != end;
       task.increment(error)) {
    std::ifstream file(task->path() / "children");
    children.insert(children.end(), std::istream_iterator<pid_t>(file), {});
  }
  return children;
}

std::string status_of(pid_t process, const std::string& key) {
  std::ifstream file(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return line.substr(line.find_first_not_of(" \t", key.size() + 1));
  return "";
}

bool is_stopped(pid_t process) {
  const std::string state = status_of(process, "State");
  return state.empty() || std::string_view("TtZX").find(state[0]) != std::string_view::npos;
}

bool has_failed(pid_t process) {
  constexpr size_t kStatus = 49;  // the last word
  const std::vector<std::string> stat = stat_of(process);
  return stat.size() > kStatus && stat[0] == "Z" && stat[kStatus] != "0";
}

int rank_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/environ", process));
  const std::string key = "PMI_RANK=";
  for (std::string entry; std::getline(file, entry, '\0');)
    if (entry.starts_with(key)) return std::atoi(entry.c_str() + key.size());
  return -1;
}

std::vector<JobNeighbour> job_neighbours() {
  std::vector<JobNeighbour> neighbours;
  for (const pid_t process : children_of(getppid()))
    neighbours.push_back({rank_of(process), process, is_stopped(process)});
  return neighbours;
}

bool is_rank_of_job() {
  return std::getenv("PMI_RANK") != nullptr;
}

int rank_in_job() {
  const char* rank = std::getenv("PMI_RANK");
  return rank ? std::atoi(rank) : 0;
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

int ranks_in_job() {
  const char* ranks = std::getenv("PMI_SIZE");
  return ranks ? std::atoi(ranks) : 1;
}

void set_code_channel(int file) {
  code_channel = file;
}

void tell_code_by_line() {
  tells_by_line = true;
}

void tell_code(int code) {
  const std::string line = fmt::format("{}{}\n", kCodeLine, code);
  if (tells_by_line && write(STDERR_FILENO, line.data(), line.size()) < 0) tells_by_line = false;
  const char byte = static_cast<char>(code);
  if (code_channel >= 0 && write(code_channel, &byte, 1) < 0) code_channel = -1;
}

namespace {

// Asks the launcher to end all ranks, and waits for it.
void ask_launcher_to_end(int code, std::chrono::milliseconds patience) {
  std::this_thread::sleep_for(kReading);
  tell_launcher(fmt::format("cmd=abort exitcode={}\n", code));
  std::this_thread::sleep_for(patience);
}

}  // namespace

void end_job(int code) {
  tell_code(code);
  if (is_rank_of_job()) ask_launcher_to_end(code, kTelling);
  _exit(code);
}

void end_cut_off_job(int code) {
  tell_code(code);
  if (is_rank_of_job()) {
    ask_launcher_to_end(code, kEndingAll);
    for (const JobNeighbour& neighbour : job_neighbours())
      if (neighbour.rank >= 0 && neighbour.process != getpid()) kill(neighbour.process, SIGKILL);
    if (is_under_mpich_launcher()) kill(getppid(), SIGKILL);
  }
  _exit(code);
}

namespace {

// Never destroyed, since a thread that outlives main() waits for it.
UniqueFd& supervisor_file() {
  static UniqueFd& file = *new UniqueFd;
  return file;
}

std::atomic<bool> waits_for_mpi = false;  // the file is a clock

}  // namespace

void set_supervisor(UniqueFd connection) {
  supervisor_file() = std::move(connection);
}

void await_mpi(std::chrono::seconds time) {
  UniqueFd clock(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const itimerspec end{{}, {time.count(), 0}};
  if (!clock || timerfd_settime(clock.get(), 0, &end, nullptr) != 0) return;
  supervisor_file() = std::move(clock);
  waits_for_mpi = true;
}

void note_mpi_has_begun() {
  const itimerspec never{};
  if (waits_for_mpi.exchange(false)) timerfd_settime(supervisor(), 0, &never, nullptr);
}

int supervisor() {
  return supervisor_file().get();
}

bool is_under_mpich_launcher() {
  return name_of(getppid()) == kProxy;
}

bool launcher_is_deaf() {
  if (!is_under_mpich_launcher()) return false;
  std::string where;
  std::getline(std::ifstream(fmt::format("/proc/{}/wchan", getppid())), where, '\0');
  return where == "do_wait";
}

void leave_job(int code, pthread_t waiting) {
  if (is_under_mpich_launcher()) end_job(code);
  stop_thread(waiting);
  tell_launcher("cmd=finalize\n");
  pollfd answer = {launcher_socket(), POLLIN, 0};
  poll(&answer, 1, static_cast<int>(kTelling.count()));
  _exit(code);
}

std::vector<UniqueFd> launchers_alive() {
  std::vector<UniqueFd> alive;
  const pid_t proxy = getppid();
  if (!is_rank_of_job() || !is_under_mpich_launcher()) return alive;
  for (const pid_t process : {proxy, parent_of(proxy)}) {
    // The C library of Debian 12 declares pidfd_open without C linkage.
    UniqueFd file(process > 1 ? static_cast<int>(syscall(SYS_pidfd_open, process, 0)) : -1);
    if (file) alive.push_back(std::move(file));
  }
  return alive;
}

}  // namespace mtfc
