#include "formats/symbol_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/suggest.h"

namespace mtfc {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_tensor_name(std::string_view name) {
  return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '/';
  });
}

const char* kind_name(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::kInput:
      return "input";
    case SymbolKind::kVariable:
      return "variable";
    case SymbolKind::kOperation:
      return "operation";
  }
  return "";
}

}  // namespace

bool SymbolTable::define(const std::string& name, SymbolKind kind, const Location& location) {
  if (!is_tensor_name(name)) {
    sink_.error(location, fmt::format("'{}' can't name a tensor", name),
                "names are letters, digits, '_', '-' and '/', and start with a letter or '_'");
    return false;
  }
  const auto [at, is_new] = symbols_.emplace(name, Symbol{kind, location});
  if (is_new) return true;
  sink_.error(location, fmt::format("'{}' is defined already", name),
              fmt::format("by the {} in line {}", kind_name(at->second.kind), at->second.location.line));
  return false;
}

void SymbolTable::define_path(const std::string& path, const Location& location, TensorId tensor) {
  symbols_.emplace(path, Symbol{SymbolKind::kOperation, location, tensor});
}

void SymbolTable::bind(const std::string& name, TensorId tensor) {
  symbols_.find(name)->second.tensor = tensor;
}

const Symbol* SymbolTable::find(std::string_view name) const {
  const auto at = symbols_.find(name);
  return at == symbols_.end() ? nullptr : &at->second;
}

const Symbol* SymbolTable::use(std::string_view name, const Location& location) {
  if (const auto at = symbols_.find(name); at != symbols_.end()) {
    if (at->second.open) {
      sink_.error(location, fmt::format("'{}' is used in its own definition", name),
                  "a variable can be assigned a new value; any other name is defined once");
      return nullptr;
    }
    at->second.used = true;
    return &at->second;
  }
  if (const auto later = announced_.find(name); later != announced_.end() && !removed_.contains(name)) {
    sink_.error(location, fmt::format("'{}' is used before it is defined", name),
                fmt::format("its definition is in line {}", later->second));
    return nullptr;
  }
  if (removed_.contains(name)) {
    sink_.error(location, fmt::format("'{}' is removed: its 'when' comes out 0", name));
    return nullptr;
  }
  if (has_gaps_) {
    has_missed_ = true;
    sink_.consequence();
    return nullptr;
  }
  std::vector<std::string> known;
  // A file of unknown names is compared with all of its known ones; nobody reads more than the first
  // messages.
  if (sink_.error_count() < 5 * DiagnosticSink::kMostShown)
    for (const auto& [other, symbol] : symbols_) known.push_back(other);
  sink_.error(location, fmt::format("unknown tensor '{}'", name), did_you_mean(name, known));
  return nullptr;
}

}  // namespace mtfc
