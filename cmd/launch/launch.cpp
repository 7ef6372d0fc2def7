#include "cmd/launch/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <sstream>
#include <system_error>

#include "cmd/files/files.h"
#include "cmd/launch/host_lines.h"
#include "cmd/launch/launcher_output.h"
#include "cmd/launch/rank_channel.h"
#include "cmd/launch/rank_processes.h"
#include "cmd/launch/remote_shell.h"
#include "cmd/terminal/interrupt.h"
#include "cmd/terminal/work_watch.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/printable.h"
#include "runtime/processes/host_cores.h"
#include "runtime/processes/unique_fd.h"
#include "runtime/processes/watchdog.h"

namespace mtfc {
namespace {

constexpr const char* kTerminalVariable =
    "MTFC_TERMINAL";  // for ranks: the streams that end at a terminal, as in `1,2`
// On one host. A rank takes some 30 MB and a dozen descriptors, and some milliseconds to start.
constexpr int64_t kMostRanks = 256, kMostPerCore = 8, kManyPerCore = 4;
constexpr const char *kInterrupted = "mtfc: interrupted by ", *kError = "mtfc: error: ";
constexpr int kHoldMilliseconds = 50;  // how long output that may be the launcher's is held back
constexpr int kLookMilliseconds = 20;  // between attempts to find the ranks, until all have started
// If a host is lost, a rank that notices it says so within this time.
constexpr std::chrono::milliseconds kNoticing{1500};

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

int64_t number(const char* text) {
  return text ? std::strtoll(text, nullptr, 10) : 0;
}

bool is_executable(const std::string& path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string in_path(const std::string& name) {
  std::istringstream path(environment("PATH") ? environment("PATH") : "/usr/bin:/bin");
  for (std::string folder; std::getline(path, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (is_executable(candidate)) return candidate;
  }
  return "";
}

bool is_hydra(const std::string& launcher) {
  FILE* pipe = popen(("'" + launcher + "' --version 2>/dev/null").c_str(), "r");
  if (!pipe) return false;
  std::string text(4096, '\0');
  text.resize(fread(text.data(), 1, text.size(), pipe));
  while (fgetc(pipe) != EOF) {
  }
  pclose(pipe);
  return text.find("HYDRA") != std::string::npos || text.find("MPICH") != std::string::npos;
}

}  // namespace

std::string find_launcher() {
  for (const char* name : {"mpiexec.mpich", "mpiexec.hydra"})
    if (const std::string path = in_path(name); !path.empty()) return path;
  if (const std::string path = in_path("mpiexec"); !path.empty() && is_hydra(path)) return path;
  throw RunError("can't start several ranks: MPICH's mpiexec is not installed (apt install mpich)");
}

namespace {

// A stream of the ranks, or of the launcher, and its destination.
struct Relay {
  int from = -1;
  int to = 1;
  bool is_launchers = false;
  LauncherOutput output = {};
  int error = 0;                 // the first reason why something was lost
  bool tells_interrupt = false;  // a rank has said that a signal ended the run
  bool tells_error = false;      // a rank has said why the run has failed
  std::string last = {};         // the last bytes, since such a line may come in two pieces

  void write(const std::string& bytes) {
    last += bytes;
    tells_interrupt |= last.find(kInterrupted) != std::string::npos;
    tells_error |= last.find(kError) != std::string::npos;
    last.erase(0, last.size() - std::min(last.size(), std::strlen(kInterrupted)));
    const int failed = write_all(to, bytes);
    if (error == 0) error = failed;
  }
  void pass(std::string_view bytes) { write(is_launchers ? output.pass(bytes) : std::string(bytes)); }
  void flush() { write(output.flush()); }

  // Passes on the available bytes; returns false at the end of the stream.
  bool pump() {
    char bytes[65536];
    const ssize_t count = read(from, bytes, sizeof bytes);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    pass({bytes, static_cast<size_t>(count)});
    return true;
  }
  void drain() {
    char bytes[65536];
    for (ssize_t count; (count = read(from, bytes, sizeof bytes)) > 0;)
      pass({bytes, static_cast<size_t>(count)});
    flush();
  }
};

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD}) sigaddset(&set, signal);
  return set;
}

// Makes this (forked) process the launcher. It gets a group of its own, so that the terminal's Ctrl-C does
// not reach it in addition to the signal that is passed on; but only the terminal's own group may read from
// the terminal, which ranks have no need to do.
[[noreturn]] void become(const std::vector<std::string>& command, pid_t parent, int out, int err) {
  // The launcher dies with the process that started it. Its ranks notice that and exit (runtime/processes/job.h).
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExitRunFailed);
  setpgid(0, 0);
  if (isatty(STDIN_FILENO)) dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  const sigset_t signals = handled_signals();
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  fmt::print(stderr, "mtfc: error: can't start {}: {}\n", command[0], std::strerror(errno));
  _exit(127);
}

void describe_terminal() {
  std::string streams;
  for (const int stream : {1, 2})
    if (is_terminal(stream)) streams += fmt::format("{}{}", streams.empty() ? "" : ",", stream);
  if (streams.empty()) {
    unsetenv(kTerminalVariable);
    return;
  }
  setenv(kTerminalVariable, streams.c_str(), 1);
  setenv("COLUMNS", std::to_string(terminal_width()).c_str(), 1);
}

// The streams that are passed on, and the signal that ends the run.
struct Relays {
  Relay out, err, launcher_out, launcher_err;
  int signal = 0;                          // the first that asked the run to end
  std::optional<int> told = std::nullopt;  // the exit code of the ranks, as they say
  std::array<Relay*, 4> all() { return {&out, &err, &launcher_out, &launcher_err}; }
  // Ranks of other hosts write through the launcher.
  bool tell_interrupt() const { return err.tells_interrupt || launcher_err.tells_interrupt; }
  bool tell_error() const { return err.tells_error || launcher_err.tells_error; }
};

// Passes on a signal. Returns true if the launcher has ended.
bool handle_signal(int signal_file, pid_t launcher, Relays& relays, RankProcesses& processes, int& status) {
  signalfd_siginfo got;
  bool ended = false;
  while (read(signal_file, &got, sizeof got) == sizeof got) {
    const int signal = static_cast<int>(got.ssi_signo);
    if (signal == SIGCHLD) {
      ended |= waitpid(launcher, &status, WNOHANG) == launcher;
      continue;
    }
    if (relays.signal == 0 && signal != SIGUSR1) relays.signal = signal;
    processes.send(signal);
  }
  return ended;
}

// Relays until the launcher has ended; returns its wait status.
int relay_until_end(pid_t launcher, int signals, Relays& relays, RankProcesses& processes, HostLines& lines) {
  bool is_lost = false;  // a host does not answer, and the launcher has been killed
  for (int status = 0;;) {
    std::vector<pollfd> waits{
        {signals, POLLIN, 0}, {processes.queue(), POLLIN, 0}, {lines.queue(), POLLIN, 0}};
    const size_t streams = waits.size();
    bool holds = false;
    for (const Relay* relay : relays.all()) {
      waits.push_back({relay->from, POLLIN, 0});
      holds |= relay->output.holds();
    }
    const int ready = poll(waits.data(), waits.size(),
                           processes.is_busy() || lines.lost_rank() >= 0 ? kLookMilliseconds
                           : holds                                       ? kHoldMilliseconds
                                                                         : -1);
    processes.look();
    lines.look();
    if (!is_lost && lines.lost_rank() >= 0 &&
        std::chrono::steady_clock::now() - lines.lost_at() > kNoticing) {
      is_lost = true;
      processes.kill_all();
    }
    if (ready == 0)
      for (Relay* relay : relays.all()) relay->flush();
    if (ready <= 0) continue;
    for (size_t i = 0; i < relays.all().size(); ++i)
      if (Relay* relay = relays.all()[i]; waits[i + streams].revents != 0 && !relay->pump()) relay->from = -1;
    if (waits[0].revents != 0 && handle_signal(signals, launcher, relays, processes, status)) return status;
  }
}

// Returns the rank that was killed by the signal that the launcher reports, or -1 if it is not known.
int killed_rank(const LauncherWord& word, const RankProcesses& processes, bool are_all_here) {
  const auto fits = [&](int rank) {
    const auto index = static_cast<size_t>(rank);
    return index < word.statuses.size() && (word.statuses[index] & 0x7f) == word.signal;
  };
  std::vector<int> candidates;
  for (size_t rank = 0; rank < word.statuses.size(); ++rank)
    if (fits(static_cast<int>(rank))) candidates.push_back(static_cast<int>(rank));
  if (candidates.size() == 1) return candidates[0];
  // If the launcher has lost a status, only the order is known, and only on this host.
  if (are_all_here)
    for (const int rank : processes.ended())
      if (candidates.empty() || fits(rank)) return rank;
  return -1;
}

// Returns whether `code` is that of a command that a signal has ended.
bool is_interrupted(int code) {
  return code == interrupted_code(SIGINT) || code == interrupted_code(SIGTERM) ||
         code == interrupted_code(SIGHUP);
}

// The exit code of the launcher, which says 0 at times though the ranks say something else, or nothing because they
// have not come to their end; -1 then, or if a signal ended it.
int launcher_code(int status, const Relays& relays) {
  if (!WIFEXITED(status)) return -1;
  return WEXITSTATUS(status) == kExitSuccess ? relays.told.value_or(-1) : WEXITSTATUS(status);
}

// The code of a run that was to end: that of the ranks, if they have given a reason of their own.
int interrupted_exit_code(int status, const Relays& relays) {
  const int code = launcher_code(status, relays);
  if (relays.launcher_out.output.word().signal == 0 && code >= 0 && code <= kExitInternalError) return code;
  if (!relays.tell_interrupt()) fmt::print(stderr, "mtfc: {}\n", interrupted_text(relays.signal));
  return is_interrupted(code) ? code : interrupted_code(relays.signal);
}

// `rank 3`, `rank 3 on host 'b'`, `rank 2 or 3 on host 'b'`, `a rank`. The launcher kills the other ranks in the same
// way, so that the rank is not always known.
std::string killed_text(const LauncherWord& word, const RankProcesses& processes,
                        const std::vector<Host>& hosts) {
  const int rank = killed_rank(word, processes, hosts.size() <= 1);
  if (rank >= 0) return fmt::format("rank {}", rank);
  int64_t first = 0;
  for (const Host& host : hosts) {
    if (host.name == word.host)
      return fmt::format("rank {}{} on host '{}'", first,
                         host.ranks == 1   ? ""
                         : host.ranks == 2 ? fmt::format(" or {}", first + 1)
                                           : fmt::format(" to {}", first + host.ranks - 1),
                         host.name);
    first += host.ranks;
  }
  return word.host.empty() ? "a rank" : fmt::format("a rank on host '{}'", word.host);
}

// Names the host of a rank, as in `host 'b' (ranks 2, 3)`.
std::string host_text(int rank, const std::vector<Host>& hosts) {
  int first = 0;
  for (const Host& host : hosts) {
    std::vector<int> ranks(static_cast<size_t>(host.ranks));
    std::iota(ranks.begin(), ranks.end(), first);
    first += static_cast<int>(host.ranks);
    if (rank < first) return fmt::format("host '{}' ({})", host.name, rank_text(ranks));
  }
  return fmt::format("the host of rank {}", rank);
}

// Why the run has ended, if no rank has said it.
std::string launcher_failure(int status, int code, int lost_host, int lost_rank,
                             const std::vector<Host>& hosts) {
  if (lost_rank >= 0)
    return fmt::format("{} no longer answers; the run has ended", host_text(lost_rank, hosts));
  if (lost_host >= 0 && static_cast<size_t>(lost_host) < hosts.size())
    return fmt::format(
        "the launcher can't reach host '{}', or has lost its connection to it; the run has ended",
        hosts[static_cast<size_t>(lost_host)].name);
  if (WIFSIGNALED(status))
    return fmt::format("mpiexec was killed by signal {} ({}); the run has ended", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  if (code < 0) return "mpiexec ended before the ranks were done";
  return fmt::format("mpiexec ended with exit code {}", code);
}

int run_exit_code(int status, const Relays& relays, const RankProcesses& processes, int lost_rank,
                  const std::vector<Host>& hosts) {
  const LauncherWord& word = relays.launcher_out.output.word();
  if (relays.signal != 0) return interrupted_exit_code(status, relays);
  // A launcher that has lost a host may kill the ranks of this one, and then says that one of these was killed.
  const bool is_consequence = word.signal == SIGKILL && processes.lost_host_first() &&
                              static_cast<size_t>(processes.lost_host()) < hosts.size() &&
                              hosts[static_cast<size_t>(processes.lost_host())].name != word.host;
  if (word.signal != 0 && lost_rank < 0 && !is_consequence) {
    fmt::print(stderr, "mtfc: error: {} was killed by signal {} ({}); the run has ended\n",
               killed_text(word, processes, hosts), word.signal, strsignal(word.signal));
    return kExitRunFailed;
  }
  const int code = launcher_code(status, relays);
  if ((code >= 0 && code <= kExitInternalError) || is_interrupted(code)) return code;
  const int told = relays.told.value_or(kExitSuccess);
  if (told != kExitSuccess) return told;  // a rank has said why
  // The launcher fails too when a rank ends the proxies because a host is lost.
  if (!relays.tell_error())
    fmt::print(stderr, "mtfc: error: {}\n",
               launcher_failure(status, code, processes.lost_host(), lost_rank, hosts));
  return kExitRunFailed;
}

// Returns whether the environment tells the launcher on which hosts to start ranks.
bool names_hosts() {
  return environment("HYDRA_HOST_FILE") || environment("SLURM_JOB_NODELIST") || environment("PBS_NODEFILE");
}

// Refuses more ranks than a host can sensibly start, and warns where they share cores with many others. Whoever means
// it can start mpiexec.
void check_room(int64_t ranks, bool quiet) {
  cpu_set_t set;
  const int64_t cores = sched_getaffinity(0, sizeof set, &set) == 0 ? HostCores(set).cores() : 1;
  const std::string here = cores == 1 ? "1 core" : fmt::format("{} cores", cores);
  if (ranks > std::max(kMostRanks, kMostPerCore * cores))
    throw UserError(
        fmt::format("the mesh has {} devices, which need a rank each, but this host has {}", ranks, here),
        fmt::format("compile, cost-report and search need no ranks; name several hosts with --hosts, or "
                    "start it with mpiexec -n {} or srun",
                    ranks));
  if (ranks > kManyPerCore * cores && !quiet)
    std::cerr << fmt::format("mtfc: warning: {} ranks share the {} of this host, which is slow\n", ranks,
                             here);
}

}  // namespace

std::string own_path() {
  std::string path(PATH_MAX, '\0');
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length < 0)
    throw RunError(fmt::format("can't find mtfc's own executable file: {}", std::strerror(errno)));
  path.resize(static_cast<size_t>(length));
  return path;
}

std::optional<LaunchedBy> launched_by() {
  if (const char* ranks = environment("OMPI_COMM_WORLD_SIZE"))
    return LaunchedBy{"OMPI_COMM_WORLD_SIZE", "mpiexec of Open MPI", number(ranks)};
  // The script of a batch job has the job's variables and may start ranks; a task of srun belongs to a step. The shell
  // of an interactive job is a step, too, which has one task, however many the job has; it may start ranks like a
  // script.
  const char* of_step = environment("SLURM_STEP_NUM_TASKS");
  const bool is_alone = of_step && number(of_step) <= 1;
  if (const char* ranks = environment("PMI_SIZE"); ranks && (!is_alone || number(ranks) > 1))
    return LaunchedBy{"PMI_SIZE", "a PMI launcher", number(ranks)};
  if (is_alone) return std::nullopt;
  if (of_step) return LaunchedBy{"SLURM_STEP_NUM_TASKS", "srun", number(of_step)};
  const char* tasks = environment("SLURM_NTASKS");
  if (tasks && (environment("SLURM_STEP_ID") || !environment("SLURM_JOB_ID")))
    return LaunchedBy{"SLURM_NTASKS", "srun", number(tasks)};
  for (const char* variable : {"PMI_RANK", "PMIX_RANK"})
    if (environment(variable)) return LaunchedBy{variable, "a PMI launcher", 0};
  return std::nullopt;
}

void check_launcher(int64_t size_seen_by_mpi) {
  const std::optional<LaunchedBy> by = launched_by();
  if (!by || size_seen_by_mpi > 1 || by->ranks <= 1) return;
  throw UserError(fmt::format("this rank is alone, but {}={} says that there are {} ranks: {} starts ranks "
                              "of another MPI than the one mtfc uses, MPICH",
                              by->variable, by->ranks, by->ranks, by->launcher),
                  by->launcher == "srun" ? "use srun --mpi=pmi2, or mpiexec.mpich" : "use mpiexec.mpich");
}

int launch_ranks(const Launch& launch) {
  if (launch.hosts.empty() && !names_hosts()) check_room(launch.ranks, launch.quiet);
  std::vector<std::string> command{find_launcher(), "-print-all-exitcodes"};
  if (!launch.hosts.empty()) command.insert(command.end(), {"-hosts", to_string(launch.hosts)});
  command.insert(command.end(), {"-n", std::to_string(launch.ranks), own_path()});
  command.insert(command.end(), launch.arguments.begin(), launch.arguments.end());
  describe_terminal();
  limit_waits_of_ssh();

  const RankChannel channel;
  HostLines lines(!launch.hosts.empty() || names_hosts());
  Pipe out, err;
  const sigset_t signals = handled_signals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  if (const int signal = leave_interrupts(); signal != 0) return interrupted_code(signal);
  const UniqueFd signal_file(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  std::fflush(nullptr);
  std::cout.flush();
  const pid_t self = getpid(), launcher = fork();
  if (launcher < 0) throw RunError(fmt::format("can't start {}: {}", command[0], std::strerror(errno)));
  if (launcher == 0) become(command, self, out.in.get(), err.in.get());
  for (Pipe* pipe : {&out, &err}) pipe->in.reset();  // else it would not end with the launcher
  Relays relays{{channel.out.out.get(), STDOUT_FILENO},
                {channel.err.out.get(), STDERR_FILENO},
                {out.out.get(), STDOUT_FILENO, true},
                {err.out.get(), STDERR_FILENO, true}};
  RankProcesses processes(launcher, launch.ranks);
  const int status = relay_until_end(launcher, signal_file.get(), relays, processes, lines);
  processes.kill_ranks();
  for (Relay* relay : relays.all()) relay->drain();
  relays.told = channel.told_code();
  if (!relays.told) relays.told = relays.launcher_err.output.word().code;
  if (const int code = launcher_code(status, relays); code < 0 || code > kExitInternalError) lines.settle();
  const int code = run_exit_code(status, relays, processes, lines.lost_rank(), launch.hosts);
  const int lost = relays.out.error != 0 ? relays.out.error : relays.launcher_out.error;
  if (code == kExitSuccess && lost != 0)
    throw RunError(fmt::format("cannot write to standard output: {}", std::strerror(lost)));
  return code;
}

int pending_interrupt() {
  sigset_t pending;
  sigpending(&pending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (sigismember(&pending, signal) == 1) return signal;
  return 0;
}

int end_interrupted(int signal) {
  fmt::print(stderr, "mtfc: {}\n", interrupted_text(signal));
  return interrupted_code(signal);
}

bool is_terminal(int stream) {
  if (isatty(stream)) return true;
  const char* streams = environment(kTerminalVariable);
  return streams && std::strchr(streams, '0' + stream) != nullptr;
}

void tell_written(const std::string& file, bool quiet) {
  std::error_code error;
  // A device or a pipe is read by something else.
  if (quiet || file == "-" || !is_terminal(STDERR_FILENO) || !std::filesystem::is_regular_file(file, error))
    return;
  WorkWatch::make_way();
  std::cerr << fmt::format("mtfc: wrote '{}'\n", printable(file));
}

StatusLine::Place status_place(bool quiet) {
  if (quiet) return StatusLine::Place::kNowhere;
  if (is_terminal(STDERR_FILENO)) return StatusLine::Place::kTerminal;
  const char* progress = environment("MTFC_PROGRESS");
  return progress && std::string_view(progress) == "0" ? StatusLine::Place::kNowhere
                                                       : StatusLine::Place::kFile;
}

namespace {

// Returns the width that the variable COLUMNS states, or 0 if it states none.
int stated_width() {
  const int64_t columns = number(environment("COLUMNS"));
  return columns > 0 ? static_cast<int>(columns) : 0;
}

}  // namespace

int terminal_width() {
  winsize size{};
  for (const int stream : {STDERR_FILENO, STDOUT_FILENO})
    if (ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int stated = stated_width();
  return stated > 0 ? stated : 80;
}

size_t text_width(const std::string& file, size_t usual) {
  constexpr int kLeast = 40;
  if (file != "-") return usual;
  const int width = is_terminal(STDOUT_FILENO) ? terminal_width() : stated_width();
  return width > 0 ? static_cast<size_t>(std::max(width, kLeast)) : usual;
}

}  // namespace mtfc
