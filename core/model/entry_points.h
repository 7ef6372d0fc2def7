#pragma once
// The entry points of a model as graphs: init (initial values), train (one step), evaluate (forward only)
// and decode (one step of generation).

#include <string>
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/model/model.h"

namespace mtfc {

/// Variables of the model, and after them those that its optimizer keeps.
std::vector<VariableDecl> all_variables(const Model& model);

/// Whether a step changes anything: the model trains, or assigns variables itself.
bool has_train_entry(const Model& model);

/// Every variable that says how gets its initial value.
EntryGraph init_entry(const std::vector<VariableDecl>& variables);

/// The model's operations; gradients of the trainable variables, named `NAME/grad`, and their updates follow
/// where the model trains. `keep`: tensors delivered beside the outputs; names the graph lacks are skipped.
EntryGraph train_entry(const Model& model, const std::vector<std::string>& keep);
EntryGraph evaluate_entry(const Model& model, const std::vector<std::string>& keep);
/// Of a model that has one. Its first output is `logits`, whole on every device, whatever the layout: who
/// chooses a token looks at all of them.
EntryGraph decode_entry(const Model& model, const std::vector<std::string>& keep);
inline constexpr std::string_view kLogitsOutput = "logits";

}  // namespace mtfc
