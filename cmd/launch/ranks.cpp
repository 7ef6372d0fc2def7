#include "cmd/launch/ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <new>
#include <thread>

#include "cmd/launch/launch.h"
#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

// A rank that has nothing to say waits this long for the one that speaks to end it.
constexpr std::chrono::seconds kLastWords{2};

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
  if (processes.watchdog()->claim_last_word())
    std::cerr << fmt::format("mtfc: error: rank {}: {}\n", processes.rank(), message) << std::flush;
  else
    std::this_thread::sleep_for(kLastWords);
  processes.abort(code);
}

}  // namespace

int run_on_ranks(int64_t watchdog_limit, const RankWork& work) {
  Watchdog watchdog(watchdog_limit);
  Processes processes = Processes::start(watchdog);
  check_launcher(processes.size());
  try {
    work.body(processes);
  } catch (const AgreedStop& stop) {
    processes.finish();
    if (stop.error) std::rethrow_exception(stop.error);
    return stop.code;
  } catch (const AgreedError&) {
    processes.finish();
    if (processes.speaks()) throw;
    return kExitRunFailed;
  } catch (const std::exception& error) {
    end_all(processes, message_of(error, work), exit_code(error));
  }
  return kExitSuccess;
}

void agree(Processes& processes, const std::function<void()>& work) {
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
  throw AgreedStop(gravest, first_with_it == processes.rank() ? error : nullptr);
}

}  // namespace mtfc
