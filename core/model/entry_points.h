#pragma once
// The entry points of a model as graphs: init (initial values), train (one step), evaluate (forward only), decode
// (one step of generation), encode (what the caches of decode hold before the first step) and prompt (what they hold
// after all positions of a prompt).

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/entry_graph.h"
#include "core/model/model.h"

namespace mtfc {

/// The variables of the model, followed by those that its optimizer keeps.
std::vector<VariableDecl> all_variables(const Model& model);

/// True if a step changes anything: the model trains, or assigns variables itself.
bool has_train_entry(const Model& model);

/// The model without all that only training and generation run, so that the state of its optimizer takes no memory.
/// ZeRO still splits the variables of such a model.
Model only_evaluate(Model model);
/// The model as the entry point needs it: only_evaluate() for `evaluate`, only_decode() for `decode` and `encode` where
/// the model has them, and otherwise the whole model.
Model reduced_to(Model model, std::string_view entry);

/// The name of the loss among the outputs of a training step; "" if the model does not train.
std::string loss_name(const Model& model);

/// The model's operations, the beginning of `train`. If the model trains, its last output is the loss, without a name.
/// `keep` lists further tensors to deliver as outputs; names that the graph lacks are skipped. A training step always
/// delivers its loss, so that a run can see whether it is finite.
EntryGraph forward_entry(const Model& model, const std::vector<std::string>& keep);
/// The whole entry point `train`: gradients of the trainable variables (named `NAME/grad`), unless cut_batch()
/// (core/rewrite/cut_batch.h) has made them, and their updates follow if the model trains.
EntryGraph with_updates(EntryGraph forward, const Model& model, const std::vector<std::string>& keep);
bool has_encode_entry(const Model& model);
/// True for decode, encode and prompt, the entry points that only generation runs.
bool is_for_generation(std::string_view entry);
/// The caches that an entry point has: all for decode, those that hold tensors of the model for encode and prompt, or
/// none. In those of prompt, the dimension PLACES of decode's caches is called `PLACES.prompt`, and has the size of the
/// prompt.
std::vector<VariableDecl> caches_of(const Model& model, const std::string& entry);
/// An entry point by its name, but for `train`, which declared_entry() of core/compile/pipeline.h makes:
///   - init computes the initial value of every variable that declares one.
///   - evaluate delivers the outputs.
///   - decode, of a model that has it, has `logits` as its first output, whole on every device under any layout, since
///     the choice of a token looks at all of them.
///   - encode, of a model that has_encode_entry(), assigns the tensors that caches hold to these.
///   - prompt, of a model whose decode can begin after a prompt (prompt_positions() of decoding.h), computes the keys
///     and values of all positions at once, and assigns them to caches that have as many places as there are positions.
EntryGraph entry_named(const Model& model, const std::string& name,
                       const std::vector<std::string>& keep = {});
inline constexpr std::string_view kLogitsOutput = "logits";

}  // namespace mtfc
