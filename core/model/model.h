#pragma once
// The contents of a model file: tensors, operations, training, decoding. The pipeline makes entry points from
// it.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "core/diagnostics/error.h"
#include "core/graph/entry_graph.h"
#include "core/graph/graph.h"
#include "core/model/factored_dims.h"
#include "core/model/learning_rate.h"
#include "core/tensors/shape.h"

namespace mtfc {

enum class InitKind { kConstant, kNormal, kTruncatedNormal, kUniform };

template <>
inline constexpr auto kEnumNames<InitKind> =
    std::to_array<EnumName<InitKind>>({{InitKind::kConstant, "constant"},
                                       {InitKind::kNormal, "normal"},
                                       {InitKind::kTruncatedNormal, "truncated_normal"},
                                       {InitKind::kUniform, "uniform"}});

/// An initial value. The reader turns variance scaling into a truncated normal.
struct Init {
  InitKind kind = InitKind::kConstant;
  double a = 0;  // the constant, the standard deviation, or the lower bound
  double b = 0;  // the upper bound
  bool operator==(const Init&) const = default;
};

struct VariableDecl {
  std::string name;
  TensorType type;
  std::optional<Init> init;
  bool trainable = true;
  bool optimizer_state = false;
  Location location;
  std::string group = {};  // under which reports add up its memory, apart from that of others; "": none
  std::string scale = {};  // of i8 values: the variable that has the scale of each of their rows
  bool is_scale = false;   // such a variable, whose values are made with those that it scales
};

struct InputDecl {
  std::string name;
  TensorType type;
  std::string source;  // the model's own `data` entry, or ""
  Location location;
  Location source_location = {};  // where the model file says `source`
};

struct TrainSpec {
  TensorId loss = kNoTensor;
  std::string optimizer;                  // a name of core/optimizers/
  std::map<std::string, double> numbers;  // its settings: lr, momentum, …
  Location location = {};
  std::vector<Schedule> schedules = {};  // by which `lr` is multiplied
  std::map<std::string, LearningRate> lr_factors =
      {};                                // by variable: what its own rate is, relative to the rate
  std::optional<double> clip_norm = {};  // limit on the norm of all gradients together
  std::set<std::string> no_decay = {};   // variables without weight decay
  std::map<std::string, FactoredDims> factored = {};  // by variable; those that are not named have none
  std::vector<std::string> shard_state_over = {};     // axes of the mesh
  Location shard_location = {};                       // where the model file says `shard_state_over`
  int64_t microbatches = 1;                           // parts into which the batch is cut
  Location microbatches_location = {};
};

/// The complete sharding that the model file states for one tensor, in terms of axes that a mesh may have.
struct NamedAxis {
  std::string name;
  Location location;
};
struct NamedSplit {
  std::string dim;
  std::vector<NamedAxis> axes;  // major first
};
struct ModelAnnotation {
  std::string tensor;  // its name, or another name of it
  std::vector<NamedSplit> splits;
  Location location;
};

/// A cache that holds a tensor of the model's own graph. The tensor is computed once for each batch of sequences,
/// before the first step, by the entry point `encode`; the cache has its dimensions, perhaps in another order.
struct HeldTensor {
  std::string cache;
  TensorId tensor = kNoTensor;
  Location location;
};

/// A tensor of the model's own graph that fills the places of a cache for all positions of a prompt. The entry point
/// `prompt` computes it at once. Tensor and cache have the same dimensions, in any order, except that the tensor's
/// dimension `position` is the cache's dimension `place`.
struct PromptTensor {
  std::string cache;
  TensorId tensor = kNoTensor;
  std::string place, position;  // the names of these two dimensions
  Location location;
};

/// `decode`: the graph of one step of generation, separate from the model's own. It reads the model's
/// variables and keeps its memory of earlier tokens in caches: variables of its own that are zero before the
/// first step, or hold a tensor of the model.
struct DecodeSpec {
  std::vector<InputDecl> inputs;  // kTokenInput, kPositionInput and perhaps kSeenInput
  std::vector<VariableDecl> caches;
  Graph graph;
  std::vector<Assignment> assignments;    // to caches
  std::vector<HeldTensor> held = {};      // in the order of the caches
  std::vector<PromptTensor> prompt = {};  // likewise
  std::string prompt_problem = {};  // why a tensor for prompts that a cache names is of no use; "": none is
  TensorId logits = kNoTensor;      // has the token's dimensions and one more, the vocabulary
  std::vector<ModelAnnotation> annotations = {};
  bool equals_model = true;   // the logits are those that the model computes for all positions at once
  std::string equal_if = {};  // the condition of this, if it does not hold
};
/// Inputs of `decode`: the token that each sequence has at the position; the position; and, for beams, the
/// places of the caches that each may look at.
inline constexpr std::string_view kTokenInput = "token", kPositionInput = "position", kSeenInput = "seen";

/// An output that exists in training only, such as `train/lr` or `w/grad`: `train` delivers it, `evaluate`
/// does not.
struct TrainOutput {
  std::string name;  // one of training_names() (training.h)
  size_t position;   // among all outputs
};

/// The names and shapes that the variables have in published files of weights.
struct PublishedForm {
  std::vector<std::string> rules;   // FROM=TO
  std::vector<std::string> merged;  // dimensions that these files keep as one where they follow each other
};

struct Model {
  std::string name;
  std::string file;
  Dims dims;  // every declared dimension, in the order of the file
  std::map<std::string, double> params;
  std::vector<InputDecl> inputs;
  std::vector<VariableDecl> variables;
  Graph graph;  // the `ops`, with composites and `gradients` as nodes
  std::vector<Assignment> assignments;
  std::optional<TrainSpec> train;
  std::vector<NamedTensor> outputs;        // of `train` and of `evaluate`
  std::vector<TrainOutput> train_outputs;  // in ascending order of their positions
  std::vector<ModelAnnotation> annotations = {};
  std::optional<DecodeSpec> decode;
  PublishedForm published = {};
  bool is_reduced = false;  // tensors are left out, so annotations of a layout may name none
};

/// The dtype that is asked for the tensors that a pattern matches (core/tensors/name_pattern.h).
struct TensorPrecision {
  std::string pattern;
  DType dtype = DType::kF32;  // f32 or bf16
};

/// Mixed precision: products and activations are bf16.
struct Precision {
  /// Gradients of variables: bf16, so that devices add them in bf16, or f32, before they are rounded.
  DType gradients = DType::kBF16;
  std::vector<TensorPrecision> tensors = {};  // the first that matches decides
};

enum class WeightFormat { kF32, kBF16, kInt8 };
template <>
inline constexpr auto kEnumNames<WeightFormat> = std::to_array<EnumName<WeightFormat>>(
    {{WeightFormat::kF32, "f32"}, {WeightFormat::kBF16, "bf16"}, {WeightFormat::kInt8, "int8"}});

/// The form in which a model is compiled. Passes bring it into that form as soon as it is read (core/rewrite/).
struct ModelForm {
  std::optional<Precision> precision = {};  // nothing: that of the model's tensors
  WeightFormat weights = WeightFormat::kF32;
};

/// The largest i8 that stands for a weight; the smallest is its negative.
inline constexpr int kLargestStored = 127;
/// The scale of a row of zeros, and the least of all.
inline constexpr double kLeastScale = 0x1p-126;

}  // namespace mtfc
