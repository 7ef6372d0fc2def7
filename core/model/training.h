#pragma once
// What `train` adds to a model's graph: gradients, their clipping, the optimizer's updates and its state.

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/model/model.h"

namespace mtfc {

/// Tensors of training that belong to no variable: the number of steps made (a variable, where the optimizer
/// or a schedule needs it), the scheduled learning rate, and the norm of all gradients before they are
/// clipped.
inline constexpr const char* kStepName = "train/step";
inline constexpr const char* kRateName = "train/lr";
inline constexpr const char* kNormName = "train/grad_norm";

/// The variables that the optimizer keeps for one of the model's, and those it keeps once.
std::vector<VariableDecl> state_of(const TrainSpec& train, const VariableDecl& variable);
std::vector<VariableDecl> shared_state(const TrainSpec& train);

/// Adds gradients of the loss, named `NAME/grad`, to a copy of the model's graph: of its trainable variables,
/// in their order.
std::vector<TensorId> add_gradients(GraphBuilder& builder, const Model& model);

/// Adds one update per trainable variable by these gradients.
void add_updates(GraphBuilder& builder, const Model& model, std::vector<TensorId> gradients,
                 std::vector<Assignment>& assignments);

}  // namespace mtfc
