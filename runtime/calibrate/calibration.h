#pragma once
// Measures what the devices of this run and their links can do, and fits a hardware profile to it.
//
// Kernels are measured as runs execute them: programs of one operation, through compiler and executor, on all
// ranks at once, so that ranks which share memory or cores slow each other down as they do in a run. Of all
// ranks the slowest counts. Collectives are those of Comm, over each axis of the mesh and over all of them.
// Some of the sizes are kept out of every fit and tell how good it is.

#include <functional>
#include <string>
#include <vector>

#include "core/cost/hardware.h"
#include "core/tensors/mesh.h"
#include "runtime/comm/mpi/node_memory.h"
#include "runtime/processes/processes.h"

namespace mtfc {

/// How well a part of the profile gives back measurements that it was not made from.
struct FitQuality {
  std::string what;  // `einsum`, `all_reduce over rows`
  int measured = 0;
  double mean_error = 0;  // of the relative errors' sizes
  double worst_error = 0;
};

struct Calibration {
  Hardware hardware;
  std::vector<FitQuality> fits;
  double seconds = 0;  // that it took
};

struct CalibrationOptions {
  std::string name;
  bool quick = false;           // fewer sizes, each measured for a shorter time
  std::function<bool()> stops;  // asked between measurements; that of any rank counts
  std::function<void(const std::string& what)> begins = [](const std::string&) {};
};

/// Every rank calls it with the mesh of all ranks, and all get the same profile. `node` may be nullptr where
/// there is one rank. Throws RunError where it is stopped.
Calibration calibrate(const Mesh& mesh, Processes& processes, NodeMemory* node,
                      const CalibrationOptions& options);

}  // namespace mtfc
