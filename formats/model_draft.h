#pragma once
// A model while it is read: what all its readers add to.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph.h"
#include "core/model.h"
#include "formats/block_table.h"
#include "formats/diagnostics.h"
#include "formats/model_scope.h"
#include "formats/symbol_table.h"

namespace mtfc {

struct ModelDraft {
  ModelDraft(const ModelScope& names, DiagnosticSink& diagnostics)
      : scope(names), sink(diagnostics), symbols(diagnostics) {}

  /// Params and dims where the draft is at: those of the block that is being read, else of the model.
  const ModelScope& names() const { return calls.empty() ? scope : *calls.back().scope; }

  const ModelScope& scope;
  DiagnosticSink& sink;
  SymbolTable symbols;
  GraphBuilder builder;  // becomes model.graph
  Model model;
  BlockTable blocks;

  /// A call of a block that is being read.
  struct Call {
    const Block* block;
    const ModelScope* scope;
    std::string chain;  // `layer_0/ffn from FILE:LINE, in layer_0 from FILE:LINE`
  };
  std::vector<Call> calls;
  int64_t expanded = 0;  // operations and variables that calls have made
};

/// Whether the operation or variable at `at` exists, by its `when`; nothing, with an error, where that is
/// malformed.
std::optional<bool> is_chosen(const Cursor& at, const ModelDraft& draft);

}  // namespace mtfc
