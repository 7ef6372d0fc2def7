#pragma once
// The readers of the parts of a model file, each in the source file of its name. They record errors, and return nullopt
// if there are any.

#include <optional>
#include <string>
#include <vector>

#include "core/graph/op_def.h"
#include "core/model/learning_rate.h"
#include "core/model/model.h"
#include "core/tensors/window.h"
#include "formats/expression/expression.h"
#include "formats/json/cursor.h"
#include "formats/model/model_draft.h"
#include "formats/model/model_scope.h"

namespace mtfc {

struct ModelOverrides;

/// Reads the attributes among the keys of the operation at `at`. A key that is neither an attribute nor common to all
/// operations, a value of the wrong type, and a required attribute that is missing are errors.
std::optional<Attributes> read_attributes(const Cursor& at, const Signature& signature,
                                          const ModelScope& scope);

/// Reads `decode` into `draft.model.decode`: one step of generation as a graph of its own, made of the model's blocks
/// and sharing its variables. The model's own graph must have been read without errors.
///
///   "decode": {"inputs": {"token": …, "position": …, "seen": …}, "variables": caches, "ops": […],
///              "outputs": {"logits": NAME}}
void read_decode(const Cursor& at, ModelDraft& draft);

/// Reads `init` of a variable, its initial values, which must suit `type`. `variance_scaling` becomes the truncated
/// normal distribution that has the variance scale / fan after truncation at two standard deviations.
std::optional<Init> read_init(const Cursor& at, const TensorType& type, const ModelScope& scope);

struct StatedPrecision {
  DType dtype = DType::kF32;  // bf16: mixed precision; f32: none, unless the command line asks for it
  Precision precision = {};
};
/// A dtype of mixed precision, f32 or bf16, which an operation may state.
std::optional<DType> read_mixed_dtype(const Cursor& at);
/// Reads `precision`: "bf16", or {"dtype": "bf16", "gradients": "f32", "tensors": {pattern: dtype}}. A pattern that
/// matches no tensor of the model is an error.
StatedPrecision read_precision(const Cursor& at, const Model& model);

/// Reads a learning rate: a number, a schedule such as {"schedule": "cosine", "peak": 1e-3, "warmup": 100, "steps":
/// 2500, "end": 1e-4}, or {"product": [...]} of these. Numbers that the type `narrowest` can't hold are errors.
std::optional<LearningRate> read_learning_rate(const Cursor& at, const NameLookup& lookup, DType narrowest);

/// Reads the key "sharding" of an input, a variable or an operation: an annotation, which names axes of a mesh that the
/// model does not know. If the declaration or operation at `at` has one, adds it to the annotations of the model for
/// the tensors `names`, each of which has the dimensions at the same place in `dims`. A dimension that none of the
/// tensors has, and an axis that is named twice, are errors.
void read_sharding(const Cursor& at, const std::vector<std::string>& names, const std::vector<Dims>& dims,
                   ModelDraft& draft);

/// Reads `train`: the loss, the optimizer with its settings, and settings that apply to all updates. All operations
/// must have been read.
std::optional<TrainSpec> read_train(const Cursor& at, const ModelOverrides& overrides, ModelDraft& draft);

/// Reads a member of `variables` into a leaf of the graph and a declaration in the model. Defines it under its full
/// name; a failed one has a name but no tensor. In `decode` only caches are new: any other variable is the model's
/// variable of that name, and must have the same type.
void read_variable(const NamedCursor& variable, ModelDraft& draft);
/// Reads a member of the `variables` of `decode`, which is a cache whether or not it says so.
void read_cache(const NamedCursor& variable, ModelDraft& draft);
/// Adds an input, whose name is defined, with this type and with the sharding that it states.
void add_input(const NamedCursor& input, const TensorType& type, ModelDraft& draft);

/// Reads the windows of an operation: a list of objects, one for each spatial dimension. 'taps' is a dimension, or a
/// number or an expression; 'pad' stands in the place of 'low' and 'high'.
std::optional<Windows> read_windows(const Cursor& at, const ModelScope& scope);

}  // namespace mtfc
