#pragma once
// Ctrl-C and signals that ask a command to end. The rule is the same for every command and every rank:
//
//   SIGINT, SIGTERM, SIGHUP   the command ends with the exit code 128 + the signal's number: 130, 143, 129
//   SIGUSR1                   a run saves a checkpoint and goes on
//
// A thread of its own waits for signals, so a main thread that computes, waits or hangs cannot delay the end. Without
// an InterruptGuard the thread ends the process at once. While a guard lives, the main thread has a second (or the
// guard's patience) to end in an orderly manner; then the thread ends the process, and with it all ranks. Of the
// signals after the first, only a SIGINT ends the process sooner, and only after two seconds: `timeout` and Slurm send
// the same signal to a process and to its group.
//
//   main thread   step 7 .......... step 7 ends, saves, returns 130
//   this thread       ^ SIGTERM            ^ would end the process here, if main had not

#include <functional>
#include <string>

namespace mtfc {

/// Starts to wait for signals: called first of all by main(), since threads that are started later inherit that
/// these signals do not reach them. `clears_line`: a progress line may stand where the message goes.
void watch_interrupts(bool clears_line);
/// Leaves the signals, which stay blocked, to the caller, who starts another program or waits for one. Returns the
/// signal that has come before, or 0.
int leave_interrupts();

/// Ends the process, and all ranks, from a signal handler: the thread that waits for signals says `line`, which must
/// live on, unless another rank speaks, and ends them with `code`. Returns if there is no such thread, or if it does
/// not do so within some seconds.
void end_from_handler(const char* line, int code);

/// The exit code of a command that `signal` ends.
constexpr int interrupted_code(int signal) {
  return 128 + signal;
}
/// `interrupted by SIGTERM`
std::string interrupted_text(int signal);

/// How a process ends that a signal ends.
struct InterruptEnd {
  /// Returns whether this process says so. Other ranks of the job may.
  std::function<bool()> speaks;
  /// Ends the process, and other ranks with it.
  std::function<void(int code)> end;
};
/// Replaces the way in which this process ends; for ranks.
void set_interrupt_end(InterruptEnd end);

/// The main thread of a command ends by itself when a signal has come. There is one guard at a time.
class InterruptGuard {
 public:
  /// `patience`: the seconds that it may take, 1 or more. `reason` says, on another thread, what the main thread is
  /// doing if it has not ended by then; it may be called until the destructor returns.
  explicit InterruptGuard(double patience = 1, std::function<std::string()> reason = nullptr);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool requested() { return signal() != 0; }
  /// The signal that ends the process, or 0.
  static int signal();
  /// Returns whether more than half of the time to end has passed.
  static bool is_late();
  /// The number of SIGUSR1 that have come.
  static int saves_requested();
  /// The main thread gets on: where it has done so since the signal, it gets some more seconds, because it would have
  /// noticed the signal if the machine were not busy.
  static void get_on();
  /// The user has been told why the process ends.
  static void told();
};

/// The process is not ended while this lives, as while a checkpoint is written; except by a SIGINT some time after the
/// first signal, or by SIGKILL.
class InterruptHold {
 public:
  InterruptHold();
  ~InterruptHold();
  InterruptHold(const InterruptHold&) = delete;
  InterruptHold& operator=(const InterruptHold&) = delete;
};

/// A file that is removed when a signal ends the process during this object's lifetime.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

 private:
  std::string path_;
};

}  // namespace mtfc
