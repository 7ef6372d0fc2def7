#include "formats/model/block_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/suggest.h"
#include "formats/expression/number_reader.h"
#include "formats/model/operation_reader.h"
#include "formats/model/part_readers.h"
#include "formats/model/type_reader.h"

namespace mtfc {
namespace {

// Counts the operations and variables of one call, excluding nested calls; at least 1, so that empty blocks
// count too.
int64_t statements(const Block& block) {
  int64_t count = 1;
  for (const char* key : {"variables", "ops"})
    if (const auto part = block.at.find(key))
      count += static_cast<int64_t>(part->value().items.size() + part->value().members.size());
  return count;
}

std::string count_text(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// The dimensions and params that can be bound in a use of the block, and in one of the block beside it.
std::vector<std::string> names_of(const Block& block, const Block* other) {
  std::vector<std::string> names;
  for (const Block* each : {&block, other}) {
    if (!each) continue;
    for (const auto list : {&Block::dims, &Block::params})
      for (const NamedCursor& formal : each->*list) names.push_back(formal.key);
  }
  return names;
}

NameLookup with_index(const NameLookup& names, const CallIndex& index) {
  if (index.name.empty()) return names;
  return {[&](std::string_view name) {
            return name == index.name ? std::optional<Number>(index.value) : names.find(name);
          },
          [&] {
            std::vector<std::string> known = names.known();
            known.push_back(index.name);
            return known;
          }};
}

}  // namespace

const Block* BlockReader::named(const Cursor& at, const char* key) {
  const std::optional<Cursor> cursor = at.require(key);
  const std::optional<std::string> name = cursor ? cursor->string("the name of a block") : std::nullopt;
  if (!name) return nullptr;
  const Block* block = draft_.blocks.find(*name);
  if (!block) {
    const std::vector<std::string> known = draft_.blocks.names();
    std::string hint = did_you_mean(*name, known);
    if (hint.empty())
      hint = known.empty()
                 ? "define it under \"blocks\", or include a file that does"
                 : fmt::format("there {} {}", known.size() == 1 ? "is" : "are", nearest_listed(*name, known));
    cursor->error(fmt::format("unknown block '{}'", *name), hint);
    return nullptr;
  }
  block->used = true;
  std::string chain;
  for (const ModelDraft::Call& call : draft_.calls)
    if (call.block == block || !chain.empty()) chain += call.block->name + " -> ";
  if (chain.empty()) return block;
  cursor->error(fmt::format("the block '{}' calls itself: {}{}", *name, chain, *name),
                "\"repeat\" calls a block several times");
  return nullptr;
}

std::optional<BlockNames> BlockReader::read_bindings(const Cursor& at, const Block& block, const Block* other,
                                                     const CallIndex& index) {
  const size_t before = at.sink().error_count();
  const NameLookup lookup = with_index(draft_.names().lookup(), index);
  BlockNames names;
  names.params = block.at.find("params");
  const auto has = [](const std::vector<NamedCursor>& list, const std::string& key) {
    return std::any_of(list.begin(), list.end(),
                       [&](const NamedCursor& formal) { return formal.key == key; });
  };
  const std::optional<Cursor> bind = at.find("bind");
  for (const NamedCursor& member :
       bind ? bind->members("an object {name: value}") : std::vector<NamedCursor>()) {
    if (has(block.dims, member.key)) {
      if (const auto dim = read_dim(member.value, draft_.names())) names.dims.emplace_back(member.key, *dim);
    } else if (has(block.params, member.key)) {
      if (const auto value = read_number(member.value, lookup)) names.bound.emplace(member.key, *value);
    } else if (!other || !(has(other->dims, member.key) || has(other->params, member.key))) {
      const std::vector<std::string> known = names_of(block, other);
      std::string hint = did_you_mean(member.key, known);
      if (hint.empty() && !known.empty()) hint = fmt::format("it has {}", fmt::join(known, ", "));
      at.sink().error(member.key_location,
                      fmt::format("the block '{}'{} has no dimension or param '{}' to bind", block.name,
                                  other ? fmt::format(", as '{}',", other->name) : "", member.key),
                      hint);
    }
  }
  if (at.sink().error_count() > before || !bind_defaults(at, block, names)) return std::nullopt;
  return names;
}

// A formal dimension that the call does not bind means the model's dimension that the block names.
bool BlockReader::bind_defaults(const Cursor& at, const Block& block, BlockNames& names) {
  bool good = true;
  for (const NamedCursor& formal : block.dims) {
    const auto is_bound = [&](const auto& bound) { return bound.first == formal.key; };
    if (std::any_of(names.dims.begin(), names.dims.end(), is_bound)) continue;
    const std::string& name = formal.value.value().text;
    if (const Dim* dim = draft_.scope.dim(name); dim && !draft_.scope.is_broken(name)) {
      names.dims.emplace_back(formal.key, *dim);
      continue;
    }
    good = false;
    if (draft_.scope.is_broken(name))
      at.sink().consequence();
    else
      at.error(fmt::format("the block '{}' needs a dimension for '{}', but the model has no '{}'", block.name,
                           formal.key, name),
               fmt::format("\"bind\": {{\"{}\": …}} gives it one", formal.key));
  }
  return good;
}

std::optional<std::string> BlockReader::read_scope(const Cursor& at, const Block& block) {
  const std::optional<Cursor> cursor = at.find("scope");
  if (!cursor) return block.name;
  const std::optional<std::string> scope = cursor->string("a name");
  if (!scope || is_tensor_name(*scope)) return scope;
  cursor->error(fmt::format("'{}' can't name a scope", *scope),
                "names are letters, digits, '_', '-' and '/', and start with a letter or '_'");
  return std::nullopt;
}

bool BlockReader::claim(const Cursor& at, const std::string& scope) {
  const std::string full = draft_.symbols.full(scope);
  const std::optional<Location> other = draft_.symbols.claim_scope(full, at.location());
  if (!other) return true;
  at.find("scope").value_or(at).error(
      fmt::format("the scope '{}' is taken by another call", full),
      fmt::format("in {}; choose another one with \"scope\"", line_text(*other, at.location())));
  return false;
}

BlockReader::Results BlockReader::read(const Cursor& at, const Block& block,
                                       const std::vector<TensorId>& operands) {
  const std::optional<CallIndex> index = read_index(at);
  const std::optional<BlockNames> names = read_bindings(at, block, nullptr, index.value_or(CallIndex{}));
  const std::optional<std::string> scope = read_scope(at, block);
  if (!check_operands(at, block, operands.size())) return std::nullopt;
  if (block.broken) at.sink().consequence();
  if (!index || !names || !scope || block.broken) return std::nullopt;
  if (at.value().find("op")->text == "repeat") return repeat(at, block, operands, *scope);
  if (!check_size(at, block, 1) || !claim(at, *scope)) return std::nullopt;
  return expand(at, block, *names, operands, {*scope, *scope});
}

bool BlockReader::check_operands(const Cursor& at, const Block& block, size_t found) {
  if (found == block.in.size()) return true;
  at.find("in").value_or(at).error(
      fmt::format("the block '{}' takes {}, found {}", block.name, count_text(block.in.size(), "input"),
                  found),
      block.in.empty() ? ""
                       : fmt::format("{}:{} lists them", block.location.file, block.in[0].location().line));
  return false;
}

bool BlockReader::check_repeatable(const Cursor& at, const Block& block) {
  if (block.out.size() <= block.in.size()) return true;
  at.error(fmt::format("the block '{}' can't be repeated: it has {} and {}", block.name,
                       count_text(block.out.size(), "output"), count_text(block.in.size(), "input")),
           "each output becomes the input at the same place of the next call");
  return false;
}

std::optional<int64_t> BlockReader::read_times(const Cursor& at) {
  const std::optional<Cursor> cursor = at.require("times");
  std::optional<int64_t> times = cursor ? read_integer(*cursor, draft_.names().lookup()) : std::nullopt;
  if (!times || *times >= 0) return times;
  cursor->error(fmt::format("'times' must not be negative, but is {}", *times));
  return std::nullopt;
}

std::optional<CallIndex> BlockReader::read_index(const Cursor& at) {
  const std::optional<Cursor> cursor = at.find("index");
  if (!cursor) return CallIndex{};
  const std::optional<std::string> name = cursor->string("a name");
  if (!name) return std::nullopt;
  if (!is_expression_name(*name)) {
    cursor->error(fmt::format("'{}' can't name the number of a call", *name),
                  "names are letters, digits and '_', and start with a letter or '_'");
    return std::nullopt;
  }
  if (!draft_.names().is_known(*name)) return CallIndex{*name};
  cursor->error(fmt::format("'{}' is a param or dimension already", *name), "choose another name");
  return std::nullopt;
}

BlockReader::Results BlockReader::repeat(const Cursor& at, const Block& block, std::vector<TensorId> carried,
                                         const std::string& scope) {
  const std::optional<int64_t> times = read_times(at);
  if (!times || !check_repeatable(at, block) || !check_size(at, block, *times)) return std::nullopt;
  const std::string index = at.find("index") ? at.find("index")->value().text : "";
  for (int64_t i = 0; i < *times; ++i) {
    const std::string numbered = fmt::format("{}_{}", scope, i);
    if (!claim(at, numbered)) return std::nullopt;
    const std::optional<BlockNames> names = read_bindings(at, block, nullptr, {index, i});
    if (!names) return std::nullopt;
    const Results results = expand(at, block, *names, carried, {numbered, numbered});
    if (!results) return std::nullopt;
    std::copy(results->begin(), results->end(), carried.begin());
  }
  carried.resize(block.out.size());
  return carried;
}

// Calls of calls can make more operations than any memory holds.
bool BlockReader::check_size(const Cursor& at, const Block& block, int64_t times) {
  if (draft_.calls.size() >= kDeepestCall) {
    at.error(fmt::format("calls nest more than {} deep", kDeepestCall));
    return false;
  }
  const int64_t each = statements(block);
  if (times > (kMostExpanded - draft_.expanded) / each) {
    // Reported once: no further call fits either.
    if (at.sink().is_new("expanded"))
      at.error(fmt::format("the blocks of the model make more than {} operations", kMostExpanded));
    else
      at.sink().consequence();
    return false;
  }
  draft_.expanded += times * each;
  return true;
}

// A layer states its params once, in the model. If decode states another value, it is another model.
void BlockReader::take_settings(const Cursor& at, const Block& block, const std::string& scope,
                                BlockNames& names) {
  if (!draft_.model_settings) return;
  const auto call = draft_.model_settings->find(scope);
  if (call == draft_.model_settings->end()) return;
  for (const NamedCursor& formal : block.params) {
    const auto given = call->second.params.find(formal.key);
    if (given == call->second.params.end()) continue;
    const auto [own, is_new] = names.bound.emplace(formal.key, given->second);
    if (is_new || to_double(own->second) == to_double(given->second)) continue;
    // Blocks pass the value on to the blocks that they call.
    if (!draft_.sink.is_new("decode binds " + formal.key)) continue;
    const std::optional<Cursor> bind = at.find("bind");
    draft_.sink.warning(
        bind.value_or(at).location(),
        fmt::format("decode calls '{}' with '{}' {}, but the model calls '{}' in the scope '{}' "
                    "with {}",
                    block.name, formal.key, to_string(own->second), call->second.block, scope,
                    to_string(given->second)),
        "without it under \"bind\", decode takes the model's");
  }
}

void BlockReader::keep_settings(const Block& block, const std::string& scope, const ModelScope& names) {
  if (!draft_.keeps_settings) return;
  ModelDraft::Settings& kept = draft_.settings[scope];
  kept.block = block.name;
  for (const NamedCursor& formal : block.params)
    if (const std::optional<Number> value = names.lookup().find(formal.key))
      kept.params.emplace(formal.key, *value);
}

BlockReader::Results BlockReader::expand(const Cursor& at, const Block& block, const BlockNames& names,
                                         const std::vector<TensorId>& operands, const Scopes& scopes) {
  const std::string full = draft_.symbols.full(scopes.scope);
  const Location here = at.location();
  std::string chain = fmt::format("{} from {}:{}", full, here.file, here.line);
  if (!draft_.calls.empty()) chain += ", in " + draft_.calls.back().chain;
  const bool recomputes = at.find("recompute") && is_chosen(at, draft_, "recompute").value_or(false);
  SymbolTable::Formals formals;
  for (size_t i = 0; i < block.in.size(); ++i)
    formals.emplace(block.in[i].value().text,
                    Symbol{SymbolKind::kInput, block.in[i].location(), operands[i]});
  draft_.sink.enter_call("; called as " + chain);
  const size_t before = draft_.sink.error_count();
  BlockNames own = names;
  take_settings(at, block, full, own);
  const ModelScope block_scope(draft_.scope, own, draft_.sink);
  if (draft_.sink.error_count() == before) keep_settings(block, full, block_scope);
  draft_.calls.push_back({&block, &block_scope, std::move(chain)});
  draft_.symbols.enter(scopes.scope, scopes.variables, std::move(formals));
  Results results;
  const int open_before = recomputes ? draft_.builder.open_region() : 0;
  if (draft_.sink.error_count() == before) results = read_body(block);
  if (recomputes) draft_.builder.close_region(open_before);
  draft_.symbols.leave();
  draft_.calls.pop_back();
  draft_.sink.leave_call();
  return results;
}

BlockReader::Results BlockReader::read_body(const Block& block) {
  if (const auto variables = block.at.find("variables"))
    for (const NamedCursor& variable : variables->members()) read_variable(variable, draft_);
  read_operations(*block.at.find("ops"), draft_);
  std::vector<TensorId> results;
  for (const Cursor& out : block.out)
    if (const Symbol* symbol = draft_.symbols.use(out.value().text, out.location());
        symbol && symbol->tensor != kNoTensor)
      results.push_back(draft_.tensor_of(*symbol));
  if (results.size() < block.out.size()) return std::nullopt;
  return results;
}

}  // namespace mtfc
