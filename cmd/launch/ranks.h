#pragma once
// The life of a rank, the same for every command that ranks execute: it starts, agrees with the others, and
// ends with them. What went wrong is said once, before MPI ends, and every rank ends with an exit code.
//
//   in agree()      all ranks end with the gravest exit code of any; the first rank that has it says why
//   AgreedError     all ranks throw it alike; rank 0 says it
//   other errors    a rank meets them alone, or at the same time as others: it ends all, and one rank says why
//   a signal        one rank says so; all end (cmd/terminal/interrupt.h)

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/processes/processes.h"
#include "runtime/processes/watchdog.h"

namespace mtfc {

struct RankWork {
  /// Returns the exit code, the same on all ranks.
  std::function<int(Processes&)> body;
  /// The message for a wait that lasted too long.
  std::function<std::string(const WaitError&)> missing = [](const WaitError& error) { return error.what(); };
  bool quiet = false;  // no warnings of hosts
};

/// Makes this process a rank and does the work, whose waits last at most `watchdog_limit` seconds each. Returns the
/// exit code; errors have been shown.
int run_on_ranks(int64_t watchdog_limit, const RankWork& work);

/// Within the body: does `work` on this rank, and goes on where it has succeeded on every rank.
void agree(Processes& processes, const std::function<void()>& work);
/// Does the same with work on files of each host. If it fails on some ranks only, the error names the rank and its
/// host.
void agree_on_files(Processes& processes, const std::function<void()>& work);

}  // namespace mtfc
