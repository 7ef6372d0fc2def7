#pragma once
// A bound as a function of the rules of a few dimensions, which also knows the least over all legal rules of those that
// are not decided yet. Values are computed when they are first asked for.
//
//   batch, io     batch:rows, io undecided   ->   the least of batch:rows with io whole, and with io:cols

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/search/bound_cost.h"

namespace mtfc {

class BoundTable {
 public:
  /// For each dimension, in the order in which they are decided, its options; and whether two options may be together.
  struct Scope {
    std::vector<size_t> dims;
    std::vector<size_t> options;
    std::function<bool(size_t dim, uint16_t option, size_t other, uint16_t other_option)> agree;
  };
  using Cost = std::function<BoundCost(std::span<const uint16_t> options)>;

  BoundTable(Scope scope, Cost cost) : scope_(std::move(scope)), cost_(std::move(cost)) {}

  const Scope& scope() const { return scope_; }
  /// Computes all values, unless `stops` says that there is no time for that; then returns false.
  bool fill(const std::function<bool()>& stops);
  /// The least cost if only the first dimensions of the scope are decided, by `options`.
  const BoundCost& least(std::span<const uint16_t> options);
  /// The number of legal choices for the whole scope, but at most `limit`.
  size_t choices(size_t limit) const;

 private:
  struct Entry {
    BoundCost cost;
    std::vector<uint32_t> next;  // by option of the next dimension: its entry, or 0
  };

  bool is_legal(std::span<const uint16_t> options, uint16_t next) const;
  // Adds the entry of `options` and of all that follow it; nothing if it is stopped.
  std::optional<uint32_t> add(std::vector<uint16_t>& options, const std::function<bool()>& stops);

  Scope scope_;
  Cost cost_;
  std::vector<Entry> entries_;
};

}  // namespace mtfc
