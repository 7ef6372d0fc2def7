#pragma once
// The tensors a model file names: where each is defined and whether anything uses it. A name whose definition
// failed is known but has no tensor, so that one mistake is reported once.

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/op_def.h"
#include "formats/diagnostics.h"

namespace mtfc {

enum class SymbolKind { kInput, kVariable, kOperation };

struct Symbol {
  SymbolKind kind = SymbolKind::kOperation;
  Location location;
  TensorId tensor = kNoTensor;  // kNoTensor: its definition failed
  bool used = false;
  bool open = false;  // its definition is being read
};

class SymbolTable {
 public:
  explicit SymbolTable(DiagnosticSink& sink) : sink_(sink) {}

  /// False, with an error at `location`, for a malformed name or one that is defined already.
  bool define(const std::string& name, SymbolKind kind, const Location& location);
  /// As define, for the path of a nested operand, which is well formed and new.
  void define_path(const std::string& path, const Location& location, TensorId tensor);
  void bind(const std::string& name, TensorId tensor);
  /// Between the two the definition of `name` is read, and must not use it.
  void open(const std::string& name) { symbols_.find(name)->second.open = true; }
  void close(const std::string& name) { symbols_.find(name)->second.open = false; }

  /// The symbol `name`, now used; nullptr, with an error at `location` ("did you mean", or why it isn't
  /// there).
  const Symbol* use(std::string_view name, const Location& location);
  const Symbol* find(std::string_view name) const;
  /// Whether the file defines `name` anywhere.
  bool is_known(std::string_view name) const { return find(name) || announced_.contains(name); }

  /// From here on unknown names may be those that could not be read, and stay silent.
  void expect_gaps() { has_gaps_ = true; }
  /// Whether that has silenced one.
  bool has_missed() const { return has_missed_; }

  /// Names to come, and names whose every definition so far was removed by `when`: for better messages.
  void announce(const std::string& name, int line) { announced_.emplace(name, line); }
  void note_removed(const std::string& name) { removed_.insert(name); }

  const std::map<std::string, Symbol, std::less<>>& all() const { return symbols_; }

 private:
  DiagnosticSink& sink_;
  std::map<std::string, Symbol, std::less<>> symbols_;
  std::map<std::string, int, std::less<>> announced_;  // with their lines
  std::set<std::string, std::less<>> removed_;
  bool has_gaps_ = false;
  bool has_missed_ = false;
};

}  // namespace mtfc
