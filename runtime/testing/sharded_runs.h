#pragma once
// For tests: one small model under many layouts, run in lockstep and compared with the run on one device.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/graph/op_def.h"
#include "core/model/model.h"
#include "core/program/program.h"
#include "core/tensors/layout.h"
#include "runtime/comm/comm.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// A whole tensor, row-major; numbers of any dtype as double.
struct WholeTensor {
  TensorType type;
  std::vector<double> values;
};
using WholeTensors = std::map<std::string, WholeTensor>;

/// Values for an example's operand, the same for the same seed.
WholeTensor drawn(const ExampleOperand& operand, uint64_t seed);

/// A model that feeds an example's operands as inputs `x0`, `x1`, … to `kind`, with results `y0`, … and,
/// where `gradients` and the example's operand is a float, the gradients `g0`, … of the sum of weight * y0,
/// the weight being the input `weight`. `inputs` receives values for all of them.
Model model_of(const std::string& kind, const Example& example, bool gradients, WholeTensors& inputs);

/// Puts the elements of `whole` that a device holds into its shard.
void fill_shard(const WholeTensor& whole, const LocalShard& shard);
/// The tensor that the shards of all devices make up. Devices that hold the same element must
/// agree on it bit for bit. Throws RunError if they differ, or if none holds it.
WholeTensor assembled(const std::string& name, const TensorType& type, const std::vector<LocalShard>& shards);

/// The outputs of the last run of `entry`, whose devices are all in this process, put together by assembled().
WholeTensors whole_outputs(Executor& executor, const EntryPoint& entry);

/// Runs the evaluate entry point of `program` on all devices in this process. Devices that hold
/// the same element must agree on it bit for bit. Throws RunError if they differ.
WholeTensors run_in_lockstep(const Program& program, const WholeTensors& inputs);

/// Runs the evaluate entry point on the devices of `comm` that this process holds. Returns "" if their shards
/// of the outputs are those of `expected`, to rounding, and otherwise the first difference.
std::string run_and_compare(const Program& program, Comm& comm, const WholeTensors& inputs,
                            const WholeTensors& expected);

/// Every rule set that gives each dimension no axis or one of the mesh's axes, or, with `lists`, any ordered
/// list of distinct axes. Illegal ones included.
std::vector<Layout> all_rule_sets(const Mesh& mesh, const Dims& dims, bool lists);

/// Returns whether no tensor of the model would use an axis twice, which the rules alone decide.
bool is_legal(const Model& model, const Layout& layout);

/// "" where both hold the same numbers to rounding (exactly, for integers); otherwise the first difference.
std::string difference(const WholeTensors& expected, const WholeTensors& found);

}  // namespace mtfc
