#pragma once
// The cost of a program: arithmetic, communication and memory, counted from its steps.
//
// Definitions, which hold for predictions and for the counts of a run:
//   flops       einsum: 2 * the product of the local extents of its distinct dimensions.
//               "other", everything else: one per element and primitive operation.
//   elements, bytes_sent  of a collective: as core/program/collective_cost.h defines them.
// "Per device" means the largest value of any device, step by step. Example: an all_reduce of 8 f32 over 4
// devices has elements = 8 and bytes_sent = 2*(32 - 8) = 48.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/time_model.h"
#include "core/cost/training_cost.h"
#include "core/program/memory_use.h"
#include "core/program/program.h"
#include "core/program/recomputation_figures.h"

namespace mtfc {

/// The counts of one step, all of its runs together.
struct StepCount {
  int64_t flops = 0;        // largest of any device
  int64_t flops_total = 0;  // over all devices
  int64_t elements = 0;
  int64_t bytes_sent = 0;
  int64_t runs = 1;  // how many times the step runs, within loops
};

struct ParameterCost {
  int64_t count = 0;  // trainable elements
  int64_t bytes = 0;
  int64_t bytes_per_device = 0;
  std::map<std::string, int64_t> groups;  // the trainable elements of each group of variables
};

struct ArithmeticCost {  // flops, of einsum and of everything else
  int64_t einsum_per_device = 0;
  int64_t einsum_total = 0;
  int64_t einsum_useful = 0;
  int64_t other_per_device = 0;
  double duplication = 1.0;  // einsum_total / einsum_useful; 1 if nothing is multiplied
  double imbalance = 1.0;    // einsum_per_device over the mean of all devices; or 1
};

struct CollectiveTotals {
  int64_t count = 0;
  int64_t elements = 0;
  int64_t bytes_sent = 0;
};

/// The bytes that nodes send to each other (core/program/node_traffic.h).
struct NodeTotals {
  std::vector<int64_t> bytes_sent;  // by node

  int64_t most() const;
  int64_t all() const;
};

struct CommunicationCost {
  CollectiveTotals total;
  /// All_reduces that are sent with others (core/lower/combine_reductions.h), beside those of `total`.
  int64_t joined = 0;
  std::map<std::string, CollectiveTotals> by_kind;
  std::map<std::string, CollectiveTotals> by_axis;  // `rows+cols` for a group over several
  std::optional<NodeTotals> between_nodes = {};     // if it is known which devices share a node
};

/// The variables of one group of a model, such as the weights of experts, and the state that the optimizer keeps for
/// them.
struct GroupMemory {
  int64_t variables = 0;
  int64_t optimizer_state = 0;
};

struct MemoryCost {  // bytes per device
  int64_t peak = 0;  // the arena: variables and everything alive at the fullest step
  int64_t variables = 0;
  int64_t optimizer_state = 0;
  std::map<std::string, GroupMemory> groups;  // what these two hold of each group
  int64_t caches = 0;                         // those of decode
  int64_t variable_copies = 0;                // at the peak, as the next four
  int64_t inputs = 0;
  int64_t activations_at_peak = 0;
  int64_t gradients = 0;
  int64_t workspace = 0;
  /// The rest of the peak: alignment, and places between live buffers that none of them uses.
  int64_t gaps = 0;
  std::string peak_step;
};

struct TensorCost {
  std::string name;
  Dims dims;
  Sharding sharding;
  std::vector<int64_t> local_shape;      // on the device that is last on every axis
  std::vector<int64_t> local_shape_min;  // on the first
};

struct StepCost {
  std::string name;  // of the largest tensor, if a collective moves several together
  std::string kind;  // the operation or collective
  std::string source;
  Phase phase = Phase::kForward;
  AxisList axes;
  StepCount count;
  StepTime time = {};       // if the report has times
  int index = 0;            // position of the step in the program
  bool is_product = false;  // a contraction
  size_t others = 0;        // tensors that a collective moves together with the one of the name
};

struct CostReport {
  std::string model;
  std::string entry;
  Layout layout;
  ParameterCost parameters;
  ArithmeticCost arithmetic;
  CommunicationCost communication;
  MemoryCost memory;
  MemoryUse memory_over_steps;
  std::vector<AliveTensor> alive_at_peak;  // the largest first
  std::optional<TimeCost> time;            // if the report is for some hardware
  int64_t device_memory = 0;               // bytes that a device may use; 0: not known
  std::vector<TensorCost> tensors;
  std::vector<StepCost> steps;
  std::vector<std::string> warnings;
  std::optional<PlanFigures> plan;                  // if the plan was chosen
  std::optional<Recomputation> recomputation = {};  // if it has to fit into less memory than it took
  std::optional<TrainingCost> training = {};        // of a training step with times
};

/// The name of a step's kind in reports: its operation (`ring einsum` for one in turns), `fused`, `slice`, or its
/// collective.
std::string kind_of(const Step& step);

/// Predicted counts of every step of `entry`, one per step (zero for waits).
std::vector<StepCount> predicted_counts(const Program& program, const EntryPoint& entry);

/// The flops of one run of `entry` on one device. Flops outside products count 16 times, because each takes about 16
/// times as long.
/// Stops counting at `enough`.
int64_t kernel_work(const Program& program, const EntryPoint& entry, int64_t enough);

/// The report for given counts: the predicted ones, or those of a run. With `hardware`, it has times, too.
CostReport cost_report(const Program& program, const EntryPoint& entry, const std::vector<StepCount>& counts,
                       const Hardware* hardware = nullptr);
/// Adds what nodes send to each other, as the program predicts it. `nodes` are those of the ranks, by any numbers.
void add_node_traffic(const Program& program, const EntryPoint& entry, const std::vector<int>& nodes,
                      CostReport& report);

/// The cost of the plan by the measure of PlanFigures, as the report counts it.
int64_t plan_cost(const CostReport& report);
/// By how much a cost exceeds its bound: 0 if it is the least.
double plan_gap(const PlanFigures& plan);
/// The seconds of a plan that was chosen for some hardware.
inline double plan_seconds(const PlanFigures& plan) {
  return static_cast<double>(plan.cost) * 1e-9;
}

/// By how many bytes the peak exceeds the memory of a device: 0 if it fits, or if that memory is not known.
int64_t excess_memory(const CostReport& report);

/// The bytes that a device's memory holds while `step` runs, variables included.
int64_t bytes_alive(const CostReport& report, const StepCost& step);

}  // namespace mtfc
