#pragma once
// For tests: random models with random layouts, as recipes that can be built, printed and cut down.
//
// Values stay bounded and comparisons see small integers only, so that a difference between two runs is a fault
// and not rounding. The same seed gives the same case.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/layout.h"
#include "core/model.h"
#include "runtime/layout_trial.h"

namespace mtfc {

/// A tensor of a RandomCase: a result of one of its items.
struct TensorRef {
  size_t item = 0;
  size_t result = 0;
  bool operator==(const TensorRef&) const = default;
};

/// What becomes one node of the graph.
struct Item {
  std::string kind;  // `input`, `variable`, `gradients`, or the name of an operation or composite
  std::vector<TensorRef> operands = {};
  Attributes attributes = {};  // sizes of dimensions are those of RandomCase::sizes
  TensorType type = {};        // of a leaf; likewise
  Fill fill = Fill::kNormal;   // of a leaf
  std::string indexed = "";    // the dimension that a leaf's indices count along
};

struct RandomCase {
  uint64_t seed = 0;
  std::map<std::string, int64_t> sizes;  // of every dimension
  std::vector<Item> items;
  std::vector<TensorRef> outputs;
  std::vector<std::pair<size_t, TensorRef>> assignments;  // item of the variable, its new value
  std::optional<TensorRef> loss;                          // of training with sgd
  Layout layout;
};

/// Three to about twenty operations under a legal layout.
RandomCase random_case(uint64_t seed);

/// The model, and values for its inputs and variables. Throws OpError where the items do not fit together.
Model model_of(const RandomCase& random_case, WholeTensors& leaves);

/// The graph as a listing, what is delivered, the mesh and the layout.
std::string to_string(const RandomCase& random_case);

}  // namespace mtfc
