#pragma once
// The tensors a model file names: where each is defined and whether anything uses it. A name whose definition
// failed is known but has no tensor, so that one mistake is reported once.
//
// While a block is read, names are local to its call: they mean its inputs, or stand behind the call's scope:
//
//   in the call layer_0/ffn: `x` is an input, `wi` the tensor `layer_0/ffn/wi`
//
// In the rounds of a loop of known length operations have names of their own, and variables shared ones:
// in `s_2/ffn`, `h` is `s_2/ffn/h` and `wi` is `s/ffn/wi`.

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
  TensorId tensor = kNoTensor;  // kNoTensor: its definition failed
  bool used = false;
  bool open = false;    // its definition is being read
  bool sealed = false;  // it is in a loop that has been read, and has no value outside of it
};

bool is_tensor_name(std::string_view name);
/// `line 12`, with the file where that is not the file of `here`.
std::string line_text(const Location& place, const Location& here);

class SymbolTable {
 public:
  using Formals = std::map<std::string, Symbol, std::less<>>;

  explicit SymbolTable(DiagnosticSink& sink) : sink_(sink), frames_(1) {}

  /// Between the two names are those of a call of a block: behind `scope`, those of its variables behind
  /// `variables`, both as seen from where the call stands. `formals` are its inputs.
  void enter(const std::string& scope, const std::string& variables, Formals formals);
  void leave() { frames_.pop_back(); }
  /// The name that `name` has in the graph.
  std::string full(std::string_view name) const { return frames_.back().prefix + std::string(name); }
  /// The same for a variable that is defined here.
  std::string full_variable(std::string_view name) const {
    return frames_.back().variables + std::string(name);
  }
  /// Takes the scope `scope` (its full name) for a call; the place of the call that has it, if there is one.
  std::optional<Location> claim_scope(const std::string& scope, const Location& location);

  /// False, with an error at `location`, for a malformed name or one that is defined already.
  bool define(const std::string& name, SymbolKind kind, const Location& location);
  /// As define, for the full path of a nested operand, which is well formed and new.
  void define_path(const std::string& path, const Location& location, TensorId tensor);
  void bind(const std::string& name, TensorId tensor);
  /// Between the two the definition of `name` is read, and must not use it.
  void open(const std::string& name) { symbols_.find(full(name))->second.open = true; }
  void close(const std::string& name) { symbols_.find(full(name))->second.open = false; }

  /// The symbol `name`, now used; nullptr, with an error at `location` ("did you mean", or why it isn't
  /// there).
  const Symbol* use(std::string_view name, const Location& location);
  const Symbol* find(std::string_view name) const;
  /// Whether the file defines `name` anywhere.
  bool is_known(std::string_view name) const { return find(name) || frames_.back().announced.contains(name); }

  /// What stands behind the full name `scope`, but for variables, is from here on refused.
  void seal(const std::string& scope);

  /// From here on unknown names may be those that could not be read, and stay silent.
  void expect_gaps() { frames_.back().has_gaps = true; }
  /// Whether that has silenced one.
  bool has_missed() const { return has_missed_; }

  /// Names to come, and names whose every definition so far was removed by `when`: for better messages.
  void announce(const std::string& name, int line) { frames_.back().announced.emplace(name, line); }
  void note_removed(const std::string& name) { frames_.back().removed.insert(name); }

  /// By full name.
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
  std::vector<Frame> frames_;  // of the file, and of the calls that are being read
  bool has_missed_ = false;
};

}  // namespace mtfc
