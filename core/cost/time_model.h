#pragma once
// The predicted time of a program on a piece of hardware, from its counts.
//
// A kernel takes its overhead plus the longer of two: its operations at the rate of their class, or the bytes
// of its operands and results at memory bandwidth. A collective takes latency plus bytes
// (core/cost/collective_time.h). The schedule then decides how times add up: kernels run between the start
// of a collective and its wait while it moves data, unless its link does not overlap.
//
//   kernel   |--a--|-b-|      |--c--|       a; start s; b; wait s; c
//   network        |----s----|              step_s ends with c, and s takes longer than b
//
// The links within nodes and those between them are networks of their own, which move data at the same time.
//
// A processor issues kernels and collectives one after the other, and runs ahead of the device if it can (issue_s):
//
//   processor  |--a--|--b--|--c--|
//   device           |-----a-----|-b-||-c-|       it waits for a, and finds b and c issued
//
// Times, like counts, are those of the busiest device.

#include <string>
#include <vector>

#include "core/cost/hardware.h"
#include "core/cost/memory_traffic.h"
#include "core/program/program.h"

namespace mtfc {

struct KernelTime;
struct StepCount;

/// The time of one step of a program, all of its runs together. The wait for a collective has the time left
/// to wait.
struct StepTime {
  double seconds = 0;  // the kernel or the collective itself, regardless of overlap
  double begin_s = 0;  // start of its first run, after the start of the program
  double end_s = 0;
  std::string bound;  // compute, memory, overhead; latency, network; "" if it takes no time
  /// The least time for its operations, its bytes of memory or the bytes that it sends, at peak rates; the longest of
  /// these.
  double at_peak_s = 0;
};

/// A loop that no other loop contains. Its first round takes first_s, each other one round_s on average.
struct LoopTime {
  double begin_s = 0;
  double first_s = 0;
  double round_s = 0;
  int64_t rounds = 1;
  double device_round_s = 0;  // a round after the first, if the device never waits for the processor
  double issue_round_s = 0;   // in which the processor issues one
};

struct TimeCost {
  std::string hardware;
  double compute_s = 0;        // all kernels
  double communication_s = 0;  // all collectives
  double step_s = 0;           // the program, as it is scheduled
  double device_s = 0;         // the same, if the device never waits for the processor that issues its work
  double issue_s = 0;          // in which the processor issues it
  /// The lower limit of step_s if everything overlapped: the longest of all operations at peak, all bytes
  /// touched at the best memory bandwidth, and all bytes sent at the best bandwidth of their links.
  double roofline_s = 0;
  double efficiency = 0;        // useful products at peak on all devices, over step_s
  std::vector<StepTime> steps;  // one for each step of the entry point
  std::vector<LoopTime> loops;  // in the order of time
};

/// `counts` are predicted_counts() of `entry`, or those of a run.
TimeCost predicted_time(const Program& program, const EntryPoint& entry, const std::vector<StepCount>& counts,
                        const Hardware& hardware);

/// By step, the times of kernels and of the products of rings; nothing for other steps. The order of the mesh's devices
/// does not matter.
std::vector<KernelTime> kernel_times(const EntryPoint& entry, const Mesh& mesh, const Hardware& hardware);
/// The same, for which the memory_traffic() of `entry` is known.
std::vector<KernelTime> kernel_times(const EntryPoint& entry, const Mesh& mesh, const Hardware& hardware,
                                     const std::vector<std::vector<MemoryAccess>>& traffic);

/// The same prediction, for which the kernel_times() of `entry` are known.
TimeCost predicted_time(const Program& program, const EntryPoint& entry, const std::vector<StepCount>& counts,
                        const Hardware& hardware, const std::vector<KernelTime>& kernels);

/// The seconds that the products which `entry` needs take if all devices share them and compute at the peak rate of
/// their dtype. Over the time of a step, this is its efficiency (MFU). 0 if nothing is multiplied.
double useful_seconds_at_peak(const Mesh& mesh, const EntryPoint& entry, const Hardware& hardware);

}  // namespace mtfc
