#include "formats/model/block_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/suggest.h"
#include "core/graph/custom_gradient.h"
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
  if (results && block.at.find("backward")) results = with_backward(block, own, *std::move(results));
  if (recomputes) draft_.builder.close_region(open_before);
  draft_.symbols.leave();
  draft_.calls.pop_back();
  draft_.sink.leave_call();
  return results;
}

std::optional<LoopPart> BlockReader::read_part(const Cursor& at, const Block& block, const BlockNames& names,
                                               const std::vector<PartLeaf>& leaves,
                                               const std::string& scope) {
  draft_.builder = GraphBuilder();
  if (draft_.loops.back().outside.widened(DType::kF32) == DType::kF64) draft_.builder.widen_floats();
  draft_.builder.set_origin({scope, at.location(), Phase::kForward});
  std::vector<TensorId> inputs;
  for (const PartLeaf& leaf : leaves)
    inputs.push_back(draft_.builder.add_input(leaf_name(leaf.number), leaf.type));
  Results results = expand(at, block, names, inputs, {scope, scope});
  draft_.loops.back().leaves.clear();
  if (!results) return std::nullopt;
  return LoopPart{std::move(draft_.builder).build(), *std::move(results)};
}

struct BlockReader::Backward {
  const Block& block;
  std::vector<TensorId> operands;  // of the node: results, targets, what else is read
  CustomGradientCounts counts;
  std::vector<std::optional<size_t>> of_results;  // for each input: the result whose gradient it is
  std::vector<TensorId> inputs;                   // for each input: another tensor, or kNoTensor
};

namespace {

constexpr std::string_view kGradientOf = "/grad";

// `y` for `y/grad`; nothing for another name.
std::optional<std::string> target_of(const Cursor& name) {
  const std::string& text = name.value().text;
  if (!text.ends_with(kGradientOf)) return std::nullopt;
  return text.substr(0, text.size() - kGradientOf.size());
}

std::string listed(const std::vector<Cursor>& names, std::string_view ending) {
  std::string text;
  for (const Cursor& name : names)
    text += fmt::format("{}'{}{}'", text.empty() ? "" : ", ", name.value().text, ending);
  return text;
}

}  // namespace

// Each input of the backward block is a tensor of the block, or the gradient of one of its outputs.
bool BlockReader::find_inputs(const Block& block, Backward& backward) {
  bool good = true;
  for (const Cursor& in : backward.block.in) {
    const std::optional<std::string> target = target_of(in);
    const auto out = std::find_if(block.out.begin(), block.out.end(),
                                  [&](const Cursor& name) { return target && name.value().text == *target; });
    backward.of_results.emplace_back();
    backward.inputs.push_back(kNoTensor);
    if (out != block.out.end()) {
      backward.of_results.back() = static_cast<size_t>(out - block.out.begin());
      continue;
    }
    if (target && !draft_.symbols.find(in.value().text)) {
      in.error(fmt::format("the block '{}' has no output '{}'", block.name, *target),
               fmt::format("its backward block may read {} and tensors of the block",
                           listed(block.out, kGradientOf)));
      good = false;
      continue;
    }
    const Symbol* symbol = draft_.symbols.use(in.value().text, in.location());
    if (symbol && symbol->tensor != kNoTensor) backward.inputs.back() = draft_.tensor_of(*symbol);
    good = good && backward.inputs.back() != kNoTensor;
  }
  return good;
}

// Each output of the backward block is the gradient of an input or a variable of the block.
bool BlockReader::find_targets(const Block& block, Backward& backward) {
  bool good = true;
  for (const Cursor& out : backward.block.out) {
    const std::optional<std::string> target = target_of(out);
    const Symbol* symbol = target ? draft_.symbols.find(*target) : nullptr;
    const bool is_target = symbol && symbol->kind != SymbolKind::kOperation;
    if (is_target && symbol->tensor != kNoTensor) {
      backward.operands.push_back(draft_.tensor_of(*symbol));
      continue;
    }
    good = false;
    if (is_target)
      draft_.sink.consequence();
    else
      out.error(fmt::format("'{}' is not the gradient of an input or a variable of the block '{}'",
                            out.value().text, block.name),
                block.in.empty() ? "" : fmt::format("its inputs have {}", listed(block.in, kGradientOf)));
  }
  backward.counts.targets = backward.block.out.size();
  return good;
}

// A dimension or param of the backward block is that of the block, if that has one of the same name.
std::optional<BlockNames> BlockReader::backward_names(const Block& block, const Block& backward,
                                                      const BlockNames& names) {
  BlockNames own;
  own.params = backward.at.find("params");
  for (const NamedCursor& formal : backward.dims)
    for (const auto& bound : names.dims)
      if (bound.first == formal.key) own.dims.push_back(bound);
  const NameLookup lookup = draft_.names().lookup();
  for (const NamedCursor& formal : backward.params) {
    const auto is_it = [&](const NamedCursor& other) { return other.key == formal.key; };
    if (std::none_of(block.params.begin(), block.params.end(), is_it)) continue;
    if (const std::optional<Number> value = lookup.find(formal.key)) own.bound.emplace(formal.key, *value);
  }
  if (!bind_defaults(block.at, backward, own)) return std::nullopt;
  return own;
}

std::optional<LoopPart> BlockReader::read_backward(const Block& block, const BlockNames& names,
                                                   Backward& backward) {
  std::vector<PartLeaf> leaves;
  for (const TensorId id : backward.inputs)
    if (id != kNoTensor) backward.operands.push_back(id);
  size_t next = backward.counts.results + backward.counts.targets;
  for (size_t i = 0; i < backward.inputs.size(); ++i) {
    const std::optional<size_t> of = backward.of_results[i];
    leaves.push_back({of ? backward.operands.size() + *of : next++,
                      draft_.builder.type(of ? backward.operands[*of] : backward.inputs[i])});
  }
  const std::string scope = "backward";
  if (!check_size(block.at, backward.block, 1) || !claim(block.at, scope)) return std::nullopt;
  draft_.loops.push_back({std::move(draft_.builder), backward.operands, backward.operands.size(), {}});
  ++draft_.rounds;  // nothing is assigned there
  std::optional<LoopPart> part = read_part(block.at, backward.block, names, leaves, scope);
  --draft_.rounds;
  ModelDraft::Loop read = std::move(draft_.loops.back());
  draft_.loops.pop_back();
  draft_.builder = std::move(read.outside);
  draft_.symbols.seal(draft_.symbols.full(scope), Symbol::Sealed::kInBackward);
  if (part && read.operands.size() > backward.operands.size()) {
    draft_.sink.error(backward.block.location,
                      fmt::format("the block '{}' has variables, but it is the backward block of '{}'",
                                  backward.block.name, block.name),
                      "give it those of the block as inputs");
    return std::nullopt;
  }
  return part;
}

// Marks the results as those whose gradients the backward block gives.
BlockReader::Results BlockReader::with_backward(const Block& block, const BlockNames& names,
                                                std::vector<TensorId> results) {
  const Block* named_block = named(block.at, "backward");
  if (!named_block) return std::nullopt;
  if (named_block->broken) {
    draft_.sink.consequence();
    return std::nullopt;
  }
  Backward backward{*named_block, results, {results.size(), 0}, {}, {}};
  const bool has_targets = find_targets(block, backward);
  if (!find_inputs(block, backward) || !has_targets) return std::nullopt;
  const std::optional<BlockNames> own = backward_names(block, *named_block, names);
  std::optional<LoopPart> part = own ? read_backward(block, *own, backward) : std::nullopt;
  if (!part) return std::nullopt;
  bool good = true;
  for (size_t i = 0; i < part->results.size(); ++i) {
    const TensorType &made = part->graph.type(part->results[i]),
                     &wanted = draft_.builder.type(backward.operands[results.size() + i]);
    const Cursor& out = named_block->out[i];
    if (made == wanted && is_float(wanted.dtype)) continue;
    good = false;
    if (!is_float(wanted.dtype))
      out.error(
          fmt::format("'{}' is {}, and only floats have gradients", *target_of(out), to_string(wanted)));
    else
      out.error(fmt::format("'{}' is {}, but '{}' is {}", out.value().text, to_string(made), *target_of(out),
                            to_string(wanted)),
                "a gradient has the type of its tensor; reduce_sum, transpose and cast change types");
  }
  for (const Node& node : part->graph.nodes())
    if (node.kind == NodeKind::kGradients || node.kind == NodeKind::kLoop) {
      draft_.sink.error(node.origin->location,
                        fmt::format("the backward block '{}' has {}", named_block->name,
                                    node.kind == NodeKind::kLoop ? "a loop with a condition" : "gradients"),
                        "write them out as operations");
      good = false;
    }
  if (!good) return std::nullopt;
  draft_.builder.set_origin({draft_.symbols.full("out"), block.location, Phase::kForward});
  return add_custom_gradient(draft_.builder,
                             {backward.counts, std::make_shared<const LoopPart>(*std::move(part))},
                             std::move(backward.operands));
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
