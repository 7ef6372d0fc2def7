#include "formats/model/block_table.h"

#include <fmt/format.h>

#include <set>

#include "formats/expression/expression.h"
#include "formats/model/symbol_table.h"

namespace mtfc {
namespace {

// The names of `in` or `out`: a list of different strings, or a single one.
std::vector<Cursor> read_names(const Cursor& at) {
  std::vector<Cursor> list;
  std::set<std::string> seen;
  if (at.is(JsonKind::kString)) return {at};
  for (const Cursor& item : at.items("a name or a list of names")) {
    const std::optional<std::string> name = item.string("a name");
    if (!name) continue;
    if (seen.insert(*name).second)
      list.push_back(item);
    else
      item.error(fmt::format("'{}' is listed twice", *name));
  }
  return list;
}

std::vector<Cursor> read_inputs(const Cursor& at) {
  std::vector<Cursor> list = read_names(at);
  for (const Cursor& item : list)
    if (!is_tensor_name(item.value().text))
      item.error(fmt::format("'{}' can't name a tensor", item.value().text),
                 "names are letters, digits, '_', '-' and '/', and start with a letter or '_'");
  return list;
}

// The members of `dims` or `params`.
std::vector<NamedCursor> read_formals(const Cursor& at, const char* what, const char* form) {
  std::vector<NamedCursor> list = at.members(form);
  for (const NamedCursor& member : list)
    if (!is_expression_name(member.key))
      at.sink().error(member.key_location, fmt::format("'{}' can't name a {}", member.key, what),
                      "names are letters, digits and '_', but not words of the expression language");
  return list;
}

void read_form(Block& block) {
  const Cursor& at = block.at;
  if (!at.check_keys({"dims", "params", "in", "out", "variables", "ops", "backward", "doc"})) return;
  if (const auto dims = at.find("dims"))
    block.dims = read_formals(*dims, "dimension", "an object {formal dimension: dimension}");
  for (const NamedCursor& dim : block.dims) dim.value.string("the name of a dimension");
  if (const auto params = at.find("params"))
    block.params = read_formals(*params, "param", "an object {param: number}");
  for (const NamedCursor& param : block.params)
    for (const NamedCursor& dim : block.dims)
      if (dim.key == param.key)
        at.sink().error(param.key_location, fmt::format("'{}' is a param and a dimension", param.key),
                        fmt::format("params and dims share one name space; the other is in line {}",
                                    dim.key_location.line));
  if (const auto in = at.find("in")) block.in = read_inputs(*in);
  const std::optional<Cursor> out = at.require("out");
  if (out) block.out = read_names(*out);
  if (out && out->is(JsonKind::kArray) && out->value().items.empty()) out->error("'out' names no result");
  if (const auto ops = at.require("ops"); ops && !ops->is(JsonKind::kArray))
    ops->expected("a list of operations");
  if (const auto backward = at.find("backward")) backward->string("the name of a block");
  if (const auto variables = at.find("variables"); variables && !variables->is(JsonKind::kObject))
    variables->expected("an object {name: variable}");
}

}  // namespace

void BlockTable::add(const Cursor& blocks, bool standard) {
  for (const NamedCursor& member : blocks.members("an object {name: block}")) {
    if (!is_tensor_name(member.key)) {
      blocks.sink().error(member.key_location, fmt::format("'{}' can't name a block", member.key),
                          "names are letters, digits, '_', '-' and '/', and start with a letter or '_'");
      continue;
    }
    const auto [entry, is_new] = blocks_.emplace(member.key, Block{.name = member.key,
                                                                   .at = member.value,
                                                                   .location = member.key_location,
                                                                   .standard = standard,
                                                                   .dims = {},
                                                                   .params = {},
                                                                   .in = {},
                                                                   .out = {}});
    if (!is_new) {
      const Location& other = entry->second.location;
      blocks.sink().error(member.key_location, fmt::format("the block '{}' is defined already", member.key),
                          fmt::format("in {}:{}; give it another name", other.file, other.line));
      continue;
    }
    const size_t before = blocks.sink().error_count();
    read_form(entry->second);
    entry->second.broken = blocks.sink().error_count() > before;
  }
}

const Block* BlockTable::find(const std::string& name) const {
  const auto at = blocks_.find(name);
  return at == blocks_.end() ? nullptr : &at->second;
}

std::vector<std::string> BlockTable::names() const {
  std::vector<std::string> list;
  for (const auto& [name, block] : blocks_) list.push_back(name);
  return list;
}

}  // namespace mtfc
