#include "core/plan/cost_network.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/diagnostics/error.h"
#include "core/diagnostics/stop.h"

namespace mtfc {

PlanCost multiplied(const PlanCost& cost, int64_t times) {
  if (times == 1 || !cost.is_possible()) return cost;
  PlanCost product;
  if (__builtin_mul_overflow(cost.total, times, &product.total) || product.total >= PlanCost::kImpossible)
    product.total = PlanCost::kImpossible - 1;
  product.collectives = cost.collectives * times;
  product.bytes = cost.bytes * times;
  product.departures = cost.departures * times;
  product.awaited = cost.awaited * times;
  return product;
}

namespace {

// Costs over several variables, the last of which varies fastest.
struct Table {
  std::vector<int> scope;
  std::vector<PlanCost> costs;
};

}  // namespace

int CostNetwork::add_variable(std::vector<PlanCost> costs) {
  check_invariant(!costs.empty() && costs.size() <= UINT16_MAX, "a choice has no options, or too many");
  domains_.push_back(std::move(costs));
  return static_cast<int>(domains_.size()) - 1;
}

void CostNetwork::add_pair(int row, int column, std::shared_ptr<const PairCosts> costs, int64_t times) {
  check_invariant(costs->rows() == domains_[static_cast<size_t>(row)].size() &&
                      costs->columns() == domains_[static_cast<size_t>(column)].size(),
                  "a table of costs is of another size than the choices");
  if (row == column) {
    for (size_t value = 0; value < costs->rows(); ++value)
      add_cost(row, value, multiplied(costs->at(value, value), times));
    return;
  }
  pairs_.push_back({row, column, std::move(costs), times});
}

PlanCost CostNetwork::cost_of(const std::vector<int>& values) const {
  PlanCost cost;
  for (size_t v = 0; v < domains_.size(); ++v) cost += domains_[v][static_cast<size_t>(values[v])];
  for (const Pair& pair : pairs_)
    cost += multiplied(pair.costs->at(static_cast<size_t>(values[static_cast<size_t>(pair.row)]),
                                      static_cast<size_t>(values[static_cast<size_t>(pair.column)])),
                       pair.times);
  return cost;
}

// Eliminates the variables of a network one by one, and then gives them values in the opposite order.
class Elimination {
 public:
  Elimination(const CostNetwork& network, size_t largest)
      : network_(network), largest_(largest), unary_(network.domains_) {
    at_.resize(network.variables());
    for (const CostNetwork::Pair& pair : network.pairs_) add_pair(pair);
  }

  NetworkSolution run() {
    restrict_values();
    fill_queue();
    while (!queue_.empty()) {
      const int variable = queue_.begin()->second;
      const double known = weights_[static_cast<size_t>(variable)];
      update_weight(variable);
      if (weights_[static_cast<size_t>(variable)] <= known) eliminate(variable);
    }
    NetworkSolution solution;
    solution.bound = constant_;
    for (const std::vector<int>& values : values_) solution.values.push_back(values[0]);
    for (size_t i = order_.size(); i-- > 0;) decide(order_[i], solution.values);
    solution.cost = network_.cost_of(solution.values);
    return solution;
  }

 private:
  size_t size(int variable) const { return values_[static_cast<size_t>(variable)].size(); }

  void add_pair(const CostNetwork::Pair& pair) {
    const bool swapped = pair.row > pair.column;
    const int first = swapped ? pair.column : pair.row, second = swapped ? pair.row : pair.column;
    const auto known = pairs_.find({first, second});
    const size_t rows = swapped ? pair.costs->columns() : pair.costs->rows();
    const size_t columns = swapped ? pair.costs->rows() : pair.costs->columns();
    const auto cost = [&](size_t i, size_t j) {
      return multiplied(swapped ? pair.costs->at(j, i) : pair.costs->at(i, j), pair.times);
    };
    if (rows == 1 || columns == 1) {  // the costs of a choice and of a decision are costs of the choice
      std::vector<PlanCost>& costs = unary_[static_cast<size_t>(rows == 1 ? second : first)];
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) costs[rows == 1 ? j : i] += cost(i, j);
      return;
    }
    if (known != pairs_.end()) {
      std::vector<PlanCost>& costs = tables_[known->second].costs;
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) costs[i * columns + j] += cost(i, j);
      return;
    }
    Table table{{first, second}, std::vector<PlanCost>(rows * columns)};
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) table.costs[i * columns + j] = cost(i, j);
    pairs_.emplace(std::pair(first, second), tables_.size());
    add_table(std::move(table));
  }

  size_t add_table(Table table) {
    for (const int variable : table.scope) at_[static_cast<size_t>(variable)].push_back(tables_.size());
    tables_.push_back(std::move(table));
    return tables_.size() - 1;
  }

  // Leaves out values that another value of the variable is never dearer than, whatever the neighbours are.
  void restrict_values() {
    values_.resize(network_.variables());
    for (size_t v = 0; v < values_.size(); ++v)
      for (size_t value = 0; value < unary_[v].size(); ++value)
        if (unary_[v][value].is_possible()) values_[v].push_back(static_cast<int>(value));
    // Where nothing is possible, one value stands for the choice, whose cost says so.
    for (std::vector<int>& values : values_)
      if (values.empty()) values.push_back(0);
    std::vector<int> open;
    for (size_t v = 0; v < values_.size(); ++v) open.push_back(static_cast<int>(v));
    std::vector<bool> waits(values_.size(), true);
    while (!open.empty()) {
      check_stop();
      const int variable = open.back();
      open.pop_back();
      waits[static_cast<size_t>(variable)] = false;
      if (!drop_dominated(variable)) continue;
      for (const size_t t : at_[static_cast<size_t>(variable)])
        for (const int other : tables_[t].scope)
          if (other != variable && size(other) > 1 && !waits[static_cast<size_t>(other)]) {
            waits[static_cast<size_t>(other)] = true;
            open.push_back(other);
          }
    }
    for (Table& table : tables_) shrink(table);
    for (size_t v = 0; v < values_.size(); ++v) {
      std::vector<PlanCost> costs;
      for (const int value : values_[v]) costs.push_back(unary_[v][static_cast<size_t>(value)]);
      unary_[v] = std::move(costs);
    }
    for (size_t t = 0; t < tables_.size(); ++t) fold_decided(t);
  }

  // A table whose variables are not both open is a cost of the one that is.
  void fold_decided(size_t t) {
    const std::vector<int>& scope = tables_[t].scope;
    if (size(scope[0]) > 1 && size(scope[1]) > 1) return;
    const int open = size(scope[0]) > 1 ? scope[0] : scope[1];
    for (size_t value = 0; value < size(open); ++value)
      unary_[static_cast<size_t>(open)][value] += tables_[t].costs[value];
    for (const int variable : scope) std::erase(at_[static_cast<size_t>(variable)], t);
  }

  bool drop_dominated(int variable) {
    std::vector<int>& values = values_[static_cast<size_t>(variable)];
    const size_t before = values.size();
    for (size_t b = values.size(); b-- > 0 && values.size() > 1;)
      for (size_t a = 0; a < values.size(); ++a) {
        if (a == b || !is_dominated(variable, values[b], values[a], a < b)) continue;
        values.erase(values.begin() + static_cast<std::ptrdiff_t>(b));
        break;
      }
    return values.size() < before;
  }

  // True if value `a` is cheaper than `b` wherever `b` is possible; or as cheap, if `or_equal`.
  bool is_dominated(int variable, int b, int a, bool or_equal) const {
    const std::vector<PlanCost>& own = unary_[static_cast<size_t>(variable)];
    PlanCost worst_a = own[static_cast<size_t>(a)], best_b = own[static_cast<size_t>(b)];
    if (!worst_a.is_possible()) return false;
    for (const size_t t : at_[static_cast<size_t>(variable)]) {
      const Table& table = tables_[t];
      const bool is_row = table.scope[0] == variable;
      const int other = table.scope[is_row ? 1 : 0];
      const size_t columns = unary_[static_cast<size_t>(table.scope[1])].size();
      const auto cost = [&](int value, int neighbour) -> const PlanCost& {
        return is_row ? table.costs[static_cast<size_t>(value) * columns + static_cast<size_t>(neighbour)]
                      : table.costs[static_cast<size_t>(neighbour) * columns + static_cast<size_t>(value)];
      };
      // The neighbour's value at which `a` is worst compared with `b`.
      const PlanCost* pair_a = nullptr;
      const PlanCost* pair_b = nullptr;
      for (const int neighbour : values_[static_cast<size_t>(other)]) {
        const PlanCost &of_a = cost(a, neighbour), &of_b = cost(b, neighbour);
        if (!of_b.is_possible()) continue;
        if (!of_a.is_possible()) return false;
        if (!pair_a || is_worse(of_a, of_b, *pair_a, *pair_b)) {
          pair_a = &of_a;
          pair_b = &of_b;
        }
      }
      if (!pair_a) return true;  // `b` is possible nowhere
      worst_a += *pair_a;
      best_b += *pair_b;
    }
    return or_equal ? worst_a <= best_b : worst_a < best_b;
  }

  // True if a - b is larger than known_a - known_b.
  static bool is_worse(const PlanCost& a, const PlanCost& b, const PlanCost& known_a,
                       const PlanCost& known_b) {
    const int64_t left = a.total + known_b.total, right = known_a.total + b.total;
    return left != right && std::max(left, right) < PlanCost::kImpossible ? left > right
                                                                          : a + known_b > known_a + b;
  }

  // Keeps the entries of a table of two variables for the values that are left.
  void shrink(Table& table) {
    const size_t columns = unary_[static_cast<size_t>(table.scope[1])].size();
    std::vector<PlanCost> costs;
    for (const int row : values_[static_cast<size_t>(table.scope[0])])
      for (const int column : values_[static_cast<size_t>(table.scope[1])])
        costs.push_back(table.costs[static_cast<size_t>(row) * columns + static_cast<size_t>(column)]);
    table.costs = std::move(costs);
  }

  std::vector<int> neighbours(int variable) const {
    std::vector<int> found;
    for (const size_t t : at_[static_cast<size_t>(variable)])
      for (const int other : tables_[t].scope)
        if (other != variable) found.push_back(other);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  // The entries of the table that eliminating the variable leaves.
  double weight(int variable) const {
    double entries = 1;
    for (const int other : neighbours(variable)) entries *= static_cast<double>(size(other));
    return entries;
  }

  void fill_queue() {
    weights_.resize(network_.variables());
    for (size_t v = 0; v < weights_.size(); ++v) {
      if (values_[v].size() == 1 && at_[v].empty()) {  // it is decided
        constant_ += unary_[v][0];
        continue;
      }
      weights_[v] = weight(static_cast<int>(v));
      queue_.emplace(weights_[v], static_cast<int>(v));
    }
  }

  void update_weight(int variable) {
    double& known = weights_[static_cast<size_t>(variable)];
    queue_.erase({known, variable});
    known = weight(variable);
    queue_.emplace(known, variable);
  }

  struct Step {
    int variable;
    std::vector<size_t> tables;  // that contain the variable
    // If all tables were minimized together: the best of the values that are left, for those of the variables of
    // `scope`, the last of which varies fastest. The costs of `tables` are then gone.
    std::vector<int> scope = {};
    std::vector<uint16_t> best = {};
  };

  void eliminate(int variable) {
    queue_.erase({weights_[static_cast<size_t>(variable)], variable});
    Step step{variable, at_[static_cast<size_t>(variable)]};
    const std::vector<int> around = neighbours(variable);
    for (const size_t t : step.tables)
      for (const int other : tables_[t].scope)
        if (other != variable) std::erase(at_[static_cast<size_t>(other)], t);
    bool is_first = true;
    const std::vector<std::vector<size_t>> parts = groups(variable, step.tables);
    for (const std::vector<size_t>& group : parts) {
      Table made = minimized(variable, group, is_first, step.best);
      is_first = false;
      if (parts.size() == 1) {
        step.scope = made.scope;
        for (const size_t t : group) std::vector<PlanCost>().swap(tables_[t].costs);
      }
      if (made.scope.empty())
        constant_ += made.costs[0];
      else if (made.scope.size() == 1)
        for (size_t i = 0; i < made.costs.size(); ++i)
          unary_[static_cast<size_t>(made.scope[0])][i] += made.costs[i];
      else
        merge(std::move(made));
    }
    if (step.tables.empty()) {
      constant_ += *std::min_element(unary_[static_cast<size_t>(variable)].begin(),
                                     unary_[static_cast<size_t>(variable)].end());
    }
    if (parts.size() > 1) step.best.clear();
    order_.push_back(std::move(step));
    // The weight of a variable with many neighbours is brought up to date when its turn has come.
    constexpr size_t kMany = 32;
    for (const int other : around)
      if (at_[static_cast<size_t>(other)].size() <= kMany) update_weight(other);
  }

  // Adds the table to one over the same variables, if there is one.
  void merge(Table table) {
    for (const size_t t : at_[static_cast<size_t>(table.scope[0])])
      if (tables_[t].scope == table.scope) {
        for (size_t i = 0; i < table.costs.size(); ++i) tables_[t].costs[i] += table.costs[i];
        return;
      }
    add_table(std::move(table));
  }

  // All tables together, unless the table over their variables would be too large.
  std::vector<std::vector<size_t>> groups(int variable, const std::vector<size_t>& tables) const {
    std::vector<std::vector<size_t>> groups;
    std::vector<std::set<int>> scopes;
    for (const size_t t : tables) {
      bool placed = false;
      for (size_t g = 0; g < groups.size() && !placed; ++g) {
        std::set<int> scope = scopes[g];
        scope.insert(tables_[t].scope.begin(), tables_[t].scope.end());
        double entries = 1;
        for (const int other : scope)
          if (other != variable) entries *= static_cast<double>(size(other));
        if (entries > static_cast<double>(largest_)) continue;
        groups[g].push_back(t);
        scopes[g] = std::move(scope);
        placed = true;
      }
      if (placed) continue;
      groups.push_back({t});
      scopes.emplace_back(tables_[t].scope.begin(), tables_[t].scope.end());
    }
    return groups;
  }

  // The least cost over the values of `variable`, per values of the other variables of the tables, and in `best` the
  // first value that has it.
  Table minimized(int variable, const std::vector<size_t>& group, bool with_own,
                  std::vector<uint16_t>& best_values) const {
    std::set<int> scope;
    for (const size_t t : group) scope.insert(tables_[t].scope.begin(), tables_[t].scope.end());
    scope.erase(variable);
    Table made{{scope.begin(), scope.end()}, {}};
    size_t entries = 1;
    for (const int other : made.scope) entries *= size(other);
    made.costs.reserve(entries);
    best_values.clear();
    best_values.reserve(entries);
    // Per table: how far an entry is from the next one along each variable of the scope, and along `variable`.
    const size_t rank = made.scope.size();
    std::vector<std::vector<size_t>> strides(group.size(), std::vector<size_t>(rank + 1, 0));
    for (size_t g = 0; g < group.size(); ++g) {
      size_t stride = 1;
      const std::vector<int>& own = tables_[group[g]].scope;
      for (size_t i = own.size(); i-- > 0;) {
        const auto at = std::find(made.scope.begin(), made.scope.end(), own[i]);
        strides[g][static_cast<size_t>(at - made.scope.begin())] = stride;  // `variable` comes last
        stride *= size(own[i]);
      }
    }
    const std::vector<PlanCost>& own = unary_[static_cast<size_t>(variable)];
    std::vector<const PlanCost*> tables;
    std::vector<size_t> steps;  // from one value of `variable` to the next
    for (size_t g = 0; g < group.size(); ++g) {
      tables.push_back(tables_[group[g]].costs.data());
      steps.push_back(strides[g][rank]);
    }
    std::vector<size_t> index(rank, 0), offsets(group.size(), 0);
    for (size_t entry = 0; entry < entries; ++entry) {
      if (entry % 1024 == 0) check_stop();
      PlanCost best = PlanCost::impossible();
      size_t best_value = 0;
      for (size_t value = 0; value < own.size(); ++value) {
        // Costs are not negative, so a part of the sum may already be too much; it does not overflow before that.
        int64_t total = with_own ? own[value].total : 0;
        for (size_t g = 0; g < group.size() && total <= best.total; ++g)
          total += tables[g][offsets[g] + value * steps[g]].total;
        if (total > best.total) continue;
        PlanCost cost = with_own ? own[value] : PlanCost{};
        for (size_t g = 0; g < group.size(); ++g) cost += tables[g][offsets[g] + value * steps[g]];
        if (!(cost < best)) continue;
        best = cost;
        best_value = value;
      }
      made.costs.push_back(best);
      best_values.push_back(static_cast<uint16_t>(best_value));
      for (size_t i = rank; i-- > 0;) {
        for (size_t g = 0; g < group.size(); ++g) offsets[g] += strides[g][i];
        if (++index[i] < size(made.scope[i])) break;
        for (size_t g = 0; g < group.size(); ++g) offsets[g] -= strides[g][i] * index[i];
        index[i] = 0;
      }
    }
    return made;
  }

  // The value that costs least together with those of the variables that were eliminated later.
  void decide(const Step& step, std::vector<int>& values) {
    const int variable = step.variable;
    if (!step.best.empty()) {
      size_t offset = 0;
      for (const int other : step.scope) offset = offset * size(other) + position(other, values);
      values[static_cast<size_t>(variable)] = values_[static_cast<size_t>(variable)][step.best[offset]];
      return;
    }
    const std::vector<PlanCost>& own = unary_[static_cast<size_t>(variable)];
    PlanCost best;
    size_t best_value = own.size();
    for (size_t value = 0; value < own.size(); ++value) {
      PlanCost cost = own[value];
      for (const size_t t : step.tables) {
        size_t offset = 0;
        for (const int other : tables_[t].scope)
          offset = offset * size(other) + (other == variable ? value : position(other, values));
        cost += tables_[t].costs[offset];
      }
      if (best_value < own.size() && cost >= best) continue;
      best = cost;
      best_value = value;
    }
    values[static_cast<size_t>(variable)] = values_[static_cast<size_t>(variable)][best_value];
  }

  // The place of a decided value among those that are left.
  size_t position(int variable, const std::vector<int>& values) const {
    const std::vector<int>& left = values_[static_cast<size_t>(variable)];
    return static_cast<size_t>(
        std::lower_bound(left.begin(), left.end(), values[static_cast<size_t>(variable)]) - left.begin());
  }

  const CostNetwork& network_;
  size_t largest_;
  std::vector<std::vector<PlanCost>> unary_;  // per variable: a cost per value that is left
  std::vector<std::vector<int>> values_;      // per variable: the values that are left, ascending
  std::vector<Table> tables_;
  std::map<std::pair<int, int>, size_t> pairs_;
  std::vector<std::vector<size_t>> at_;  // per variable that is not eliminated: the tables with it
  std::vector<double> weights_;
  std::set<std::pair<double, int>> queue_;
  std::vector<Step> order_;
  PlanCost constant_;
};

NetworkSolution CostNetwork::solve(size_t largest) const {
  return Elimination(*this, largest).run();
}

}  // namespace mtfc
