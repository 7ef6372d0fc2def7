#pragma once
// A minimization over many small choices: variables with few values each, and tables that say what the values of one or
// several variables cost together. The choice of a plan is such a problem (core/plan/choose_plan.h).
//
// It is solved by dynamic programming over a tree decomposition: variables are eliminated one after another, always
// the one that leaves the smallest table over its neighbours. Example: in a chain a - b - c, eliminating a leaves a
// table over b, eliminating b one over c. Where even the smallest table would be too large, tables are split in parts
// that are minimized apart. The sum is then a lower bound, and the solution that it leads to may cost more than the
// bound.

#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

namespace mtfc {

/// The measure by which plans are compared: first the cost itself, then, where that is equal, collectives, bytes, the
/// departures from rules, and the bytes for which more than an update of weights waits.
struct PlanCost {
  static constexpr int64_t kImpossible = INT64_MAX / 4;

  int64_t total = 0;  // at most kImpossible
  int64_t collectives = 0;
  int64_t bytes = 0;
  /// Results that are split otherwise than rules say, and sums that pass through operations; 0 unless the plan is
  /// chosen by rules.
  int64_t departures = 0;
  int64_t awaited = 0;  // those of `bytes` that kernels can't hide

  static PlanCost impossible() { return {kImpossible}; }
  bool is_possible() const { return total < kImpossible; }
  auto operator<=>(const PlanCost&) const = default;
  PlanCost& operator+=(const PlanCost& other) {
    if (total >= kImpossible || other.total >= kImpossible) return *this = impossible();
    total = total < kImpossible - other.total ? total + other.total : kImpossible - 1;
    collectives += other.collectives;
    bytes += other.bytes;
    departures += other.departures;
    awaited += other.awaited;
    return *this;
  }
  friend PlanCost operator+(PlanCost a, const PlanCost& b) { return a += b; }
};

PlanCost multiplied(const PlanCost& cost, int64_t times);

/// Costs of the values of two variables, row-major: `at(a, b)`. Networks share tables.
class PairCosts {
 public:
  PairCosts(size_t rows, size_t columns) : columns_(columns), costs_(rows * columns) {}
  PlanCost& at(size_t row, size_t column) { return costs_[row * columns_ + column]; }
  const PlanCost& at(size_t row, size_t column) const { return costs_[row * columns_ + column]; }
  size_t columns() const { return columns_; }
  size_t rows() const { return columns_ == 0 ? 0 : costs_.size() / columns_; }

 private:
  size_t columns_;
  std::vector<PlanCost> costs_;
};

struct NetworkSolution {
  std::vector<int> values;  // per variable
  PlanCost cost;
  PlanCost bound;  // no choice costs less; equal to `cost` unless tables had to be split
};

class CostNetwork {
 public:
  /// Adds a variable with a cost for each of its values, at least one of them possible. Returns its number.
  int add_variable(std::vector<PlanCost> costs);
  size_t variables() const { return domains_.size(); }
  /// Adds costs of two variables' values, each multiplied by `times`. The variables may be one and the same.
  void add_pair(int row, int column, std::shared_ptr<const PairCosts> costs, int64_t times = 1);
  void add_cost(int variable, size_t value, const PlanCost& cost) {
    domains_[static_cast<size_t>(variable)][value] += cost;
  }

  /// The values of least total cost. The result depends on nothing but the network; of equal costs, values that were
  /// added first are preferred. `largest`: the entries that a table may have. Asks check_stop() now and then.
  NetworkSolution solve(size_t largest = kLargestTable) const;
  /// The cost of the given values.
  PlanCost cost_of(const std::vector<int>& values) const;

  static constexpr size_t kLargestTable = size_t{1} << 21;

 private:
  struct Pair {
    int row, column;
    std::shared_ptr<const PairCosts> costs;
    int64_t times;
  };
  std::vector<std::vector<PlanCost>> domains_;
  std::vector<Pair> pairs_;

  friend class Elimination;
};

}  // namespace mtfc
