#pragma once
// Finds on how many devices a training step fits into their memory: with which stage of ZeRO, in how many microbatches,
// and with which tensors computed again.
//
// For each number of devices and each stage, the search finds the fewest microbatches with which a training step
// fits, and the fewest with which it fits if the backward pass computes tensors again (core/compile/fit_memory.h).
// Nothing is compiled if variables and the state of the optimizer alone are too large, which takes arithmetic to see.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/compile/fit_memory.h"
#include "core/cost/hardware.h"
#include "core/model/model.h"
#include "core/tensors/layout.h"

namespace mtfc {

/// A training step as it was tried.
struct FitTrial {
  Layout layout;             // with what the stage adds to it
  std::optional<int> stage;  // of ZeRO (Rajbhandari et al. 2020); nothing where devices do not share a batch
  int64_t microbatches = 1;
  int64_t memory = 0;  // bytes per device at the peak
  double step_s = 0;   // predicted
  std::optional<Recomputation> recomputation = {};
  int64_t turned = 0;     // products that run in turns so that it fits
  bool scatters = false;  // each microbatch scatters its gradients so that it fits
  bool needs_recomputation =
      false;  // of one that does not fit: `memory` is what the best choice needs, `step_s` that of none
  bool is_state_alone =
      false;  // of one that was not compiled: `memory` is that of variables and the optimizer's state
};

struct FitOptions {
  int64_t memory_limit = 0;  // bytes per device, above 0
  size_t threads = 1;
  CompileOptions compiling = {};
  std::function<bool()> stops = [] { return false; };
  struct Progress {
    int64_t trials = 0;
    size_t done = 0, all = 0;  // combinations of a layout and a stage
    const FitTrial& last;
  };
  /// Called after each trial, by one thread at a time.
  std::function<void(const Progress&)> progress = [](const Progress&) {};
};

struct FitResult {
  std::vector<FitTrial> fits;  // the fewest devices first, then the shortest step
  std::vector<FitTrial>
      smallest;  // one for each number of devices on which nothing fits: the least memory that was tried
  std::vector<std::pair<Layout, std::string>> refused;  // layouts that can't be compiled, and why
  int64_t trials = 0;
  int64_t ruled_out = 0;    // combinations of a layout and a stage that were not compiled
  bool is_complete = true;  // false if the search was stopped
  /// The numbers of devices on which nothing that was tried fits, though not all was tried, in ascending order.
  std::vector<int64_t> undecided = {};
};

/// `layouts`: one or more for each number of devices. The stages 0 to 3 of ZeRO are tried over the axes that split
/// the batch by a rule, unless the layout itself says how the state of the optimizer is split. The numbers of
/// microbatches are those that divide the batch and are multiples of the model's own. Throws UserError for a model
/// that does not train, if no layout can be compiled, and for hardware that lacks a link.
FitResult find_fits(const Model& model, const std::vector<Layout>& layouts, const Hardware& hardware,
                    const FitOptions& options);

}  // namespace mtfc
