#pragma once
// The tensors that a model file names: their locations and whether anything uses them. A name whose
// definition failed is known but has no tensor, so each mistake is reported once.
//
// While a block is read, names are local to its call: they mean its inputs, or tensors under the call's
// scope:
//
//   in the call layer_0/ffn: `x` is an input, `wi` the tensor `layer_0/ffn/wi`
//
// In an unrolled loop, operations of each iteration have names of their own, and variables share theirs: in
// `s_2/ffn`, `h` is `s_2/ffn/h` and `wi` is `s/ffn/wi`.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "core/diagnostics/error.h"
#include "core/graph/op_def.h"
#include "formats/json/diagnostics.h"

namespace mtfc {

enum class SymbolKind { kInput, kVariable, kOperation };
template <>
inline constexpr auto kEnumNames<SymbolKind> =
    std::to_array<EnumName<SymbolKind>>({{SymbolKind::kInput, "input"},
                                         {SymbolKind::kVariable, "variable"},
                                         {SymbolKind::kOperation, "operation"}});

struct Symbol {
  SymbolKind kind = SymbolKind::kOperation;
  Location location;
  TensorId tensor = kNoTensor;  // kNoTensor if its definition failed
  bool used = false;
  bool open = false;  // its definition is being read
  enum class Sealed { kNo, kInLoop, kInBackward };
  Sealed sealed =
      Sealed::kNo;  // it is inside a loop or a backward block that has been read, and has no value outside
};

bool is_tensor_name(std::string_view name);
/// `line 12`, with the file if that differs from the file of `here`.
std::string line_text(const Location& place, const Location& here);

class SymbolTable {
 public:
  using Formals = std::map<std::string, Symbol, std::less<>>;

  explicit SymbolTable(DiagnosticSink& sink) : sink_(sink), frames_(1) {}

  /// Between enter and leave, names belong to a call of a block: they are prefixed with `scope`, those of its
  /// variables with `variables`, both relative to the caller. `formals` are the call's inputs.
  void enter(const std::string& scope, const std::string& variables, Formals formals);
  void leave() { frames_.pop_back(); }
  /// The name that `name` has in the graph.
  std::string full(std::string_view name) const { return frames_.back().prefix + std::string(name); }
  /// The same for a variable defined here.
  std::string full_variable(std::string_view name) const {
    return frames_.back().variables + std::string(name);
  }
  /// Claims `scope` (a full name) for a call; returns the location of the call that already has it, if any.
  std::optional<Location> claim_scope(const std::string& scope, const Location& location);

  /// Records an error at `location` and returns false for a malformed name or one that is already defined.
  bool define(const std::string& name, SymbolKind kind, const Location& location);
  /// Like define, for the full path of a nested operand, which is well formed and new.
  void define_path(const std::string& path, const Location& location, TensorId tensor);
  void bind(const std::string& name, TensorId tensor);
  /// Between open and close, the definition of `name` is read and must not use it.
  void open(const std::string& name) { symbols_.find(full(name))->second.open = true; }
  void close(const std::string& name) { symbols_.find(full(name))->second.open = false; }

  /// Returns the symbol `name` and marks it used; records an error at `location` ("did you mean", or why it
  /// is missing) and returns nullptr if there is none.
  const Symbol* use(std::string_view name, const Location& location);
  const Symbol* find(std::string_view name) const;
  /// Returns whether the file defines `name` anywhere.
  bool is_known(std::string_view name) const { return find(name) || frames_.back().announced.contains(name); }

  /// Refuses, from here on, uses of names under the full name `scope`, except variables.
  void seal(const std::string& scope, Symbol::Sealed by);

  /// From here on unknown names may be defined in a file that could not be read, and are not reported.
  void expect_gaps() { frames_.back().has_gaps = true; }
  /// Returns whether such a name was left unreported.
  bool has_missed() const { return has_missed_; }

  /// Announces names to come, and names whose definitions so far were all removed by `when`, for better
  /// messages.
  void announce(const std::string& name, int line) { frames_.back().announced.emplace(name, line); }
  void note_removed(const std::string& name) { frames_.back().removed.insert(name); }
  bool is_removed(const std::string& name) const { return frames_.back().removed.contains(name); }

  /// All symbols by full name.
  const std::map<std::string, Symbol, std::less<>>& all() const { return symbols_; }

 private:
  struct Frame {
    std::string prefix, variables;
    Formals formals;
    std::map<std::string, int, std::less<>> announced;  // with their lines
    std::set<std::string, std::less<>> removed;
    bool has_gaps = false;
  };
  std::vector<std::string> names() const;
  bool refuse(const Symbol& symbol, std::string_view name, const Location& location);

  DiagnosticSink& sink_;
  std::map<std::string, Symbol, std::less<>> symbols_;
  std::map<std::string, Location> scopes_;
  std::vector<Frame> frames_;  // the file, then the calls being read
  bool has_missed_ = false;
};

}  // namespace mtfc
