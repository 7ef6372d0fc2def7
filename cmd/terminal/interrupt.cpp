#include "cmd/terminal/interrupt.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/diagnostics/error.h"
#include "runtime/processes/job.h"
#include "runtime/processes/unique_fd.h"

namespace mtfc {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// The part of a second that the launcher and the system need to end ranks.
constexpr double kEnding = 0.45;
// After the main thread has got on, or has written a checkpoint, it may take so many seconds more.
constexpr double kMore = 4;
// A signal that follows another within so many seconds may be the same one, sent twice.
constexpr double kSameSignal = 2;
// A rank that is not the first gives the first one the chance to speak.
constexpr std::chrono::milliseconds kCourtesy{150};
constexpr int kLook = 20;  // milliseconds between looks at the clock, once a signal has come

sigset_t watched_signals() {
  struct sigaction hangup;
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set, signal);
  // nohup has it ignored.
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
  return set;
}

double seconds_since(Clock::time_point then) {
  return Seconds(Clock::now() - then).count();
}

// The signals that have come.
struct Received {
  std::atomic<int> signal = 0;  // the first that ends the process
  std::atomic<int> saves = 0;
  Clock::time_point since;   // `signal`
  int64_t turns_before = 0;  // of the main thread, then
  bool at_once = false;      // nothing more is waited for
};

// The state of the main thread.
struct MainWork {
  std::atomic<int64_t> turns = 0;  // how often it got on
  std::atomic<bool> told = false;
  bool guarded = false;
  double patience = 1;
  std::function<std::string()> reason;
  int holds = 0;
  Clock::time_point held;  // the last time
  std::set<std::string> unfinished;
};

// The signals that the process has received, and its answer to them. This object is never destroyed, since the thread
// outlives main().
class Interrupts {
 public:
  static Interrupts& the() {
    static Interrupts& interrupts = *new Interrupts;
    return interrupts;
  }

  void watch(bool clears_line);
  int leave();
  // The seconds that the main thread still has; the caller has locked `mutex`.
  double time_left() const;

  std::mutex mutex;  // guards all that is not atomic
  Received received;
  MainWork work;
  InterruptEnd end_by;
  UniqueFd failed;  // a signal handler ends the process by it
  std::atomic<const char*> last_line = nullptr;
  std::atomic<int> last_code = 0;
  std::atomic<bool> is_watching = false;

 private:
  void wait_for_signals();
  void note(int number);
  bool speaks() const;
  void end();
  [[noreturn]] void end_failed() const;

  sigset_t signals_ = {};
  UniqueFd signal_file_, stop_;
  std::thread thread_;
  bool clears_line_ = false;
};

void Interrupts::watch(bool clears_line) {
  signals_ = watched_signals();
  clears_line_ = clears_line;
  sigprocmask(SIG_BLOCK, &signals_, nullptr);
  signal_file_ = UniqueFd(signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
  stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  failed = UniqueFd(eventfd(0, EFD_CLOEXEC));
  if (!signal_file_ || !stop_ || !failed)
    throw RunError("can't wait for signals: there are too many open files");
  thread_ = std::thread([this] { wait_for_signals(); });
  is_watching = true;
}

int Interrupts::leave() {
  if (!thread_.joinable()) return 0;
  is_watching = false;
  eventfd_write(stop_.get(), 1);
  thread_.join();
  return received.signal;
}

void Interrupts::wait_for_signals() {
  const std::vector<UniqueFd> launchers = launchers_alive();
  std::vector<pollfd> waits{
      {stop_.get(), POLLIN, 0}, {signal_file_.get(), POLLIN, 0}, {failed.get(), POLLIN, 0}};
  waits.push_back({supervisor(), POLLIN, 0});
  for (const UniqueFd& launcher : launchers) waits.push_back({launcher.get(), POLLIN, 0});
  for (;;) {
    poll(waits.data(), waits.size(), received.signal != 0 ? kLook : -1);
    // Nobody would read the output of a rank whose launcher has died, or wait for its end.
    if (std::any_of(waits.begin() + 4, waits.end(),
                    [](const pollfd& launcher) { return launcher.revents != 0; }))
      _exit(kExitRunFailed);
    if (waits[2].revents != 0) end_failed();
    // The process that has started the launcher has ended, or its host does not answer, or could never be reached.
    if (waits[3].revents != 0) end_cut_off_job(kExitRunFailed);
    signalfd_siginfo got;
    while (read(signal_file_.get(), &got, sizeof got) == sizeof got) note(static_cast<int>(got.ssi_signo));
    const std::unique_lock lock(mutex);
    if (received.signal != 0 && (received.at_once || time_left() <= 0)) end();
    if (waits[0].revents != 0) return;
  }
}

void Interrupts::note(int number) {
  const std::unique_lock lock(mutex);
  if (number == SIGUSR1) {
    ++received.saves;
  } else if (received.signal == 0) {
    received.since = Clock::now();
    received.turns_before = work.turns;
    received.at_once = !work.guarded;
    received.signal = number;
  } else if (number == SIGINT && seconds_since(received.since) >= kSameSignal) {
    received.at_once = true;
  }
}

double Interrupts::time_left() const {
  if (work.holds > 0) return kMore;
  const double waited = seconds_since(received.since);
  double left = work.patience - kEnding - waited;
  if (work.turns > received.turns_before) left = std::max(left, kMore - waited);
  if (work.held > received.since) left = std::max(left, kMore - seconds_since(work.held));
  return left;
}

bool Interrupts::speaks() const {
  const bool is_ours = end_by.speaks ? end_by.speaks() : rank_in_job() == 0;
  if (!is_ours) std::this_thread::sleep_for(kCourtesy);
  return is_ours;
}

void Interrupts::end_failed() const {
  const std::string line = (clears_line_ ? "\r\033[K" : "") + std::string(last_line) + "\n";
  if (speaks() && write(STDERR_FILENO, line.data(), line.size()) < 0) _exit(last_code);
  end_job(last_code);
}

// Called by the thread, with the lock, so that nothing that it calls ends meanwhile.
void Interrupts::end() {
  const int code = interrupted_code(received.signal);
  for (const std::string& path : work.unfinished) unlink(path.c_str());
  if (speaks() && !work.told) {
    const std::string why = work.reason ? work.reason() : "";
    const std::string line = fmt::format("{}mtfc: {}{}{}\n", clears_line_ ? "\r\033[K" : "",
                                         interrupted_text(received.signal), why.empty() ? "" : ": ", why);
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) _exit(code);
  }
  if (end_by.end) end_by.end(code);
  end_job(code);
}

}  // namespace

void watch_interrupts(bool clears_line) {
  Interrupts::the().watch(clears_line);
}

int leave_interrupts() {
  return Interrupts::the().leave();
}

void end_from_handler(const char* line, int code) {
  Interrupts& interrupts = Interrupts::the();
  if (!interrupts.is_watching) return;
  const char* none = nullptr;
  const uint64_t one = 1;
  // Another thread may have come first.
  if (interrupts.last_line.compare_exchange_strong(none, line)) {
    interrupts.last_code = code;
    if (write(interrupts.failed.get(), &one, sizeof one) < 0) return;
  }
  const timespec patience{5, 0};
  nanosleep(&patience, nullptr);
}

std::string interrupted_text(int signal) {
  const char* name = sigabbrev_np(signal);
  return fmt::format("interrupted by SIG{}", name ? name : "?");
}

void set_interrupt_end(InterruptEnd end) {
  const std::lock_guard lock(Interrupts::the().mutex);
  Interrupts::the().end_by = std::move(end);
}

InterruptGuard::InterruptGuard(double patience, std::function<std::string()> reason) {
  Interrupts& interrupts = Interrupts::the();
  const std::lock_guard lock(interrupts.mutex);
  interrupts.work.guarded = true;
  interrupts.work.patience = patience;
  interrupts.work.reason = std::move(reason);
}

// If a signal has come, the main thread keeps the rest of its time to return from main(). If the first signal comes
// later, it ends the process at once.
InterruptGuard::~InterruptGuard() {
  Interrupts& interrupts = Interrupts::the();
  const std::lock_guard lock(interrupts.mutex);
  interrupts.work.guarded = false;
  interrupts.work.reason = nullptr;
}

int InterruptGuard::signal() {
  return Interrupts::the().received.signal;
}

bool InterruptGuard::is_late() {
  Interrupts& interrupts = Interrupts::the();
  if (interrupts.received.signal == 0) return false;
  const std::lock_guard lock(interrupts.mutex);
  return seconds_since(interrupts.received.since) > (interrupts.work.patience - kEnding) / 2;
}

int InterruptGuard::saves_requested() {
  return Interrupts::the().received.saves;
}

void InterruptGuard::get_on() {
  ++Interrupts::the().work.turns;
}

void InterruptGuard::told() {
  Interrupts::the().work.told = true;
}

InterruptHold::InterruptHold() {
  const std::lock_guard lock(Interrupts::the().mutex);
  ++Interrupts::the().work.holds;
}

InterruptHold::~InterruptHold() {
  const std::lock_guard lock(Interrupts::the().mutex);
  --Interrupts::the().work.holds;
  Interrupts::the().work.held = Clock::now();
}

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)) {
  const std::lock_guard lock(Interrupts::the().mutex);
  Interrupts::the().work.unfinished.insert(path_);
}

UnfinishedFile::~UnfinishedFile() {
  const std::lock_guard lock(Interrupts::the().mutex);
  Interrupts::the().work.unfinished.erase(path_);
}

}  // namespace mtfc
