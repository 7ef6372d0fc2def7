#pragma once
// The graphs of a model as entry points, by which passes over models rewrite and check them.

#include <map>
#include <string>
#include <vector>

#include "core/model/model.h"

namespace mtfc {

/// The model's own graph and, if it has one, that of its decode. They deliver every tensor that the model names
/// elsewhere: the loss and the logits are their last outputs, without names, and what caches hold or begin with is
/// assigned to these.
std::vector<EntryGraph> graphs_of(const Model& model);
/// Gives the model such graphs, which deliver the same in the same order.
void set_graphs(Model& model, std::vector<EntryGraph> graphs);

/// True if the node rounds a variable from f32 to bf16.
bool rounds_variable(const Graph& graph, const Node& node);
/// The f32 variables that a graph only reads to round them to bf16, by name, each with a tensor that is so made.
std::map<std::string, TensorId, std::less<>> masters(const Graph& graph);
/// Behind the name of a master, the bf16 copy that all microbatches read (core/rewrite/microbatch_loop.h).
inline constexpr const char* kHeldCopy = "/bf16/held";

/// "" if the model is valid and delivers what `before` does, perhaps in other dtypes. Otherwise what is wrong. In a
/// valid model, the graphs are valid, and their leaves and assignments have the types that the model declares.
std::string model_problem(const Model& before, const Model& model);

}  // namespace mtfc
