#include "core/choice/form_table.h"

#include <algorithm>
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
  auto made = std::make_shared<PairCosts>(from.size(), to.size());
  for (size_t i = 0; i < from.size(); ++i) {
    check_stop();
    for (size_t j = 0; j < to.size(); ++j)
      made->at(i, j) = tensor.fixed
                           ? move(tensor, from[i], *tensor.fixed) + move(tensor, *tensor.fixed, to[j])
                           : move(tensor, from[i], to[j]);
  }
  return known = std::move(made);
}

FormTable::Making FormTable::making(const Held& tensor, const Sharding& from,
                                    const std::vector<Sharding>& set) const {
  std::vector<size_t> order(set.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  Making best{PlanCost::impossible(), {}};
  do {
    Making way;
    std::vector<const Sharding*> held = {&from};
    for (const size_t i : order) {
      PlanCost least = PlanCost::impossible();
      const Sharding* source = nullptr;
      for (const Sharding* form : held)
        if (const PlanCost cost = move(tensor, *form, set[i]); !source || cost < least) {
          least = cost;
          source = form;
        }
      way.cost += least;
      if (set[i] != from) way.steps.emplace_back(set[i], *source);
      held.push_back(&set[i]);
    }
    if (best.steps.empty() || way.cost < best.cost) best = std::move(way);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

// Sets of which no form can be made from another one for nothing.
std::vector<std::vector<Sharding>> FormTable::sets_of(const Held& tensor, const std::vector<Sharding>& forms,
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
  std::vector<std::vector<Sharding>> sets;
  for (const std::vector<size_t>& set : chosen) {
    sets.emplace_back();
    for (const size_t i : set) sets.back().push_back(forms[i]);
  }
  return sets;
}

const FormSets& FormTable::sets(const Held& tensor, FormsId given, const std::vector<FormsId>& needed) {
  std::string key = key_of(tensor);
  append_key(key, given.number());
  for (const FormsId id : needed) append_key(key, id.number());
  const auto [at, is_new] = sets_.emplace(std::move(key), FormSets{});
  FormSets& made = at->second;
  if (!is_new) return made;
  std::vector<Sharding> all;
  for (const FormsId id : needed) all.insert(all.end(), lists_[id].begin(), lists_[id].end());
  made.sets = sets_of(tensor, distinct(all), needed.size());
  const std::vector<Sharding>& from = lists_[given];
  auto costs = std::make_shared<PairCosts>(from.size(), made.sets.size());
  for (size_t i = 0; i < from.size(); ++i) {
    const PlanCost first = tensor.fixed ? move(tensor, from[i], *tensor.fixed) : PlanCost{};
    for (size_t j = 0; j < made.sets.size(); ++j) {
      check_stop();
      costs->at(i, j) = first + making(tensor, tensor.fixed ? *tensor.fixed : from[i], made.sets[j]).cost;
    }
  }
  made.made = std::move(costs);
  for (const FormsId id : needed) {
    auto takes = std::make_shared<PairCosts>(made.sets.size(), lists_[id].size());
    for (size_t i = 0; i < made.sets.size(); ++i) {
      check_stop();
      for (size_t j = 0; j < lists_[id].size(); ++j) {
        PlanCost& least = takes->at(i, j) = PlanCost::impossible();
        for (const Sharding& form : made.sets[i])
          if (prices_.sends_nothing(tensor.type, form, lists_[id][j]))
            least = std::min(least, move(tensor, form, lists_[id][j]));
      }
    }
    made.taken.push_back(std::move(takes));
  }
  return made;
}

}  // namespace mtfc
