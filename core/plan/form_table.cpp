#include "core/plan/form_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/diagnostics/stop.h"

namespace mtfc {
namespace {

std::string key_of(const FormTable::Held& tensor) {
  std::string key;
  append_key(key, tensor.can_hide ? 1 : 0);
  append_key(key, static_cast<int64_t>(tensor.type.dtype));
  for (const Dim& dim : tensor.type.dims) append_key(key, dim.size);
  append_key(key, -1);
  if (tensor.fixed) append_key(key, *tensor.fixed);
  return key;
}

std::vector<Sharding> distinct(const std::vector<Sharding>& forms) {
  std::vector<Sharding> found;
  for (const Sharding& form : forms)
    if (std::find(found.begin(), found.end(), form) == found.end()) found.push_back(form);
  return found;
}

// The forms of a set in the order in which they are made, each with the one that it is made from; nothing stands for
// the form that is given.
struct MadeSet {
  PlanCost cost = PlanCost::impossible();
  std::vector<std::pair<size_t, std::optional<size_t>>> steps = {};
};

// The cheapest way to make the forms at the positions `set`. `first`: in row `given`, the costs of making each from the
// form that is given; `between`: from one another.
MadeSet cheapest_making(const std::vector<size_t>& set, const PairCosts& first, size_t given,
                        const PairCosts& between) {
  if (set.size() == 1) return {first.at(given, set[0]), {{set[0], std::nullopt}}};
  std::vector<size_t> order(set.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  MadeSet best;
  do {
    MadeSet way{PlanCost(), {}};
    for (const size_t i : order) {
      PlanCost least = first.at(given, set[i]);
      std::optional<size_t> source;
      for (const auto& [form, unused] : way.steps)
        if (const PlanCost cost = between.at(form, set[i]); cost < least) {
          least = cost;
          source = form;
        }
      way.cost += least;
      way.steps.emplace_back(set[i], source);
    }
    if (best.steps.empty() || way.cost < best.cost) best = std::move(way);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

}  // namespace

void append_key(std::string& key, int64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append_key(std::string& key, const Sharding& sharding) {
  for (const AxisList& axes : sharding.dims) {
    append_key(key, -1);
    for (const int axis : axes) append_key(key, axis);
  }
  for (const Partial& partial : sharding.partial) {
    append_key(key, -2);
    append_key(key, partial.axis);
    append_key(key, static_cast<int64_t>(partial.kind));
  }
  for (const WindowSplit& window : sharding.windows) {
    append_key(key, -4);
    for (const int64_t number : window.numbers()) append_key(key, number);
  }
  append_key(key, -3);
}

FormsId FormTable::add(const std::vector<Sharding>& forms) {
  std::string key;
  for (const Sharding& form : forms) append_key(key, form);
  const auto [at, is_new] = known_.emplace(std::move(key), FormsId());
  if (is_new) at->second = lists_.add(forms);
  return at->second;
}

std::shared_ptr<const PairCosts> FormTable::moves(const Held& tensor, FormsId given, FormsId needed) {
  std::string key = key_of(tensor);
  append_key(key, given.number());
  append_key(key, needed.number());
  std::shared_ptr<const PairCosts>& known = moves_[key];
  if (known) return known;
  const std::vector<Sharding>&from = lists_[given], &to = lists_[needed];
  if (!tensor.fixed) return known = std::make_shared<PairCosts>(moves(tensor, from, to));
  const PairCosts first = moves(tensor, from, {*tensor.fixed}), then = moves(tensor, {*tensor.fixed}, to);
  auto made = std::make_shared<PairCosts>(from.size(), to.size());
  for (size_t i = 0; i < from.size(); ++i)
    for (size_t j = 0; j < to.size(); ++j) made->at(i, j) = first.at(i, 0) + then.at(0, j);
  return known = std::move(made);
}

FormTable::Making FormTable::making(const Held& tensor, const Sharding& from,
                                    const std::vector<Sharding>& set) const {
  std::vector<size_t> all(set.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const PairCosts first = moves(tensor, {from}, set), between = moves(tensor, set, set);
  const MadeSet best = cheapest_making(all, first, 0, between);
  Making made{best.cost, {}};
  for (const auto& [form, source] : best.steps)
    if (set[form] != from) made.steps.emplace_back(set[form], source ? set[*source] : from);
  return made;
}

// The costs of all moves between two lists of forms.
PairCosts FormTable::moves(const Held& tensor, const std::vector<Sharding>& from,
                           const std::vector<Sharding>& to) const {
  PairCosts costs(from.size(), to.size());
  for (size_t i = 0; i < from.size(); ++i) {
    check_stop();
    for (size_t j = 0; j < to.size(); ++j) costs.at(i, j) = move(tensor, from[i], to[j]);
  }
  return costs;
}

// Sets of positions in `forms`: those of which no form can be made from another one for nothing.
std::vector<std::vector<size_t>> FormTable::sets_of(const Held& tensor, const std::vector<Sharding>& forms,
                                                    size_t users) const {
  const size_t count = forms.size();
  std::vector<std::vector<bool>> gives(count, std::vector<bool>(count));
  for (size_t i = 0; i < count; ++i) {
    check_stop();
    for (size_t j = 0; j < count; ++j) gives[i][j] = prices_.is_free(tensor.type, forms[i], forms[j]);
  }
  const size_t most = std::min<size_t>({users, count > 40 ? size_t{1} : count > 14 ? size_t{2} : size_t{3}});
  std::vector<std::vector<size_t>> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back({i});
  for (size_t begin = 0, size = 1; size < most; ++size) {
    const size_t end = chosen.size();
    for (; begin < end; ++begin)
      for (size_t i = chosen[begin].back() + 1; i < count; ++i) {
        const auto overlaps = [&](size_t j) { return gives[i][j] || gives[j][i]; };
        if (std::any_of(chosen[begin].begin(), chosen[begin].end(), overlaps)) continue;
        std::vector<size_t> longer = chosen[begin];
        longer.push_back(i);
        chosen.push_back(std::move(longer));
      }
  }
  return chosen;
}

// The costs of taking each form that a user needs from the best form of each set.
std::shared_ptr<const PairCosts> FormTable::taken(const Held& tensor, const std::vector<Sharding>& forms,
                                                  const std::vector<std::vector<size_t>>& sets,
                                                  const std::vector<Sharding>& needed) const {
  PairCosts from_form(forms.size(), needed.size());
  for (size_t i = 0; i < forms.size(); ++i) {
    check_stop();
    for (size_t j = 0; j < needed.size(); ++j)
      from_form.at(i, j) = prices_.sends_nothing(tensor.type, forms[i], needed[j])
                               ? move(tensor, forms[i], needed[j])
                               : PlanCost::impossible();
  }
  auto costs = std::make_shared<PairCosts>(sets.size(), needed.size());
  for (size_t s = 0; s < sets.size(); ++s)
    for (size_t j = 0; j < needed.size(); ++j) {
      PlanCost& least = costs->at(s, j) = PlanCost::impossible();
      for (const size_t i : sets[s]) least = std::min(least, from_form.at(i, j));
    }
  return costs;
}

const FormSets& FormTable::sets(const Held& tensor, FormsId given, const std::vector<FormsId>& needed) {
  std::string key = key_of(tensor);
  append_key(key, given.number());
  for (const FormsId id : needed) append_key(key, id.number());
  const auto [at, is_new] = sets_.emplace(std::move(key), FormSets{});
  FormSets& made = at->second;
  if (!is_new) return made;
  std::vector<Sharding> forms;
  for (const FormsId id : needed) forms.insert(forms.end(), lists_[id].begin(), lists_[id].end());
  forms = distinct(forms);
  const std::vector<std::vector<size_t>> sets = sets_of(tensor, forms, needed.size());
  for (const std::vector<size_t>& set : sets) {
    made.sets.emplace_back();
    for (const size_t i : set) made.sets.back().push_back(forms[i]);
  }
  const std::vector<Sharding>& from = lists_[given];
  const bool are_single = sets.size() == forms.size();  // no set has two forms
  const PairCosts between = are_single ? PairCosts(0, 0) : moves(tensor, forms, forms);
  const PairCosts first = moves(tensor, tensor.fixed ? std::vector{*tensor.fixed} : from, forms);
  auto costs = std::make_shared<PairCosts>(from.size(), sets.size());
  for (size_t i = 0; i < from.size(); ++i) {
    const PlanCost fixing = tensor.fixed ? move(tensor, from[i], *tensor.fixed) : PlanCost{};
    for (size_t j = 0; j < sets.size(); ++j)
      costs->at(i, j) = fixing + cheapest_making(sets[j], first, tensor.fixed ? 0 : i, between).cost;
  }
  made.made = std::move(costs);
  for (const FormsId id : needed) made.taken.push_back(taken(tensor, forms, sets, lists_[id]));
  return made;
}

}  // namespace mtfc
