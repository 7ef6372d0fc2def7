#pragma once
// What `mtfc ops` shows: the operations and composites of the registry, for people.

#include <string>
#include <vector>

#include "core/graph/op_def.h"

namespace mtfc {

/// All of them by family, a line or more each, in lines of at most `width` characters.
std::string operation_list(int width);
/// One of them in full: operands, attributes, what its dimensions do when they are split, an example.
std::string operation_page(const Signature& signature, int width);

/// A kind of statement of `ops` that is no operation of the registry: `assign`, `call`, ….
struct StatementKind {
  std::string name;
  std::string doc;   // a sentence
  std::string keys;  // what it takes, a line each
  std::string example;
};
const std::vector<StatementKind>& statement_kinds();
std::string statement_page(const StatementKind& statement, int width);

/// For a kind that there isn't: the one that is near, or that others call so, or where all are listed.
std::string operation_hint(const std::string& name);

/// The names of the operands of an example, `x` or `x1`, `x2`, …, and of its results, `y` or `y1`, `y2`, ….
std::vector<std::string> example_names(char letter, size_t count);

}  // namespace mtfc
