#include "core/plan/node_tables.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/diagnostics/stop.h"

namespace mtfc {
namespace {

// A text that is the same for nodes with the same options. Names of tensors and dimensions do not matter.
std::string key_of(const NodeCall& call, const std::vector<Factor>& factors) {
  std::string key;
  append_key(key, static_cast<int64_t>(reinterpret_cast<intptr_t>(call.node.op)));
  for (const bool is_result : {false, true}) {
    const std::vector<TensorId>& ids = is_result ? call.node.results : call.node.operands;
    for (size_t i = 0; i < ids.size(); ++i) {
      const TensorType& type = call.graph.type(ids[i]);
      append_key(key, static_cast<int64_t>(type.dtype));
      for (size_t d = 0; d < type.dims.size(); ++d) {
        append_key(key, type.dims[d].size);
        append_key(key, static_cast<int64_t>((is_result ? call.result_lists : call.operand_lists)[i][d]));
      }
      append_key(key, -1);
      if (is_result) continue;
      append_key(key, static_cast<int64_t>(call.partial[i]));
      append_key(key, call.graph.constant_value(ids[i]) == 0.0 ? 1 : 0);
    }
  }
  for (const int axis : call.between) append_key(key, axis);
  for (const Factor& factor : factors) {
    append_key(key, static_cast<int64_t>(factor.kind));
    append_key(key, static_cast<int64_t>(factor.reduce));
    for (const int position : factor.operands) append_key(key, position);
    for (const int position : factor.results) append_key(key, position);
    append_key(key, factor.fill == 0 ? 0 : 1);
    for (const OperandWindow& window : factor.windows) {
      append_key(key, window.operand);
      for (const int64_t number : window.split.numbers()) append_key(key, number);
    }
    for (const Piece& piece : factor.pieces)
      for (const int64_t number : {static_cast<int64_t>(piece.operand), piece.from, piece.from_step, piece.to,
                                   piece.to_step, piece.count})
        append_key(key, number);
  }
  return key;
}

// Keeps the first options, which are the most parallel ones, and those that make a plan possible whatever the others
// are: the first one that takes no partial sums, and the one that takes everything whole.
std::vector<NodeOption> first_of(std::vector<NodeOption> options, size_t most) {
  if (options.size() <= most) return options;
  const auto is_full = [](const NodeOption& option) {
    return std::all_of(option.operands.begin(), option.operands.end(),
                       [](const Sharding& operand) { return operand.partial.empty(); });
  };
  const auto is_whole = [&](const NodeOption& option) {
    return is_full(option) &&
           std::all_of(option.operands.begin(), option.operands.end(),
                       [](const Sharding& operand) { return split_axes(operand).empty(); });
  };
  std::vector<NodeOption> kept;
  bool has_full = false, has_whole = false;
  for (NodeOption& option : options) {
    const bool is_needed = (!has_full && is_full(option)) || (!has_whole && is_whole(option));
    if (kept.size() >= most && !is_needed) continue;
    has_full = has_full || is_full(option);
    has_whole = has_whole || is_whole(option);
    kept.push_back(std::move(option));
  }
  return kept;
}

// Drops the options that gather an operand over an axis over which it is to stay split, unless all do.
std::vector<NodeOption> without_gathers(std::vector<NodeOption> options,
                                        const std::vector<AxisList>& kept_split) {
  std::vector<NodeOption> kept;
  for (const NodeOption& option : options) {
    bool gathers = false;
    for (size_t i = 0; i < kept_split.size(); ++i) {
      const AxisList axes = split_axes(option.operands[i]);
      for (const int axis : kept_split[i]) gathers = gathers || !contains(axes, axis);
    }
    if (!gathers) kept.push_back(option);
  }
  return kept.empty() ? std::move(options) : std::move(kept);
}

bool is_split_alike(const std::vector<Sharding>& some, const std::vector<Sharding>& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                    [](const Sharding& a, const Sharding& b) { return a.dims == b.dims; });
}

// True if the options differ in more than the partial sums that pass through the operation.
bool are_free(const std::vector<NodeOption>& options) {
  return std::any_of(options.begin(), options.end(), [&](const NodeOption& option) {
    return !is_split_alike(option.operands, options.front().operands) ||
           !is_split_alike(option.results, options.front().results);
  });
}

}  // namespace

std::shared_ptr<const NodeTable> NodeTables::of(FlatNodeId n, const SplitPlan& split_plan) {
  const FlatNode& node = graph_.nodes[n];
  NodeCall call{*graph_.scopes[node.scope].graph,    *node.node, {}, {}, {}, !candidates_.stated.empty(),
                candidates_.between_at(graph_, node)};
  for (const TensorId id : node.node->operands) {
    const FlatTensorId operand = graph_.flat(node, id);
    call.operand_lists.push_back(candidates_.lists_at(graph_, node, operand));
    call.partial.push_back(candidates_.fixed[operand] ? 0 : candidates_.reach.partial[operand]);
  }
  for (const TensorId id : node.node->results)
    call.result_lists.push_back(candidates_.lists_at(graph_, node, graph_.flat(node, id)));
  std::vector<AxisList> kept_split;
  std::string key = key_of(call, candidates_.factors[n]);
  for (const TensorId id : node.node->operands) {
    if (candidates_.kept_split.empty()) break;
    kept_split.push_back(candidates_.kept_split[graph_.flat(node, id)]);
    for (const int axis : kept_split.back()) append_key(key, axis);
    append_key(key, -1);
  }
  std::shared_ptr<const NodeTable>& known = tables_[key];
  if (known) return known;
  check_stop();
  auto table = std::make_shared<NodeTable>();
  table->options = first_of(without_gathers(options_of(call, candidates_.factors[n], candidates_.reach.lists,
                                                       mesh_, prices_, split_plan),
                                            kept_split),
                            most_);
  table->is_free = are_free(table->options);
  const auto forms_at = [&](auto member, size_t i) {
    std::vector<Sharding> forms;
    for (const NodeOption& option : table->options) forms.push_back((option.*member)[i]);
    return forms_.add(forms);
  };
  for (size_t i = 0; i < node.node->operands.size(); ++i)
    table->operands.push_back(forms_at(&NodeOption::operands, i));
  for (size_t i = 0; i < node.node->results.size(); ++i)
    table->results.push_back(forms_at(&NodeOption::results, i));
  return known = std::move(table);
}

}  // namespace mtfc
