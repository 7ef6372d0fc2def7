#pragma once
// The additions of `train` to a model's graph: gradients, their clipping, the optimizer's updates and its
// state.

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/model/model.h"

namespace mtfc {

/// Tensors of training that belong to no variable: the number of steps made (a variable; only if the
/// optimizer or a schedule needs it), the learning rate, and the norm of all gradients before clipping. The
/// last two exist if the update needs them or somebody wants them.
inline constexpr const char* kStepName = "train/step";
inline constexpr const char* kRateName = "train/lr";
inline constexpr const char* kNormName = "train/grad_norm";

/// Ends the names of the gradients that one microbatch gives, after those of the variables. They are other tensors than
/// the gradients of the whole batch: where devices share the batch, each may hold its own term of them until all
/// microbatches are added up.
inline constexpr const char* kMicrobatchGradient = "/grad/microbatch";

/// The variables that the optimizer keeps for one of the model's, and those that it keeps once.
std::vector<VariableDecl> state_of(const TrainSpec& train, const VariableDecl& variable);
std::vector<VariableDecl> shared_state(const TrainSpec& train);

/// The rate that updates are made with, but for those of variables that have a factor of their own. With a schedule,
/// the variable kStepName counts its steps.
LearningRate learning_rate_of(const TrainSpec& train);

/// The names of all tensors that training makes for `model`, which trains, or can make: `NAME/grad` and the
/// state of each trained variable, and the three above.
std::vector<std::string> training_names(const Model& model);

/// Gives the gradients of the loss with respect to the trainable variables, in their order, named `NAME/grad`. They are
/// added, unless microbatches have made them.
std::vector<TensorId> add_gradients(GraphBuilder& builder, const Model& model, TensorId loss);

/// Adds one update per trainable variable, from these gradients, and its assignments. `wanted` lists tensors
/// that are outputs.
void add_updates(GraphBuilder& builder, const Model& model, std::vector<TensorId> gradients,
                 const std::vector<std::string>& wanted, std::vector<Assignment>& assignments);

}  // namespace mtfc
