#include "core/plan/node_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "core/diagnostics/error.h"
#include "core/op_rules/pieces.h"
#include "core/program/reshard.h"
#include "core/program/sent_elements.h"
#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

constexpr size_t kMostOptions = 4096;
// By rules: if there are more ways to run an operation, only those factors are free about which its tensors differ.
constexpr size_t kManyWays = 256;

size_t index(int position) {
  return static_cast<size_t>(position);
}

bool shares_axis(const AxisList& a, const AxisList& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

class Options {
 public:
  Options(const NodeCall& call, const std::vector<Factor>& factors, const AxisLists& lists, const Mesh& mesh,
          const PlanPrices& prices, const SplitPlan& split_plan)
      : call_(call),
        node_(call.node),
        factors_(factors),
        lists_(lists),
        mesh_(mesh),
        prices_(prices),
        operand_types_(call.graph.operand_types(node_)),
        result_types_(call.graph.result_types(node_)),
        moved_(moved_factor(factors)),
        split_plan_(split_plan) {}

  std::vector<NodeOption> run() {
    if (node_.op->family == Family::kRelabel)
      add_relabellings();
    else
      add_factors();
    if (split_plan_) add_split_rules();
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<NodeOption> options;
    for (auto& [parts, option] : found_) options.push_back(std::move(option));
    return options;
  }

 private:
  void add(int64_t parts, NodeOption option) {
    if (carried_ && !carries_over(option, *carried_)) return;
    if (found_.size() >= kMostOptions)
      throw UserError(fmt::format("the operation that makes '{}' can be split in more than {} ways",
                                  call_.graph.tensor(node_.results[0]).name, kMostOptions),
                      "annotate its operands or its result, so that fewer axes reach its dimensions",
                      node_.origin->location);
    if (call_.by_rules) option.cost += prices_.of(departures(option));
    found_.emplace_back(parts, std::move(option));
  }

  static bool carries_over(const NodeOption& option, int axis) {
    return std::any_of(option.operands.begin(), option.operands.end(),
                       [&](const Sharding& operand) { return contains(partial_axes(operand), axis); });
  }

  // By rules: where the option departs from them. Of equal plans, the one is taken that departs least, and that reduces
  // a sum where it is made, beside others that may go with it.
  PlanPrices::Departures departures(const NodeOption& option) const {
    PlanPrices::Departures made;
    for (size_t i = 0; i < option.results.size(); ++i)
      made.results += option.results[i].dims != stated(call_.result_lists[i]).dims;
    for (size_t i = 0; i < option.operands.size(); ++i) {
      made.operands += departs(option.operands[i], stated(call_.operand_lists[i]));
      made.sums += static_cast<int64_t>(option.operands[i].partial.size());
    }
    return made;
  }

  // An operand that is whole along what only a rule between parts splits is no departure: it may be gathered for other
  // operations.
  bool departs(const Sharding& operand, Sharding stated) const {
    if (operand.dims == stated.dims) return false;
    for (AxisList& axes : stated.dims)
      std::erase_if(axes, [&](int axis) { return contains(call_.between, axis); });
    return operand.dims != stated.dims;
  }

  // -- operations with factors --

  void add_factors() {
    std::vector<std::vector<AxisList>> choices;
    for (const Factor& factor : factors_) {
      choices.push_back(lists_.in(lists_of(factor)));
      if (factor.parts > 0)
        std::erase_if(choices.back(),
                      [&](const AxisList& list) { return factor.parts % mesh_.size(list) != 0; });
    }
    const std::vector<std::vector<AxisList>> all = choices;
    if (call_.by_rules) keep_agreed(choices);
    add_choices(choices);
    if (choices == all) return;
    for (const int axis : call_.between) {
      carried_ = axis;
      choices = all;
      for (std::vector<AxisList>& lists : choices)
        std::erase_if(lists, [&](const AxisList& list) { return contains(list, axis); });
      keep_agreed(choices);
      add_choices(choices);
      carried_.reset();
    }
  }

  void add_choices(const std::vector<std::vector<AxisList>>& choices) {
    std::vector<AxisList> chosen(factors_.size());
    choose(choices, 0, chosen, {}, [&](const AxisList& used) {
      if (!splits_twice(factors_, chosen)) add_split(chosen, used);
    });
  }

  // If all tensors say the same of every factor, the operation runs so, and there is nothing to choose. Otherwise,
  // where there are many ways to run it, it still runs as they say of those factors on whose axes no other has a claim.
  void keep_agreed(std::vector<std::vector<AxisList>>& choices) const {
    std::vector<std::optional<AxisList>> agreed;
    size_t ways = 1;
    for (size_t f = 0; f < factors_.size(); ++f) {
      agreed.push_back(agreed_list(factors_[f]));
      if (agreed[f] && !is_among(choices[f], *agreed[f])) agreed[f].reset();
      ways = std::min(ways * choices[f].size(), kMostOptions);
    }
    const auto is_undisputed = [&](size_t f) {
      for (size_t other = 0; other < factors_.size(); ++other)
        for (const AxisList& list : choices[other])
          if (other != f && shares_axis(list, *agreed[f])) return false;
      return true;
    };
    std::vector<std::vector<AxisList>> kept = choices;
    for (size_t f = 0; f < factors_.size(); ++f)
      if (agreed[f] && is_undisputed(f)) kept[f] = {*agreed[f]};
    const auto is_decided = [](const std::vector<AxisList>& lists) { return lists.size() == 1; };
    if (ways > kManyWays || std::all_of(kept.begin(), kept.end(), is_decided)) choices = std::move(kept);
  }

  static bool is_among(const std::vector<AxisList>& lists, const AxisList& list) {
    return std::find(lists.begin(), lists.end(), list) != lists.end();
  }

  // The list that splits the factor's dimension in all tensors; nothing if they differ.
  std::optional<AxisList> agreed_list(const Factor& factor) const {
    std::optional<AxisList> list;
    if (factor.kind == Factor::Kind::kNeedsReplication) return AxisList();
    const auto agrees = [&](ListSet set) {
      const AxisList stated = lists_.in(set).front();
      if (!list) list = stated;
      return *list == stated;
    };
    for (size_t i = 0; i < factor.operands.size(); ++i)
      if (factor.operands[i] >= 0 && !agrees(call_.operand_lists[i][index(factor.operands[i])]))
        return std::nullopt;
    for (const OperandWindow& window : factor.windows)
      if (!agrees(call_.operand_lists[index(window.operand)][window.split.dim])) return std::nullopt;
    for (size_t i = 0; i < factor.results.size() && factor.kind != Factor::Kind::kPermuted; ++i)
      if (factor.results[i] >= 0 && !agrees(call_.result_lists[i][index(factor.results[i])]))
        return std::nullopt;
    return list ? *list : AxisList();
  }

  ListSet lists_of(const Factor& factor) const {
    ListSet set = 0;
    if (factor.kind == Factor::Kind::kNeedsReplication) return set;
    for (size_t i = 0; i < factor.operands.size(); ++i)
      if (factor.operands[i] >= 0) set |= call_.operand_lists[i][index(factor.operands[i])];
    for (const OperandWindow& window : factor.windows)
      set |= call_.operand_lists[index(window.operand)][window.split.dim];
    if (factor.kind == Factor::Kind::kPermuted) return set;
    for (size_t i = 0; i < factor.results.size(); ++i)
      if (factor.results[i] >= 0) set |= call_.result_lists[i][index(factor.results[i])];
    return set;
  }

  // Calls `found` for each way to choose a list for every factor from `f` on, with the axes that they use.
  void choose(const std::vector<std::vector<AxisList>>& choices, size_t f, std::vector<AxisList>& chosen,
              const AxisList& used, const std::function<void(const AxisList& used)>& found) {
    if (f == factors_.size()) return found(used);
    for (const AxisList& list : choices[f]) {
      if (shares_axis(list, used)) continue;
      chosen[f] = list;
      AxisList more = used;
      more.insert(more.end(), list.begin(), list.end());
      choose(choices, f + 1, chosen, more, found);
    }
  }

  // -- operations with a split rule --

  // Options in which the dimension that the operation needs whole is split.
  void add_split_rules() {
    for (size_t f = 0; f < factors_.size(); ++f) {
      const Factor& factor = factors_[f];
      if (factor.kind != Factor::Kind::kNeedsReplication) continue;
      ListSet set = 0;
      for (size_t i = 0; i < factor.operands.size(); ++i)
        if (factor.operands[i] >= 0) set |= call_.operand_lists[i][index(factor.operands[i])];
      std::vector<std::vector<AxisList>> choices;
      for (const Factor& other : factors_) choices.push_back(lists_.in(lists_of(other)));
      for (const AxisList& list : lists_.in(set)) {
        if (list.empty()) continue;
        choices[f] = {list};
        std::vector<AxisList> chosen(factors_.size());
        choose(choices, 0, chosen, {}, [&](const AxisList& used) {
          NodeOption option = split_plan_(option_of(chosen, {}).operands, mesh_.size(list));
          option.parts = mesh_.size(list);
          add(mesh_.size(used), std::move(option));
        });
      }
    }
  }

  // Adds the options where the factors are split so: one for each split of the result's moved dimension.
  void add_split(const std::vector<AxisList>& chosen, const AxisList& used) {
    if (!moved_) return add_carries(option_of(chosen, {}), used);
    const auto at = index(moved_->results[0]);
    const size_t f = static_cast<size_t>(moved_ - factors_.data());
    AxisList others;  // those that split other dimensions
    for (const int axis : used)
      if (!contains(chosen[f], axis)) others.push_back(axis);
    std::vector<AxisList> lists =
        lists_.in(call_.result_lists[0][at] | call_.operand_lists[0][index(moved_->operands[0])]);
    if (call_.by_rules) lists = {free_part(lists_.in(call_.result_lists[0][at]).front(), others)};
    for (const AxisList& list : lists) {
      if (shares_axis(list, others)) continue;
      AxisList all = used;
      for (const int axis : list)
        if (!contains(all, axis)) all.push_back(axis);
      add_carries(option_of(chosen, list), all);
    }
  }

  // The beginning of the list up to the first axis that is among `used`.
  static AxisList free_part(const AxisList& list, const AxisList& used) {
    return {list.begin(), std::find_first_of(list.begin(), list.end(), used.begin(), used.end())};
  }

  NodeOption option_of(const std::vector<AxisList>& chosen, const AxisList& moved_to) const {
    NodeOption option;
    for (const TensorType& type : operand_types_) option.operands.push_back(replicated(type.dims.size()));
    for (const TensorType& type : result_types_) option.results.push_back(replicated(type.dims.size()));
    for (size_t f = 0; f < factors_.size(); ++f) {
      const Factor& factor = factors_[f];
      split_operands(factor, chosen[f], option.operands);
      for (size_t i = 0; i < option.results.size(); ++i) {
        if (factor.results[i] >= 0)
          option.results[i].dims[index(factor.results[i])] =
              factor.kind == Factor::Kind::kPermuted ? moved_to : chosen[f];
        if (factor.kind == Factor::Kind::kReduce && factor.results[i] < 0)
          for (const int axis : chosen[f]) option.results[i].partial.push_back({axis, factor.reduce});
      }
    }
    return option;
  }

  // Adds the option, and those where sums over axes that it does not use pass through it.
  void add_carries(NodeOption option, const AxisList& used) {
    option.cost += arithmetic(option);
    if (moved_) option.cost += exchange(option);
    add_carries_from(0, std::move(option), used, mesh_.size(used));
  }

  void add_carries_from(size_t axis, NodeOption option, const AxisList& used, int64_t parts) {
    if (axis == mesh_.axes().size() || axis >= 64) {
      for (std::vector<Sharding>* forms : {&option.operands, &option.results})
        for (Sharding& form : *forms) std::sort(form.partial.begin(), form.partial.end());
      return add(parts, std::move(option));
    }
    add_carries_from(axis + 1, option, used, parts);
    const int number = static_cast<int>(axis);
    if (contains(used, number) || fills()) return;
    for (const std::vector<int>& set : linear_sets(*node_.op, {node_.attributes, operand_types_})) {
      NodeOption carrying = option;
      if (!take_partial(set, number, carrying)) continue;
      for (Sharding& result : carrying.results) result.partial.push_back({number, ReduceKind::kSum});
      add_carries_from(axis + 1, std::move(carrying), used, parts);
    }
  }

  // True if the result holds numbers that come from no operand. Their sum over devices would be wrong.
  bool fills() const { return moved_ && moved_->fill != 0; }

  // Makes all operands of the set partial over the axis. A constant zero is partial as it is.
  bool take_partial(const std::vector<int>& set, int axis, NodeOption& option) const {
    bool any = false;
    for (const int operand : set) {
      const size_t i = index(operand);
      if (i >= node_.operands.size()) return false;
      if (call_.graph.constant_value(node_.operands[i]) == 0.0) continue;
      if ((call_.partial[i] >> axis & 1) == 0) return false;
      option.operands[i].partial.push_back({axis, ReduceKind::kSum});
      any = true;
    }
    return any;
  }

  // -- costs --

  PlanCost arithmetic(const NodeOption& option) const {
    std::vector<LocalType> operands, results;
    for (size_t i = 0; i < operand_types_.size(); ++i)
      operands.push_back(
          {operand_types_[i].dtype, largest_dims(operand_types_[i].dims, option.operands[i], mesh_)});
    for (size_t i = 0; i < result_types_.size(); ++i)
      results.push_back(
          {result_types_[i].dtype, largest_dims(result_types_[i].dims, option.results[i], mesh_)});
    return prices_.operation(*node_.op, {node_.attributes, operands}, results);
  }

  PlanCost exchange(const NodeOption& option) const {
    const MoveCost cost = pieces_cost({*node_.op, node_.attributes, operand_types_, result_types_[0]},
                                      *moved_, option.operands, option.results[0], mesh_);
    AxisList axes = option.operands[0].dims[index(moved_->operands[0])];
    std::sort(axes.begin(), axes.end());
    return prices_.exchange(cost.bytes, axes);
  }

  // -- operations that relabel --

  void add_relabellings() {
    const Dims &from = operand_types_[0].dims, &to = result_types_[0].dims;
    const std::string& name = call_.graph.tensor(node_.results[0]).name;
    std::vector<Sharding> sources = shardings_of(call_.operand_lists[0], lists_, mesh_, name);
    std::vector<Sharding> targets = shardings_of(call_.result_lists[0], lists_, mesh_, name);
    Sharding given;
    if (call_.by_rules && carries(from, stated(call_.operand_lists[0]), to, mesh_, given) &&
        given == stated(call_.result_lists[0])) {
      sources = {stated(call_.operand_lists[0])};
      targets = {given};
    }
    for (const Sharding& source : sources) {
      Sharding carried;
      const bool stays = carries(from, source, to, mesh_, carried);
      if (stays) add_carries({{source}, {carried}, {}}, split_axes(source));
      for (const Sharding& target : targets)
        if (!stays) add_relayout(source, target);
    }
    // A target that an operand of its own form gives, which no axis has reached.
    for (const Sharding& target : targets) {
      Sharding needed;
      if (!carries(to, target, from, mesh_, needed)) continue;
      const auto is_known = [&](const Sharding& source) { return source == needed; };
      if (std::none_of(sources.begin(), sources.end(), is_known))
        add_carries({{needed}, {target}, {}}, split_axes(target));
    }
  }

  // By rules: the sharding of a tensor that these lists reach.
  Sharding stated(const std::vector<ListSet>& dims) const {
    Sharding sharding = replicated(dims.size());
    for (size_t d = 0; d < dims.size(); ++d) sharding.dims[d] = lists_.in(dims[d]).front();
    return sharding;
  }

  void add_relayout(const Sharding& source, const Sharding& target) {
    const Dims &from = operand_types_[0].dims, &to = result_types_[0].dims;
    const AxisList axes = moving_axes({from, source, to, target}, mesh_);
    const SentElements sent({from, source}, {to, target}, axes, mesh_);
    const int64_t bytes = sent.most_or_bound() * size_of(result_types_[0].dtype);
    add(mesh_.size(split_axes(source)),
        {{source}, {target}, prices_.exchange(sent.none() ? 0 : bytes, axes)});
  }

  const NodeCall& call_;
  const Node& node_;
  const std::vector<Factor>& factors_;
  const AxisLists& lists_;
  const Mesh& mesh_;
  const PlanPrices& prices_;
  std::vector<TensorType> operand_types_, result_types_;
  const Factor* moved_;
  const SplitPlan& split_plan_;
  // By rules: partial sums over this axis pass through all options that are added, so that sums that are added up are
  // scattered once along the dimension that a rule between parts splits.
  std::optional<int> carried_;
  std::vector<std::pair<int64_t, NodeOption>> found_;  // with the number of parts that they split the work in
};

}  // namespace

std::vector<Carry> carries_of(const NodeOption& option) {
  std::vector<Carry> passed;
  for (size_t i = 0; i < option.operands.size(); ++i)
    for (const Partial& partial : option.operands[i].partial) {
      const auto known = std::find_if(passed.begin(), passed.end(),
                                      [&](const Carry& carry) { return carry.axis == partial.axis; });
      if (known == passed.end())
        passed.push_back({partial.axis, {i}});
      else
        known->operands.push_back(i);
    }
  std::sort(passed.begin(), passed.end(), [](const Carry& a, const Carry& b) { return a.axis < b.axis; });
  return passed;
}

Strategy strategy_of(const NodeOption& option) {
  AxisList passed;
  for (const Carry& carry : carries_of(option)) passed.push_back(carry.axis);
  Strategy strategy;
  for (const Sharding& operand : option.operands) strategy.operands.push_back(operand.whole());
  for (const Sharding& result : option.results) {
    strategy.results.push_back(result);
    std::erase_if(strategy.results.back().partial,
                  [&](const Partial& partial) { return contains(passed, partial.axis); });
  }
  return strategy;
}

std::vector<NodeOption> options_of(const NodeCall& call, const std::vector<Factor>& factors,
                                   const AxisLists& lists, const Mesh& mesh, const PlanPrices& prices,
                                   const SplitPlan& split_plan) {
  return Options(call, factors, lists, mesh, prices, split_plan).run();
}

}  // namespace mtfc
