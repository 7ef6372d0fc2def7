#pragma once
// A kernel is prepared once for a step on a device, then run many times. Runs allocate nothing, but for the copies that
// products without rows of zeros need (filled_rows.h).
//
// Kernels are constants: one per file of runtime/kernels/, which has the stem of the operation's file in core/ops/, or
// a row in a table of short ones (runtime/kernel_tables/). The registry is generated from these files, and a test finds
// an operation without a kernel.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/attributes.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// One operand or result as this device holds it: the region `box` of a whole tensor, dense and row-major. The
/// local sizes are those of the box. Kernels also need the whole tensor, for the divisor of a mean and for the
/// positions of indices and random numbers.
struct LocalTensor {
  TensorType type;  // of the whole tensor
  Box box;
  /// The region that lies in memory, dense, if the tensor is a view of it with gaps between its rows; otherwise empty.
  /// Pointers are to the first element of `box`. Only kernels of operations that can turn take views.
  Box stored = {};
  bool is_view() const { return !stored.empty(); }
  LocalType local_type() const { return {type.dtype, local_dims(type.dims, box)}; }
  std::vector<int64_t> extents() const;
  std::vector<int64_t> stored_extents() const;
  int64_t elements() const { return mtfc::elements(box); }
};
std::vector<LocalType> local_types(const std::vector<LocalTensor>& tensors);

/// Everything that is known about a step before it runs.
struct KernelSite {
  const Attributes& attributes;
  std::vector<LocalTensor> operands;
  std::vector<LocalTensor> results;
  std::string name;         // name of the step's result, for messages and as the key of random numbers
  int64_t workspace_bytes;  // granted by the plan
  /// The kernel adds to its result, in place of replacing it. The workspace still holds what the kernel of the previous
  /// slice of the same contraction left in it. Only for operations that can run in turns (core/program/ring.h).
  bool adds = false;
};

/// The arguments that change from run to run.
struct KernelRun {
  std::span<const std::byte* const> operands;
  std::span<std::byte* const> results;
  std::byte* workspace = nullptr;
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t round = 0;          // iteration of the enclosing loops, counted over the run; 0 outside loops
  bool check_finite = false;  // check values that never leave the kernel; the executor checks results
};

/// Executes the step and returns the number of flops, counted as core/cost/cost.h defines them on the local
/// extents. Throws RunError for data it can't work with (an index out of range).
using Kernel = std::function<int64_t(const KernelRun&)>;

/// Computes `count` consecutive elements of an element-wise operation.
using TileFunction = void (*)(const std::byte* const* operands, std::byte* result, int64_t count);

struct TileTypes {
  std::vector<DType> operands;
  DType result;
};

/// kMean is the sum divided by the number of elements of the *global* tensor, so that the results of several
/// devices can be added. For bools, kMax means any and kMin means all.
enum class Reduction { kSum, kMean, kProd, kMax, kMin };

/// The terms that a kernel adds up to make one of its results.
struct AddedTerms {
  std::vector<double> magnitudes;  // of the terms of each element, added up
  double count = 1;                // the number of terms
};

/// An element-wise operation sets `tile` only (runtime/compute/elementwise.h does the rest), a reduction sets
/// `reduction` (runtime/compute/reduction.h), any other operation sets `prepare`.
struct KernelDef {
  /// Chooses by dtype, plans loops and products, and returns the prepared kernel.
  Kernel (*prepare)(const KernelSite&) = nullptr;
  TileFunction (*tile)(const TileTypes&) = nullptr;
  std::optional<Reduction> reduction = std::nullopt;
  /// Only for an operation that adds up terms though it is linear in no operand: the terms of each result. The tensors
  /// are whole, and their floats are f64. `sizes` has the operands' magnitudes in the place of their elements.
  std::vector<AddedTerms> (*terms)(const KernelSite&, const KernelRun& values,
                                   const KernelRun& sizes) = nullptr;
};

/// A row in a table of kernels.
struct NamedKernel {
  std::string_view op;
  KernelDef kernel;
};

/// The kernel of the operation `op`; throws InternalError if there is none.
const KernelDef& kernel_named(std::string_view op);
/// Prepares that kernel.
Kernel prepare_kernel(std::string_view op, const KernelSite& site);

}  // namespace mtfc
