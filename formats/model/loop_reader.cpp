#include "formats/model/loop_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace mtfc {
namespace {

std::vector<TensorType> types_of(const Graph& graph, const std::vector<TensorId>& tensors) {
  std::vector<TensorType> types;
  for (const TensorId id : tensors) types.push_back(graph.type(id));
  return types;
}

}  // namespace

LoopBlocks LoopReader::named(const Cursor& at) {
  const std::optional<Cursor> cond = at.find("cond"), times = at.find("times");
  LoopBlocks blocks;
  blocks.body = blocks_.named(at, "body");
  if (cond) blocks.condition = blocks_.named(at, "cond");
  if (cond && times)
    times->error(
        "'while' takes 'cond' or 'times', not both",
        "'times' is the number of rounds; 'cond' names a block, and the loop repeats while it returns true");
  if (!cond && !times)
    at.error(
        "'while' needs 'times' or 'cond'",
        "'times' is the number of rounds; 'cond' names a block, and the loop repeats while it returns true");
  if (!cond == !times || (cond && !blocks.condition)) blocks.body = nullptr;
  return blocks;
}

LoopReader::Results LoopReader::read(const Cursor& at, const LoopBlocks& blocks,
                                     const std::vector<TensorId>& operands,
                                     const std::vector<std::string>& names) {
  const Block& body = *blocks.body;
  const Block* condition = blocks.condition;
  std::optional<BlockNames> body_names = blocks_.read_bindings(at, body, condition);
  std::optional<BlockNames> condition_names;
  if (condition && body_names) condition_names = blocks_.read_bindings(at, *condition, &body);
  const std::optional<std::string> scope = blocks_.read_scope(at, body);
  if (!blocks_.check_operands(at, body, operands.size())) return std::nullopt;
  bool good = blocks_.check_repeatable(at, body);
  if (condition && condition->in.size() > operands.size()) {
    at.find("cond")->error(fmt::format("the condition '{}' takes {} inputs, but the loop has {}",
                                       condition->name, condition->in.size(), operands.size()),
                           "a condition takes the first inputs of its loop");
    good = false;
  }
  if (body.broken || (condition && condition->broken)) {
    at.sink().consequence();
    good = false;
  }
  if (!good || !scope || !body_names || (condition && !condition_names)) return std::nullopt;
  const Statement loop{at, blocks, condition_names.value_or(BlockNames()), *std::move(body_names), *scope};
  ++draft_.rounds;
  Results results = condition ? add_loop(loop, operands, names) : unroll(loop, operands);
  --draft_.rounds;
  return results;
}

// Like `repeat`, except that all iterations share the first one's variables.
LoopReader::Results LoopReader::unroll(const Statement& loop, std::vector<TensorId> carried) {
  const Block& body = *loop.blocks.body;
  const std::optional<int64_t> times = blocks_.read_times(loop.at);
  if (!times || !blocks_.check_size(loop.at, body, *times) || !blocks_.claim(loop.at, loop.scope))
    return std::nullopt;
  for (int64_t i = 0; i < *times; ++i) {
    const std::string numbered = fmt::format("{}_{}", loop.scope, i);
    if (!blocks_.claim(loop.at, numbered)) return std::nullopt;
    if (i > 0) ++draft_.later_rounds;
    const Results results = blocks_.expand(loop.at, body, loop.body_names, carried, {numbered, loop.scope});
    if (i > 0) --draft_.later_rounds;
    const Graph& graph = draft_.builder.graph();
    if (!results || !check_carried(loop, types_of(graph, carried), types_of(graph, *results)))
      return std::nullopt;
    std::copy(results->begin(), results->end(), carried.begin());
  }
  carried.resize(body.out.size());
  return carried;
}

LoopReader::Results LoopReader::add_loop(const Statement& loop, const std::vector<TensorId>& operands,
                                         const std::vector<std::string>& names) {
  const auto& [condition, body] = loop.blocks;
  if (!blocks_.check_size(loop.at, *condition, 1) || !blocks_.check_size(loop.at, *body, 1) ||
      !blocks_.claim(loop.at, loop.scope))
    return std::nullopt;
  draft_.loops.push_back({std::move(draft_.builder), operands, operands.size(), {}});
  std::optional<LoopPart> asked = read_part(loop, *condition, loop.condition_names, loop.scope + "/cond");
  std::optional<LoopPart> repeated = read_part(loop, *body, loop.body_names, loop.scope);
  ModelDraft::Loop read = std::move(draft_.loops.back());
  draft_.loops.pop_back();
  draft_.builder = std::move(read.outside);
  draft_.symbols.seal(draft_.symbols.full(loop.scope), Symbol::Sealed::kInLoop);
  if (!asked || !repeated || !check_condition(loop, *asked)) return std::nullopt;
  if (!check_carried(loop, types_of(draft_.builder.graph(), operands),
                     types_of(repeated->graph, repeated->results)))
    return std::nullopt;
  draft_.builder.set_origin({names.front(), loop.at.location(), Phase::kForward});
  const std::vector<TensorId> results = draft_.builder.add_loop(
      std::make_shared<GraphLoop>(GraphLoop{*std::move(asked), *std::move(repeated), 0, 0}),
      std::move(read.operands), names);
  for (const TensorId id : results) draft_.builder.mark_from_model(id);
  return results;
}

std::optional<LoopPart> LoopReader::read_part(const Statement& loop, const Block& block,
                                              const BlockNames& names, const std::string& scope) {
  std::vector<BlockReader::PartLeaf> leaves;
  for (size_t i = 0; i < block.in.size(); ++i)
    leaves.push_back({i, draft_.loops.back().outside.type(draft_.loops.back().operands[i])});
  return blocks_.read_part(loop.at, block, names, leaves, scope);
}

bool LoopReader::check_carried(const Statement& loop, const std::vector<TensorType>& carried,
                               const std::vector<TensorType>& given) {
  const Block& body = *loop.blocks.body;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == carried[i]) continue;
    loop.at.find("body")->error(
        fmt::format("the block '{}' returns '{}' as {}, but takes it in the next round as '{}', which is {}",
                    body.name, body.out[i].value().text, to_string(given[i]), body.in[i].value().text,
                    to_string(carried[i])),
        "a value that a loop carries must have the same type in every round");
    return false;
  }
  return true;
}

bool LoopReader::check_condition(const Statement& loop, const LoopPart& condition) {
  const Block& block = *loop.blocks.condition;
  const TensorType& type = condition.graph.type(condition.results.front());
  if (condition.results.size() == 1 && type == TensorType{DType::kBool, {}}) return true;
  const std::string found = condition.results.size() == 1
                                ? fmt::format("'{}' as {}", block.out[0].value().text, to_string(type))
                                : fmt::format("{} outputs", condition.results.size());
  loop.at.find("cond")->error(
      fmt::format("a condition must return one bool scalar, but the block '{}' returns {}", block.name,
                  found),
      "comparisons return bool; reduce_any and reduce_all reduce it to a scalar");
  return false;
}

}  // namespace mtfc
