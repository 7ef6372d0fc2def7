#pragma once
// A model while it is read: what all its readers add to.

#include <optional>

#include "core/graph.h"
#include "core/model.h"
#include "formats/diagnostics.h"
#include "formats/model_scope.h"
#include "formats/symbol_table.h"

namespace mtfc {

struct ModelDraft {
  ModelDraft(const ModelScope& names, DiagnosticSink& diagnostics)
      : scope(names), sink(diagnostics), symbols(diagnostics) {}

  const ModelScope& scope;
  DiagnosticSink& sink;
  SymbolTable symbols;
  GraphBuilder builder;  // becomes model.graph
  Model model;
};

/// Whether the operation or variable at `at` exists, by its `when`; nothing, with an error, where that is
/// malformed.
std::optional<bool> is_chosen(const Cursor& at, const ModelDraft& draft);

}  // namespace mtfc
