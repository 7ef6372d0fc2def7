#pragma once
// Measures the performance of this run's devices and their links, and fits a hardware profile to it.
//
// Kernels are measured the way runs execute them: programs of one operation, through compiler and executor,
// on all ranks at once, so that ranks which share memory or cores slow each other down as in a run. The
// slowest rank counts. Collectives are those of Comm, over each axis of the mesh and over all axes. Some
// sizes are kept out of every fit to tell how good it is.

#include <functional>
#include <string>
#include <vector>

#include "core/cost/hardware.h"
#include "core/tensors/mesh.h"
#include "runtime/comm/mpi/node_memory.h"
#include "runtime/processes/processes.h"

namespace mtfc {

/// The accuracy with which a part of the profile predicts measurements that were not used to fit it.
struct FitQuality {
  std::string what;  // `einsum`, `all_reduce over rows`
  int measured = 0;
  double mean_error = 0;  // mean of the absolute relative errors
  double worst_error = 0;
};

struct Calibration {
  Hardware hardware;
  std::vector<FitQuality> fits;
  double seconds = 0;  // duration of the calibration
};

/// A text for the user about parts whose predictions miss measurements by 50 % on average, or by 300 % at worst, as
/// happens on a busy machine: `einsum by 63 % on average and 1088 % at worst`. "" if there are none.
std::string poor_fits_text(const std::vector<FitQuality>& fits);

struct CalibrationOptions {
  std::string name;
  bool quick = false;  // fewer sizes, each measured for a shorter time
  std::function<void(const std::string& what)> begins = [](const std::string&) {};
};

/// Every rank calls it with the mesh of all ranks, and all get the same profile. `node` may be nullptr if
/// there is one rank. Throws RunError if it is stopped.
Calibration calibrate(const Mesh& mesh, Processes& processes, NodeMemory* node,
                      const CalibrationOptions& options);

}  // namespace mtfc
