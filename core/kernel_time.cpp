#include "core/kernel_time.h"

#include <algorithm>

namespace mtfc {
namespace {

const Value& value_of(const EntryPoint& entry, ValueId id) {
  return entry.values[static_cast<size_t>(id)];
}

bool is_same_memory(const EntryPoint& entry, ValueId a, ValueId b) {
  return value_of(entry, a).buffer == value_of(entry, b).buffer && value_of(entry, a).buffer != kNoBuffer;
}

// Operations that pick elements look at no more of an operand than they take from it.
bool picks(const Step& step) {
  return step.kind == StepKind::kSlice ||
         (step.kind == StepKind::kKernel &&
          (step.op->family == Family::kIndexing || step.op->family == Family::kMovement));
}

int64_t bytes_picked(const EntryPoint& entry, const Step& step, const std::vector<TensorType>& operands,
                     const std::vector<TensorType>& results) {
  int64_t written = 0, read = 0, in_place = -1;
  for (size_t r = 0; r < results.size(); ++r) {
    written += bytes(results[r]);
    for (size_t o = 0; o < operands.size(); ++o)
      if (is_same_memory(entry, step.inputs[o], step.outputs[r])) in_place = static_cast<int64_t>(o);
  }
  for (size_t o = 0; o < operands.size(); ++o)
    if (static_cast<int64_t>(o) != in_place) read += std::min(bytes(operands[o]), written);
  return in_place < 0 ? read + written : 2 * read;
}

int64_t bytes_touched(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  const std::vector<TensorType> operands = local_types(entry, step.inputs, mesh, mesh.last()),
                                results = local_types(entry, step.outputs, mesh, mesh.last());
  if (picks(step)) return bytes_picked(entry, step, operands, results);
  int64_t sum = 0;
  for (size_t o = 0; o < operands.size(); ++o)
    if (std::find(step.inputs.begin(), step.inputs.begin() + static_cast<std::ptrdiff_t>(o),
                  step.inputs[o]) == step.inputs.begin() + static_cast<std::ptrdiff_t>(o))
      sum += bytes(operands[o]);
  for (const TensorType& result : results) sum += bytes(result);
  return sum;
}

const char* class_of(Family family) {
  switch (family) {
    case Family::kElementwise:
    case Family::kElementwiseChecked:
      return "elementwise";
    case Family::kReduction:
      return "reduction";
    case Family::kContraction:
      return "einsum";
    case Family::kIndexing:
      return "indexing";
    case Family::kRelabel:
    case Family::kMovement:
      return "movement";
    case Family::kGenerator:
      return "generator";
  }
  return "";
}

// Products of a batched contraction: the dimensions that both operands and the result have.
int64_t batch_of(const std::vector<TensorType>& operands, const TensorType& result) {
  if (operands.size() < 2) return 1;
  int64_t batch = 1;
  for (const Dim& dim : result.dims)
    if (std::all_of(operands.begin(), operands.end(),
                    [&](const TensorType& operand) { return contains(operand.dims, dim.name); }))
      batch *= std::max<int64_t>(1, dim.size);
  return batch;
}

double share(const Hardware& hardware, std::initializer_list<std::string> names, double size) {
  for (const std::string& name : names)
    if (const auto at = hardware.efficiency.find(name); at != hardware.efficiency.end())
      return at->second.at(size);
  return 1;
}

// Adds the operations of a kernel step, or of a part of a fused one.
void add_operations(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Hardware& hardware,
                    KernelTime& time) {
  const std::vector<TensorType> operands = local_types(entry, step.inputs, mesh, mesh.last()),
                                results = local_types(entry, step.outputs, mesh, mesh.last());
  const auto flops = static_cast<double>(step.op->flops({step.attributes, operands}, results));
  if (flops <= 0) return;
  // Comparisons give bool, and compute in what they compare.
  DType dtype = results[0].dtype;
  if (dtype == DType::kBool && !operands.empty()) dtype = operands.back().dtype;
  const double peak = hardware.peak(dtype);
  const std::string name(step.op->signature.name), kind = class_of(step.op->family);
  time.peak_s += flops / peak;
  if (step.op->family != Family::kContraction) {
    time.compute_s += flops / (peak * share(hardware, {name, kind}, flops));
    return;
  }
  const int64_t batch = batch_of(operands, results[0]);
  const double size = flops / static_cast<double>(batch);
  time.compute_s += flops / (peak * (batch > 1 ? share(hardware, {"batched_einsum", "einsum"}, size)
                                               : share(hardware, {"einsum"}, size)));
}

}  // namespace

KernelTime kernel_time(const EntryPoint& entry, const Step& step, const Mesh& mesh,
                       const Hardware& hardware) {
  KernelTime time;
  // What an operation relabels, and the part that a slice keeps, may stay where it is.
  const bool moves_nothing =
      (step.kind == StepKind::kSlice || (step.op && step.op->family == Family::kRelabel)) &&
      is_same_memory(entry, step.inputs[0], step.outputs[0]);
  if (moves_nothing) return time;
  time.overhead_s = hardware.step_overhead_s;
  time.bytes = bytes_touched(entry, step, mesh);
  if (time.bytes > 0)
    time.memory_s =
        static_cast<double>(time.bytes) / hardware.memory_bandwidth.at(static_cast<double>(time.bytes));
  if (step.kind == StepKind::kKernel) add_operations(entry, step, mesh, hardware, time);
  for (const Step& part : step.parts) add_operations(entry, part, mesh, hardware, time);
  return time;
}

}  // namespace mtfc
