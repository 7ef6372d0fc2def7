#include "runtime/calibrate/timed_program.h"

#include <fmt/format.h>

#include "core/compile/pipeline.h"
#include "core/cost/kernel_time.h"
#include "core/tensors/bf16.h"

namespace mtfc {
namespace {

Model model_of(const std::vector<TensorType>& types, const TimedGraph& build) {
  GraphBuilder b;
  Model model;
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string name = fmt::format("x{}", i);
    inputs.push_back(b.add_input(name, types[i]));
    model.inputs.push_back({name, types[i], "", {}});
    model.dims = unite(model.dims, types[i].dims);
    // Outputs are not overwritten by the operations that read them.
    model.outputs.push_back({name, inputs.back()});
  }
  const std::vector<TensorId> results = build(b, inputs);
  for (size_t r = 0; r < results.size(); ++r) {
    b.name(results[r], fmt::format("y{}", r));
    model.outputs.push_back({fmt::format("y{}", r), results[r]});
  }
  model.name = "calibration";
  model.graph = std::move(b).build();
  return model;
}

// Fills in numbers that are slow for no operation: of medium size and unordered; indices fit any table of 64
// rows.
void fill(const LocalShard& shard) {
  for (int64_t i = 0; i < shard.elements(); ++i) {
    if (shard.type.dtype == DType::kF32)
      reinterpret_cast<float*>(shard.data)[i] = 0.5F + static_cast<float>(i * 7919 % 9973) / 9973.0F;
    else if (shard.type.dtype == DType::kF64)
      reinterpret_cast<double*>(shard.data)[i] = 0.5 + static_cast<double>(i * 7919 % 9973) / 9973.0;
    else if (shard.type.dtype == DType::kBF16)
      reinterpret_cast<Bf16*>(shard.data)[i] = Bf16(0.5F + static_cast<float>(i * 7919 % 9973) / 9973.0F);
    else
      reinterpret_cast<int32_t*>(shard.data)[i] = static_cast<int32_t>(i * 7 % 64);
  }
}

}  // namespace

std::vector<Arena> TimedProgram::OwnDevice::make_arenas(int64_t bytes) {
  if (!node_) return LockstepComm::make_arenas(bytes);
  std::vector<Arena> arenas;
  arenas.push_back(node_->arena(bytes));
  return arenas;
}

TimedProgram::TimedProgram(const std::vector<TensorType>& inputs, const TimedGraph& build, NodeMemory* node)
    : program_(compile(model_of(inputs, build), {}, {})),
      entry_(*program_.find("evaluate")),
      device_(program_.mesh(), processes_, node),
      executor_(program_, device_) {
  executor_.load(entry_);
  for (const Binding& input : entry_.inputs) fill(executor_.shard(entry_, input.value, 0));
}

double TimedProgram::seconds(Stopwatch& watch) {
  return watch.seconds([&] { executor_.run(entry_, run_++); });
}

double TimedProgram::least_seconds(Stopwatch& watch) {
  return watch.least_seconds([&] { executor_.run(entry_, run_++); });
}

TimedProgram::Times TimedProgram::times(const Hardware& hardware) const {
  const std::vector<std::vector<MemoryAccess>> traffic = memory_traffic(entry_, program_.mesh());
  Times sum;
  for (size_t s = 0; s < entry_.steps.size(); ++s) {
    const KernelTime time = kernel_time(entry_, entry_.steps[s], traffic[s], program_.mesh(), hardware);
    sum.seconds += time.seconds();
    sum.memory += time.memory_s;
  }
  return sum;
}

}  // namespace mtfc
