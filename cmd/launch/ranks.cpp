#include "cmd/launch/ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <thread>

#include "cmd/launch/launch.h"
#include "cmd/launch/same_hosts.h"
#include "cmd/terminal/error_text.h"
#include "cmd/terminal/interrupt.h"
#include "core/diagnostics/error.h"
#include "runtime/processes/host_watch.h"
#include "runtime/processes/job.h"

namespace mtfc {
namespace {

// A rank that has nothing to say waits this long for the one that speaks to end it.
constexpr std::chrono::seconds kLastWords{2};
constexpr std::chrono::milliseconds kOtherNode{500};
// All must end within a second of a signal.
constexpr std::chrono::milliseconds kSignalCourtesy{150};

// Ends the body on every rank. `error` is set on the one that says why.
struct AgreedStop : Error {
  AgreedStop(int gravest, std::exception_ptr why)
      : Error("the ranks have agreed to stop"), code(gravest), error(std::move(why)) {}
  int code;
  std::exception_ptr error;
};

std::string message_of(const std::exception& error, const RankWork& work) {
  if (const auto* wait = dynamic_cast<const WaitError*>(&error)) return work.missing(*wait);
  return dynamic_cast<const std::bad_alloc*>(&error) ? "out of memory" : error.what();
}

// The others may be waiting for this rank, so all must end.
[[noreturn]] void end_all(Processes& processes, const std::string& message, int code) {
  // Several nodes may fail in the same way; the node of rank 0 then says so.
  if (!processes.watchdog()->sees(0)) processes.watchdog()->beat_for(kOtherNode);
  if (processes.watchdog()->claim_last_word())
    std::cerr << fmt::format("mtfc: error: rank {}: {}\n", processes.rank(), message) << std::flush;
  else
    std::this_thread::sleep_for(kLastWords);
  processes.abort(code);
}

// Several ranks get the same signal; a rank of rank 0's node speaks, unless that node can't.
bool speaks_of_signal(const Watchdog& watchdog) {
  if (!watchdog.sees(0)) std::this_thread::sleep_for(kSignalCourtesy);
  return watchdog.claim_last_word(kSignalCourtesy);
}

// Tells what the ranks have agreed on, where this is the rank to do so, and returns the exit code.
int told(Processes& processes, const std::exception& error) {
  if (const auto* stop = dynamic_cast<const AgreedStop*>(&error)) {
    if (stop->error) show_error(stop->error);
    return stop->code;
  }
  if (processes.is_root()) show_error(error);
  return kExitRunFailed;
}

// Does the work, and returns the exit code on which the ranks have agreed.
int work_as_rank(Processes& processes, const RankWork& work) {
  try {
    require_same_program(processes, work.quiet);
    return work.body(processes);
  } catch (const AgreedStop& stop) {
    return told(processes, stop);
  } catch (const AgreedError& error) {
    return told(processes, error);
  }
}

// Called by a thread of its own: a host no longer answers, and the others would wait for it. Slurm ends such a job
// itself when it takes the node for lost, and then starts it again, which it would not do if the ranks ended it.
void end_without_host(const Watchdog& watchdog, const std::string& what) {
  if (std::getenv("SLURM_JOB_ID") && !is_under_mpich_launcher()) {
    std::cerr << fmt::format("mtfc: warning: {}; the run waits for Slurm to end it\n", what) << std::flush;
    return;
  }
  if (watchdog.claim_last_word())
    std::cerr << fmt::format("mtfc: error: {}; the run has ended\n", what) << std::flush;
  else
    std::this_thread::sleep_for(kLastWords);  // another rank of this node is about to end the run
  end_cut_off_job(kExitRunFailed);
}

// MPI can't start if a node lacks the memory for it, or for reasons that it says itself.
Processes started(Watchdog& watchdog) {
  try {
    return Processes::start(watchdog);
  } catch (const std::exception& error) {
    const char* place = std::getenv("MPI_LOCALRANKID");
    if (!place || std::atoi(place) == 0) show_error(error);
    end_job(exit_code(error));
  }
}

}  // namespace

int run_on_ranks(int64_t watchdog_limit, const RankWork& work) {
  Watchdog watchdog(watchdog_limit);
  Processes processes = started(watchdog);
  note_mpi_has_begun();
  check_launcher(processes.size());
  set_interrupt_end({[&] { return speaks_of_signal(watchdog); }, nullptr});
  int code = kExitSuccess;
  try {
    HostWatch hosts(processes, {[&](const std::string& what) { end_without_host(watchdog, what); },
                                [&](const std::string& why) {
                                  if (!work.quiet) std::cerr << fmt::format("mtfc: warning: {}\n", why);
                                }});
    code = work_as_rank(processes, work);
    std::cout.flush();
    tell_code(code);
    hosts.say_goodbye();
    processes.finish(code);
  } catch (const std::exception& error) {
    end_all(processes, message_of(error, work), exit_code(error));
  }
  set_interrupt_end({});
  return code;
}

namespace {

// Does `work` as agree() does. `placed` returns the error to show for that of one of several ranks that have failed,
// while others have not.
void agree_with(Processes& processes, const std::function<void()>& work,
                std::exception_ptr (*placed)(const Processes&, const std::exception_ptr&)) {
  int code = kExitSuccess;
  std::exception_ptr error;
  try {
    work();
  } catch (const std::exception& failed) {
    code = exit_code(failed);
    error = std::current_exception();
  }
  const auto gravest = static_cast<int>(processes.maximum(code));
  if (gravest == kExitSuccess) return;
  const int64_t first_with_it = -processes.maximum(code == gravest ? -processes.rank() : -processes.size());
  int64_t failed_ranks = error ? 1 : 0;
  processes.sum({&failed_ranks, 1});
  if (error && placed && failed_ranks < processes.size()) error = placed(processes, error);
  throw AgreedStop(gravest, first_with_it == processes.rank() ? error : nullptr);
}

std::exception_ptr with_host(const Processes& processes, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RunError& failed) {
    return std::make_exception_ptr(
        RunError(fmt::format("{} (rank {}, host '{}')", failed.what(), processes.rank(), host_name())));
  } catch (...) {
    return error;
  }
}

}  // namespace

void agree(Processes& processes, const std::function<void()>& work) {
  agree_with(processes, work, nullptr);
}

void agree_on_files(Processes& processes, const std::function<void()>& work) {
  agree_with(processes, work, with_host);
}

}  // namespace mtfc
