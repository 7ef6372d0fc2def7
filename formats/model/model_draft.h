#pragma once
// A model while it is read: what all its readers add to.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
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

  /// Params and dims where the draft is at: those of the block that is being read, else of the model.
  const ModelScope& names() const { return calls.empty() ? scope : *calls.back().scope; }

  const ModelScope& scope;
  DiagnosticSink& sink;
  SymbolTable symbols;
  GraphBuilder builder;  // becomes model.graph; that of a loop's part while one is read
  Model model;
  BlockTable blocks;
  /// While `decode` is read: the variables of the model, which its blocks share by name. `model.variables`
  /// are then its caches.
  const std::vector<VariableDecl>* shared = nullptr;

  /// A call of a block that is being read.
  struct Call {
    const Block* block;
    const ModelScope* scope;
    std::string chain;  // `layer_0/ffn from FILE:LINE, in layer_0 from FILE:LINE`
  };
  std::vector<Call> calls;
  int64_t expanded = 0;  // operations and variables that calls have made

  /// A loop whose condition or body is being read into `builder`.
  struct Loop {
    GraphBuilder outside;                 // of what it stands in
    std::vector<TensorId> operands;       // there; first those that the file gives
    size_t given = 0;                     // how many these are
    std::map<TensorId, TensorId> leaves;  // of variables of the model: their leaves in the part that is read
  };
  std::vector<Loop> loops;
  /// Rounds of `while` that are being read, one in another, and those of them that are not the first of their
  /// loop: these share its variables.
  int rounds = 0, later_rounds = 0;

  /// The builder of the model's own graph, which has all variables.
  GraphBuilder& outermost() { return loops.empty() ? builder : loops.front().outside; }
  /// The tensor of a symbol in `builder`: in a loop a variable is one more operand of it.
  TensorId tensor_of(const Symbol& symbol);
};

/// Whether the operation or variable at `at` exists, by its `when`; nothing, with an error, where that is
/// malformed.
std::optional<bool> is_chosen(const Cursor& at, const ModelDraft& draft);

}  // namespace mtfc
