#pragma once
// The text of `mtfc ops`: the operations and composites of the registry, and the blocks of the library that ships with
// mtfc, described for people.

#include <string>
#include <vector>

#include "core/graph/op_def.h"
#include "formats/json/json_value.h"

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

/// A file of the library, and the name by which models include it: `std/moe.json`.
struct LibraryFile {
  std::string name;
  JsonValue json;
};
/// The block of this name, or nullptr.
const JsonValue* find_block(const LibraryFile& file, const std::string& name);
/// All files with the calls of their blocks.
std::string library_list(const std::vector<LibraryFile>& files, int width);
/// One file: the dimensions and params that it defines, and all of its blocks.
std::string library_page(const LibraryFile& file, int width);
/// One block: what it takes and gives, its dimensions, params and variables, and a call.
std::string block_page(const LibraryFile& file, const std::string& block, int width);

/// The hint for an unknown kind: a similar one, a similar one of `others`, the one that others call by this name, or
/// the command that lists all.
std::string operation_hint(const std::string& name, const std::vector<std::string>& others = {});

/// The names of the operands of an example, `x` or `x1`, `x2`, …, and of its results, `y` or `y1`, `y2`, ….
std::vector<std::string> example_names(char letter, size_t count);

}  // namespace mtfc
