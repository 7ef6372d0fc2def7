#pragma once
// The text of `mtfc ops`: the operations and composites of the registry, described for people.

#include <string>
#include <vector>

#include "core/graph/op_def.h"

namespace mtfc {

/// All of them by family, one or more lines each, in lines of at most `width` characters.
std::string operation_list(int width);
/// One of them in full: operands, attributes, the effect of splitting its dimensions, an example, and any worked
/// examples.
std::string operation_page(const Signature& signature, int width);

/// A kind of statement of `ops` that is not an operation of the registry: `assign`, `call`, ….
struct StatementKind {
  std::string name;
  std::string doc;   // one sentence
  std::string keys;  // the keys that it takes, one line each
  std::string example;
};
const std::vector<StatementKind>& statement_kinds();
std::string statement_page(const StatementKind& statement, int width);

/// The hint for an unknown kind: a similar one, the one that others call by this name, or the command that
/// lists all.
std::string operation_hint(const std::string& name);

/// The names of the operands of an example, `x` or `x1`, `x2`, …, and of its results, `y` or `y1`, `y2`, ….
std::vector<std::string> example_names(char letter, size_t count);

}  // namespace mtfc
