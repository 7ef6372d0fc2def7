#pragma once
// The time of one run of a kernel step on the busiest device, and how much of it the hardware's peaks
// explain.
//
// All prices of kernels come from here. They differ in what is known of memory:
//   kernel_time     how long ago each byte was touched: for predictions, and for steps that may become rings
//   node_time       no steps yet: for choices of plans
//   operation_time  nothing: for choices of tensors to compute again, and for bounds, which add the least time of any
//                   program (core/search/bound_terms.h)

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/cost/hardware.h"
#include "core/cost/memory_traffic.h"
#include "core/program/program.h"

namespace mtfc {

struct KernelTime {
  double overhead_s = 0;
  double compute_s = 0;  // operations at the rates of their classes
  double memory_s = 0;   // bytes touched, by their distance
  double overlap = 1;    // fraction of the shorter of both that the longer hides
  double peak_s = 0;     // operations at peak
  int64_t bytes = 0;     // touched
  int64_t issued =
      0;  // kernels that a processor issues: those of a ring in turns, and none that move nothing

  double seconds() const {
    return overhead_s + std::max(compute_s, memory_s) + (1 - overlap) * std::min(compute_s, memory_s);
  }
};

/// For a step of kind kKernel, kFused, kSlice, or kRing, whose transfers are not part of it. `traffic` is its part of
/// memory_traffic().
KernelTime kernel_time(const EntryPoint& entry, const Step& step, const std::vector<MemoryAccess>& traffic,
                       const Mesh& mesh, const Hardware& hardware);

/// The operations of one use of `op` on one device, without memory traffic and overhead, except for the traffic of
/// the copies that a product makes.
KernelTime operation_time(const OpDef& op, const LocalCall& call, const std::vector<LocalType>& results,
                          const Hardware& hardware);

/// The same with the memory that the operation touches before there are steps. Most operations other than products are
/// fused with those that make their operands, which are in a cache then; so results count, and operands of products.
/// There is no overhead for the same reason. A relabelling takes no time.
KernelTime node_time(const OpDef& op, const LocalCall& call, const std::vector<LocalType>& results,
                     const Hardware& hardware);

/// The dtype whose peak bounds an operation. Comparisons give bool, but compute in the dtype of their operands.
/// Products of bf16 may give f32, and everything else computes bf16 in f32.
DType rated_dtype(const OpDef& op, std::span<const LocalType> operands, const LocalType& result);

/// The share of an operation's counted flops that are of use: of an attention, those of the pairs that are seen;
/// otherwise 1.
double share_useful(const OpDef& op, const Attributes& attributes);

/// The least seconds that a kKernel step of a program for one device takes for its operations: at the best
/// rate of their class, whatever the size.
double least_seconds(const EntryPoint& entry, const Step& step, const Hardware& hardware);

}  // namespace mtfc
