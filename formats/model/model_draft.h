#pragma once
// A model under construction, to which all its readers add.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/model/model.h"
#include "formats/json/diagnostics.h"
#include "formats/model/block_table.h"
#include "formats/model/model_scope.h"
#include "formats/model/symbol_table.h"

namespace mtfc {

struct ModelDraft {
  ModelDraft(const ModelScope& names, DiagnosticSink& diagnostics)
      : scope(names), sink(diagnostics), symbols(diagnostics) {}

  /// The params and dims of the block that is being read, or else of the model.
  const ModelScope& names() const { return calls.empty() ? scope : *calls.back().scope; }

  const ModelScope& scope;
  DiagnosticSink& sink;
  SymbolTable symbols;
  GraphBuilder builder;  // becomes model.graph; while a part of a loop is read, that part's builder
  Model model;
  BlockTable blocks;
  /// While `decode` is read: the variables of the model, which its blocks share by name. `model.variables`
  /// then holds decode's caches.
  const std::vector<VariableDecl>* shared = nullptr;
  const Graph* model_graph =
      nullptr;  // while `decode` is read: the model's own, whose tensors caches may hold
  std::vector<HeldTensor> held = {};  // by the caches of decode
  std::vector<PromptTensor> prompt = {};
  std::string prompt_problem = {};  // as in DecodeSpec
  std::map<std::string_view, const VariableDecl*> shared_by_name = {};
  /// The variables in `model.assignments`, and the lines of their assignments.
  std::map<std::string, int> assigned = {};

  /// A call whose block is being read.
  struct Call {
    const Block* block;
    const ModelScope* scope;
    std::string chain;  // `layer_0/ffn from FILE:LINE, in layer_0 from FILE:LINE`
  };
  std::vector<Call> calls;
  std::vector<TensorPrecision> precision;  // that operations state of their results
  /// The values of a block's params in one call.
  struct Settings {
    std::string block;
    std::map<std::string, Number> params;
  };
  /// Those of the model's calls by their scope, if the model has `decode`, whose calls in the same scopes take the
  /// params that they do not bind from here.
  std::map<std::string, Settings> settings;
  bool keeps_settings = false;
  const std::map<std::string, Settings>* model_settings = nullptr;  // while `decode` is read
  int64_t expanded = 0;  // operations and variables that calls have made

  /// A loop whose condition or body is being read into `builder`.
  struct Loop {
    GraphBuilder outside;                 // the builder of the graph that contains the loop
    std::vector<TensorId> operands;       // in that graph; the first ones are given by the file
    size_t given = 0;                     // the number of those
    std::map<TensorId, TensorId> leaves;  // from a variable of the model to its leaf in the part that is
                                          // being read
  };
  std::vector<Loop> loops;
  /// `rounds`: the nested iterations of `while` that are being read. `later_rounds`: those of them that are
  /// not the first of their loop, and so share its variables.
  int rounds = 0, later_rounds = 0;

  /// The builder of the model's own graph, which has all variables.
  GraphBuilder& outermost() { return loops.empty() ? builder : loops.front().outside; }
  /// The tensor of a symbol in `builder`; inside a loop, a variable becomes an additional operand of the
  /// loop.
  TensorId tensor_of(const Symbol& symbol);
};

/// Returns whether the operation or variable at `at` exists according to its `when`, or more generally if the
/// condition `key` is absent or holds. Records an error and returns nullopt if it is malformed.
std::optional<bool> is_chosen(const Cursor& at, const ModelDraft& draft, std::string_view key = "when");

}  // namespace mtfc
