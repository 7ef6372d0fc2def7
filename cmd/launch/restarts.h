#pragma once
// Runs that start again after a failure, from their last checkpoint, on the hosts that are left.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cmd/launch/host_list.h"
#include "core/tensors/mesh.h"

namespace mtfc {

struct Restarts {
  int64_t most = 0;
  std::vector<std::string> arguments;  // of this command, without its own name, --hosts and --restarts
  std::vector<Host> hosts;             // empty: as the launcher decides
  Mesh mesh;
  bool quiet = false;
  /// Throws UserError if the program can't be compiled for a smaller mesh.
  std::function<void(const Mesh&)> require_mesh;
};

/// Starts the ranks. If they fail, it starts them again with --resume, at most `most` times, and says so on standard
/// error. Hosts that do not answer are then left out; if the others have too little room, the mesh becomes smaller.
/// Returns the exit code of the last run.
int run_with_restarts(const Restarts& restarts);

/// The largest mesh of at most `ranks` devices that is `mesh` with one axis shortened; of several, the one whose first
/// axis is shortened, which usually splits the batch. The order of devices is the usual one. Returns a mesh without
/// axes if there is none.
Mesh shortened(const Mesh& mesh, int64_t ranks);

}  // namespace mtfc
