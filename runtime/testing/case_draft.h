#pragma once
// A random case while it is drawn. It knows the dimensions and, of every tensor so far, the type and what values
// it may have, so that operations can be chosen that fit. The functions of drawn_operations.h draw with it; the
// order of their draws is what makes a seed's case.

#include <algorithm>
#include <optional>
#include <random>

#include "runtime/testing/model_recipe.h"

namespace mtfc {

/// Known facts about a tensor's values.
struct Facts {
  TensorRef ref;
  TensorType type;
  double bound = 1;    // no value is further from 0
  double low = -1;     // nor smaller than this
  bool exact = false;  // small integers, the same whatever the order of sums
};

class CaseDraft {
 public:
  static constexpr int64_t kMostElements = 1500;  // of one tensor
  static constexpr double kLargest = 1e4;         // bound of a value that may be used further

  /// Draws the sizes of a few dimensions and the type of most floats.
  explicit CaseDraft(uint64_t seed);

  RandomCase& drawn() { return case_; }
  const std::vector<Facts>& known() const { return known_; }  // of every tensor so far
  Facts& newest() { return known_.back(); }
  size_t operations() const { return operations_; }
  DType float_type() const { return float_; }  // of most floats
  std::mt19937_64& random() { return random_; }

  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }
  bool chance(double p) { return static_cast<double>(random_() % 1000000) < p * 1e6; }
  template <typename T>
  const T& any(const std::vector<T>& list) {
    return list[below(list.size())];
  }

  Dims all_dims() const;
  Dims shuffled(Dims dims);
  Dims random_dims(size_t least, size_t most);
  /// Some of `dims`, at least `least` of them, in any order.
  Dims some_of(const Dims& dims, size_t least);
  /// A dimension of this size that none of `dims` is; a new one where need be.
  Dim dim_of_size(int64_t size, const Dims& dims);
  /// Dimensions with `count` elements in all.
  Dims factored(int64_t count);

  /// A tensor that is `wanted`, a recent one more often than an old one.
  template <typename Wanted>
  std::optional<Facts> pick(Wanted wanted) {
    std::vector<Facts> fitting;
    for (const Facts& facts : known_)
      if (facts.bound <= kLargest && wanted(facts)) fitting.push_back(facts);
    if (fitting.empty()) return std::nullopt;
    const size_t newest = chance(0.7) ? std::min(fitting.size(), recent_) : fitting.size();
    return fitting[fitting.size() - 1 - below(newest)];
  }
  std::optional<Facts> pick_number();
  std::optional<Facts> pick_float();
  std::optional<Facts> pick_exact();

  /// The facts of the item's first result, or nothing where the operation refuses it.
  std::optional<Facts> add(Item item, double bound, double low, bool exact);
  Facts leaf(DType dtype, const Dims& dims, Fill fill, const std::string& indexed = "");
  /// A tensor of `type` that is a sum over a dimension it lacks: partial where that one is split.
  Facts sum_leaf(const TensorType& type, Fill fill);
  Facts leaf_or_sum(const TensorType& type, Fill fill);

  /// Lets `pick` take one of the last `count` tensors for a recent one.
  void prefer_newest(size_t count) { recent_ = count; }

 private:
  void draw_sizes();

  std::mt19937_64 random_;
  RandomCase case_;
  std::vector<Facts> known_;
  size_t operations_ = 0;
  size_t recent_ = 3;
  DType float_ = DType::kF64;
  GraphBuilder builder_;
  std::vector<std::vector<TensorId>> tensors_;  // by item
};

}  // namespace mtfc
