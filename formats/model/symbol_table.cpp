#include "formats/model/symbol_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/diagnostics/suggest.h"

namespace mtfc {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

bool is_tensor_name(std::string_view name) {
  return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '/';
  });
}

std::string line_text(const Location& place, const Location& here) {
  if (place.file == here.file) return fmt::format("line {}", place.line);
  return fmt::format("{}:{}", place.file, place.line);
}

void SymbolTable::enter(const std::string& scope, const std::string& variables, Formals formals) {
  Frame frame;
  frame.prefix = full(scope) + "/";
  frame.variables = full_variable(variables) + "/";
  frame.formals = std::move(formals);
  frames_.push_back(std::move(frame));
}

void SymbolTable::seal(const std::string& scope, Symbol::Sealed by) {
  const std::string prefix = scope + "/";
  for (auto at = symbols_.lower_bound(prefix); at != symbols_.end() && at->first.starts_with(prefix); ++at)
    if (at->second.kind == SymbolKind::kOperation) at->second.sealed = by;
}

std::optional<Location> SymbolTable::claim_scope(const std::string& scope, const Location& location) {
  const auto [at, is_new] = scopes_.emplace(scope, location);
  if (is_new) return std::nullopt;
  return at->second;
}

bool SymbolTable::define(const std::string& name, SymbolKind kind, const Location& location) {
  if (!is_tensor_name(name)) {
    sink_.error(location, fmt::format("'{}' can't name a tensor", name),
                "names are letters, digits, '_', '-' and '/', and start with a letter or '_'");
    symbols_.emplace(full(name), Symbol{kind, location});  // known, so that its uses report nothing
    return false;
  }
  const Symbol* other = find(name);
  if (!other) {
    symbols_.emplace(kind == SymbolKind::kVariable ? full_variable(name) : full(name),
                     Symbol{kind, location});
    return true;
  }
  sink_.error(location, fmt::format("'{}' is defined already", name),
              fmt::format("by the {} in {}", to_string(other->kind), line_text(other->location, location)));
  return false;
}

void SymbolTable::define_path(const std::string& path, const Location& location, TensorId tensor) {
  symbols_.emplace(path, Symbol{SymbolKind::kOperation, location, tensor});
}

void SymbolTable::bind(const std::string& name, TensorId tensor) {
  const_cast<Symbol*>(find(name))->tensor = tensor;
}

const Symbol* SymbolTable::find(std::string_view name) const {
  const Formals& formals = frames_.back().formals;
  if (const auto formal = formals.find(name); formal != formals.end()) return &formal->second;
  const Frame& frame = frames_.back();
  if (const auto at = symbols_.find(full(name)); at != symbols_.end()) return &at->second;
  if (frame.variables == frame.prefix) return nullptr;
  const auto at = symbols_.find(full_variable(name));
  return at == symbols_.end() || at->second.kind != SymbolKind::kVariable ? nullptr : &at->second;
}

// Returns the names as they are written in the file or the block that is being read.
std::vector<std::string> SymbolTable::names() const {
  const Frame& frame = frames_.back();
  std::vector<std::string> list;
  for (const auto& [name, symbol] : frame.formals) list.push_back(name);
  for (auto at = symbols_.lower_bound(frame.prefix);
       at != symbols_.end() && at->first.starts_with(frame.prefix); ++at)
    list.push_back(at->first.substr(frame.prefix.size()));
  return list;
}

bool SymbolTable::refuse(const Symbol& symbol, std::string_view name, const Location& location) {
  if (symbol.open)
    sink_.error(location, fmt::format("'{}' is used in its own definition", name),
                "a variable can be assigned a new value; any other name is defined once");
  else if (symbol.sealed == Symbol::Sealed::kInBackward)
    sink_.error(
        location, fmt::format("'{}' is computed in the backward pass alone", name),
        "a block sees the outputs of the blocks that it calls, and not what their gradients are made of");
  else if (symbol.sealed == Symbol::Sealed::kInLoop)
    sink_.error(
        location,
        fmt::format("'{}' is computed in every round of a loop and has no value outside the loop", name),
        "to use its value there, make it an output of the loop's body");
  return symbol.open || symbol.sealed != Symbol::Sealed::kNo;
}

const Symbol* SymbolTable::use(std::string_view name, const Location& location) {
  if (auto* symbol = const_cast<Symbol*>(find(name))) {
    if (refuse(*symbol, name, location)) return nullptr;
    symbol->used = true;
    return symbol;
  }
  const Frame& frame = frames_.back();
  const bool is_removed = frame.removed.contains(name);
  if (const auto later = frame.announced.find(name); later != frame.announced.end() && !is_removed) {
    sink_.error(location, fmt::format("'{}' is used before it is defined", name),
                fmt::format("its definition is in line {}", later->second));
    return nullptr;
  }
  if (is_removed) {
    sink_.error(location, fmt::format("'{}' does not exist: its 'when' evaluates to 0", name));
    return nullptr;
  }
  if (frame.has_gaps) {
    has_missed_ = true;
    sink_.consequence();
    return nullptr;
  }
  if (frames_.size() > 1 && symbols_.contains(name))
    return sink_.error(location, fmt::format("unknown tensor '{}'", name),
                       "a block sees its inputs and variables, not the tensors of the model"),
           nullptr;
  // Comparing unknown names with all known ones takes long if the file is full of them, and nobody reads more
  // than the first messages.
  const bool compares = sink_.error_count() < 5 * DiagnosticSink::kMostShown;
  sink_.error(location, fmt::format("unknown tensor '{}'", name),
              did_you_mean(name, compares ? names() : std::vector<std::string>()));
  return nullptr;
}

}  // namespace mtfc
