#pragma once
// The additions of `train` to a model's graph: gradients, their clipping, the optimizer's updates and its
// state.

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/model/model.h"

namespace mtfc {

/// Tensors of training that belong to no variable: the number of steps made (a variable; only if the
/// optimizer or a schedule needs it), the scheduled learning rate, and the norm of all gradients before
/// clipping.
inline constexpr const char* kStepName = "train/step";
inline constexpr const char* kRateName = "train/lr";
inline constexpr const char* kNormName = "train/grad_norm";

/// The variables that the optimizer keeps for one of the model's, and those that it keeps once.
std::vector<VariableDecl> state_of(const TrainSpec& train, const VariableDecl& variable);
std::vector<VariableDecl> shared_state(const TrainSpec& train);

/// Adds the gradients of the loss with respect to the trainable variables, in their order, named `NAME/grad`.
/// The builder holds a copy of the model's graph.
std::vector<TensorId> add_gradients(GraphBuilder& builder, const Model& model);

/// Adds one update per trainable variable, from these gradients, and its assignments.
void add_updates(GraphBuilder& builder, const Model& model, std::vector<TensorId> gradients,
                 std::vector<Assignment>& assignments);

}  // namespace mtfc
