#pragma once
// Figures of a training step that was compiled with few layers, and what follows from two of them for any number of
// layers: where the layers of a model are alike, time and memory are linear in their number.
//
//   2 layers: 0.19 s, 3 layers: 0.25 s   ->   30 layers: 0.19 + 28 * 0.06 = 1.87 s
//
// Likewise of microbatches, which only run a loop more often.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/cost/cost.h"
#include "core/cost/hardware.h"
#include "core/cost/memory_traffic.h"
#include "core/program/program.h"
#include "formats/validation/published_rows.h"

namespace mtfc {

/// The parts of a program: the embedding, which comes before the layers; the layers; and the head, which follows them.
enum Zone { kBefore, kLayers, kBehind };
using PerZone = std::array<double, 3>;

/// The seconds of the device, and of the processor that issues its work and runs beside it. Each is linear in the
/// number of layers; the longer of both is not.
struct RunTime {
  double device = 0, processor = 0;
  double seconds() const { return std::max(device, processor); }
  /// this + times * other
  RunTime plus(const RunTime& other, double times) const {
    return {device + times * other.device, processor + times * other.processor};
  }
};

/// The reductions of the gradients of several microbatches, once they are added up.
struct Reduction {
  double seconds = 0;
  double slows_kernels = 1, slowed_by_kernels = 1;  // while both run
};

/// All figures are of one device. Those whose names speak of a round are of one microbatch.
struct ProgramFigures {
  RunTime step, round;
  double useful_s = 0;        // of the products of a step, at the peak rate of all devices
  PerZone round_zone_s = {};  // regardless of overlap
  std::map<std::string, double> once_s, of_round_s;  // by what it is spent on, regardless of overlap
  double peak_bytes = 0;
  double state_bytes = 0;            // variables and the optimizer's state
  PerZone zone_state_bytes = {};     // a variable that both ends use counts in both
  PerZone zone_peak_bytes = {};      // of inputs, activations and workspace, while these steps run
  PerZone zone_gradient_bytes = {};  // of gradients and copies of variables at these peaks
  double backward_s = 0;             // of a round, its backward pass
  Reduction reduction;
  /// One device sends this share of the activations that a layer passes on in a round: devices that hold the same send
  /// a part each (Narayanan et al. 2021, section 4.1).
  double sent_on_bytes = 0;

  /// The same with every figure f replaced by f + factor * (other.f - f).
  ProgramFigures towards(const ProgramFigures& other, double factor) const;
};

/// In which the software of a run differs from the program that stands for it.
struct Conventions {
  RowHeldGradients held = RowHeldGradients::kNone;  // beside their sums; they count as gradients
  RowRecompute recompute = RowRecompute::kNone;     // if it goes beyond what the program computes again
};

/// A program whose microbatches are `rounds`, with all that prices of it for any hardware have in common.
struct CountedProgram {
  CountedProgram(Program program, int64_t rounds, int64_t layers, Conventions conventions);

  /// A step that may take time.
  struct Counted {
    size_t index;
    std::string spent_on;
    bool is_repeated;  // in each microbatch
    bool is_backward;
    bool reduces;    // over devices
    bool is_again;   // what the forward pass has computed
    bool is_heavy;   // a product or a collective, which no other step takes in
    bool is_gather;  // of a parameter
    Zone zone;
  };

  Program program;
  int64_t rounds;
  int64_t layers;
  Conventions conventions;
  std::vector<StepCount> counts;
  std::vector<std::vector<MemoryAccess>> traffic;
  std::vector<Counted> steps;
  ProgramFigures untimed;  // the figures that no hardware changes
};
ProgramFigures program_figures(const CountedProgram& counted, const Hardware& hardware);

/// The figures of two depths.
struct DepthFigures {
  ProgramFigures shallow, deep;
  double shallow_layers = 0, deep_layers = 0;  // equal where the model has no depth that could be changed
  int64_t rounds = 1;

  ProgramFigures at(double layers) const;
};

}  // namespace mtfc
