#pragma once
// The SPMD program: the steps that every device executes. Costs, listings, saved files and runs all use this
// one description.
//
// Each entry point is a list of steps over values. A value is one device's shard of a tensor. Its local shape
// is a function of the device's mesh coordinates (core/tensors/sharding.h), so one program serves all ranks.
// Values live in buffers, and buffers at fixed offsets in the arena. The offsets are equal on all ranks and
// planned for the largest shard.
//
//   arena:  [ variables | caches of the entry point that runs | its buffers ... ]

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "core/graph/attributes.h"
#include "core/graph/graph.h"
#include "core/graph/op_def.h"
#include "core/model/model.h"
#include "core/program/collective_kinds.h"
#include "core/program/plan.h"
#include "core/program/plan_figures.h"
#include "core/tensors/alignment.h"
#include "core/tensors/ids.h"
#include "core/tensors/layout.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// The position of a value, of a buffer and of a step in their entry point.
using ValueId = Id<struct ValueTag>;
using BufferId = Id<struct BufferTag>;
using StepIndex = Id<struct StepTag>;
/// The position of a loop in PartitionedEntry::loops.
using LoopIndex = Id<struct LoopTag>;
inline constexpr ValueId kNoValue;
inline constexpr BufferId kNoBuffer;
/// One element for each value, and for each step, of an entry point.
template <typename T>
using PerValue = IndexedBy<ValueId, T>;
template <typename T>
using PerStep = IndexedBy<StepIndex, T>;

struct Value {
  std::string name;  // the tensor's, with a suffix for another form of it, as in `h@rows`
  TensorType type;   // global
  Sharding sharding;
  BufferId buffer = kNoBuffer;
  bool from_model = false;      // a tensor of the model in its own sharding; reports list it
  ValueId alias_of = kNoValue;  // the value with the same elements under other dimensions (rename, reshape)
};

/// The name of the tensor that a value of this name is a form of: `h` for `h@rows`.
std::string tensor_name(std::string_view value);
inline std::string tensor_name(const Value& value) {
  return tensor_name(value.name);
}

// A gradient's buffer holds the complete gradient of a variable, or its sum over the microbatches so far. A gradient
// that is still partial lives in a buffer of activations, unless it is reduced in place.
// A copy of a variable is what is made from variables alone before they are updated: their elements in bf16, or
// gathered from other devices.
enum class BufferKind { kVariable, kVariableCopy, kInput, kActivation, kGradient, kWorkspace };
template <>
inline constexpr auto kEnumNames<BufferKind> =
    std::to_array<EnumName<BufferKind>>({{BufferKind::kVariable, "variable"},
                                         {BufferKind::kVariableCopy, "copy of a variable"},
                                         {BufferKind::kInput, "input"},
                                         {BufferKind::kActivation, "activation"},
                                         {BufferKind::kGradient, "gradient"},
                                         {BufferKind::kWorkspace, "workspace"}});

struct Buffer {
  BufferKind kind = BufferKind::kActivation;
  int64_t bytes = 0;   // size of the largest shard
  int64_t offset = 0;  // in the arena, a multiple of kAlignment
  int first_step = 0;  // alive from the start of this step ...
  int last_step = 0;   // ... to the end of this one
};

/// The kinds of actions, as files and messages name them.
enum class StepKind {
  kKernel,  // RunKernel
  kFused,   // RunFused
  kRing,    // RunRing
  kSlice,   // KeepSlice
  kStart,   // StartCollective
  kWait,    // AwaitCollective
  kLoop,    // BeginLoop, or RunLoop for a whole loop
  kLeave,   // LeaveLoop
  kRepeat,  // RepeatLoop
};

template <>
inline constexpr auto kEnumNames<StepKind> = std::to_array<EnumName<StepKind>>({{StepKind::kKernel, "kernel"},
                                                                                {StepKind::kFused, "fused"},
                                                                                {StepKind::kRing, "ring"},
                                                                                {StepKind::kSlice, "slice"},
                                                                                {StepKind::kStart, "start"},
                                                                                {StepKind::kWait, "wait"},
                                                                                {StepKind::kLoop, "loop"},
                                                                                {StepKind::kLeave, "leave"},
                                                                                {StepKind::kRepeat,
                                                                                 "repeat"}});

/// True if such a step computes and moves nothing, but decides which step is next.
bool is_control(StepKind kind);

struct Step;

/// A kernel: the operation on local values.
struct RunKernel {
  const OpDef* op = nullptr;
  Attributes attributes = {};
};

/// Kernels that work tile by tile (core/program/fused_grid.h): steps with RunKernel, in the order of execution. They
/// read the inputs of the fused step and each other's results. The outputs of the fused step are those of their
/// results that other steps read; the other results have no buffer.
struct RunFused {
  std::vector<Step> members = {};
};

/// The tensor of a ring whose slices go from device to device: the first or second operand of the product, or its
/// result.
enum class Turning { kFirst, kSecond, kResult };
template <>
inline constexpr auto kEnumNames<Turning> = std::to_array<EnumName<Turning>>({{Turning::kFirst, "first"},
                                                                              {Turning::kSecond, "second"},
                                                                              {Turning::kResult, "result"}});

/// A contraction of two operands in turns (core/program/ring.h), so that no device holds a split operand, or the
/// partial result, whole.
struct RunRing {
  RunKernel product = {};
  AxisList axes = {};  // of the ring, ascending
  Turning turning = Turning::kFirst;
};

/// A local move, in which each device keeps a part of its input.
struct KeepSlice {};

/// The start of a collective. An exchange may replace an operation that moves pieces (core/op_rules/pieces.h), which is
/// `moves` then and may have several inputs. An all_reduce of several values sends them together, and gives as many.
struct StartCollective {
  Collective collective = {};
  RunKernel moves = {};  // without `op` where it is a collective alone
};

/// Waits for the collective that the step `start` started.
struct AwaitCollective {
  Collective collective = {};
  StepIndex start = {};
};

/// Runs a whole loop, whose steps stand beside the entry point (core/program/partitioned_entry.h) until inline_loops
/// puts them in its place. No program has such a step.
struct RunLoop {
  LoopIndex loop = {};
};

/// Begins a loop that ends at its RepeatLoop, `end`.
struct BeginLoop {
  StepIndex end = {};
  int64_t times = 0;  // the number of rounds, or 0 for a loop that a LeaveLoop ends
};

/// Leaves the loop of the RepeatLoop `end` if its input, a bool, is false.
struct LeaveLoop {
  StepIndex end = {};
};

/// Ends a round of the loop that the BeginLoop `begin` begins.
struct RepeatLoop {
  StepIndex begin = {};
};

/// The work of a step. The alternatives have the same order as kKindOf in program.cpp.
using Action = std::variant<RunKernel, RunFused, RunRing, KeepSlice, StartCollective, AwaitCollective,
                            RunLoop, BeginLoop, LeaveLoop, RepeatLoop>;

struct Step {
  std::string name;    // the name of its result
  std::string source;  // JSON pointer of the operation in the model, or ""
  Phase phase = Phase::kForward;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  BufferId workspace = kNoBuffer;
  Action action = RunKernel{};

  StepKind kind() const;
  /// The action if it is an `A`, or nullptr.
  template <typename A>
  const A* as() const {
    return std::get_if<A>(&action);
  }
  template <typename A>
  A* as() {
    return std::get_if<A>(&action);
  }
  /// The operation of a kernel, of a ring, or of an exchange that replaces one; nullptr for any other step.
  const OpDef* op() const;
  /// True for a kernel or a ring whose flops are those of matrix products.
  bool multiplies() const;
  /// The attributes of op(), or none.
  const Attributes& attributes() const;
  /// The collective that the step starts or awaits. Throws InternalError for any other step.
  const Collective& collective() const;
  /// The members of a fused step; none for any other step.
  const std::vector<Step>& members() const;
};

struct Binding {
  std::string name;
  ValueId value = kNoValue;
};

struct ProgramVariable {
  VariableDecl decl;
  Sharding sharding;
  int64_t offset = 0;  // in the arena
  int64_t bytes = 0;   // size of the largest shard
};

/// The flops of the products that the unpartitioned graph computes, without any that are computed again.
struct UsefulProducts {
  int64_t flops = 0;  // as reports count them: those of all pairs of an attention
  /// By the dtype of the operands. An attention counts only the pairs that its mask leaves. Empty in a program of
  /// an earlier mtfc.
  std::map<DType, int64_t> needed = {};
};

struct EntryPoint {
  std::string name;                      // init, train, evaluate, decode, encode
  std::optional<PlanFigures> plan = {};  // if it was chosen
  // Variables of this entry point only, placed behind the others; zero before its first run
  std::vector<ProgramVariable> caches = {};
  PerValue<Value> values;
  IndexedBy<BufferId, Buffer> buffers;
  PerStep<Step> steps;
  std::vector<Binding> inputs;
  std::vector<Binding> outputs;
  int64_t arena_bytes = 0;  // variables and caches included
  UsefulProducts useful;
};

struct Program {
  std::string model;  // the model's name
  Layout layout;
  std::map<std::string, double> names;  // params and dims of the model, for expressions in data sources
  std::vector<InputDecl> inputs;
  std::string loss;  // the name of the loss among the outputs of `train`; "" if the model does not train
  std::optional<LearningRate> learning_rate = {};  // of the optimizer, if the model has one
  std::vector<ProgramVariable> variables;
  std::vector<std::string> weights = {};  // FROM=TO: what variables are called in published files of weights
  std::vector<EntryPoint> entry_points;
  std::vector<std::string> warnings;
  Plan plan = {};  // that it was compiled with; empty if it was read from a file

  const Mesh& mesh() const { return layout.mesh; }
  /// The entry point `name`, or nullptr.
  const EntryPoint* find(std::string_view name) const;
  /// Bytes of the largest arena of all entry points.
  int64_t arena_bytes() const;
};

/// Returns how many times each step of `entry` runs: the product of the rounds of the loops around it. A loop
/// that ends by a condition counts as one round.
std::vector<int64_t> repetitions(const EntryPoint& entry);

/// The value itself, or the value that it is an alias of.
ValueId root_of(const EntryPoint& entry, ValueId value);

/// The bytes of the largest shard of a value.
int64_t largest_bytes(const EntryPoint& entry, ValueId value, const Mesh& mesh);

/// The types of the whole values, as the program holds them.
std::vector<TensorType> global_types(const EntryPoint& entry, const std::vector<ValueId>& values);

/// The types of the shards of the values that the device at `at` holds.
std::vector<LocalType> local_types(const EntryPoint& entry, const std::vector<ValueId>& values,
                                   const Mesh& mesh, const Coordinates& at);

/// The types of the largest shards of the values.
std::vector<LocalType> largest_types(const EntryPoint& entry, const std::vector<ValueId>& values,
                                     const Mesh& mesh);

}  // namespace mtfc
