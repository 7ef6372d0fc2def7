#pragma once
// The way of the ranks' output to the process that has started them with mpiexec. Through mpiexec it would mix with
// what mpiexec says itself, and a line of a rank could look like one of mpiexec's.
//
//   rank 0, standard output ──┐
//   rank 1, standard output ──┴─ pipe ──> mtfc run ──> standard output
//   mpiexec, standard output ── another pipe ──> read for how ranks ended (launcher_output.h)

#include <optional>

#include "runtime/processes/unique_fd.h"

namespace mtfc {

/// A pipe whose reading end does not wait. Throws RunError.
struct Pipe {
  Pipe();
  UniqueFd out, in;  // what is written to `in` is read from `out`
};

/// Pipes for standard output, for standard error and for the codes that ranks end with. Ranks open them through /proc,
/// as long as this object lives.
struct RankChannel {
  /// Names itself in the environment, for ranks. Throws RunError.
  RankChannel();
  Pipe out, err, code;
  /// The code that the first rank to end has told; nothing where none has.
  std::optional<int> told_code() const;
};

/// For a rank: writes to the channel that the environment names, if it is there; called before anything is written. A
/// rank of another host connects to the process by a HostLines, if the process has them.
void use_rank_channel();

}  // namespace mtfc
