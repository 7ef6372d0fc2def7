#pragma once
// For tests: a model with a layout as a recipe that can be built, printed and cut down.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/model.h"
#include "core/tensors/layout.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc {

/// A tensor of a RandomCase: a result of one of its items.
struct TensorRef {
  size_t item = 0;
  size_t result = 0;
  bool operator==(const TensorRef&) const = default;
};

/// The recipe of one node of the graph.
struct Item {
  std::string kind;  // `input`, `variable`, `gradients`, or the name of an operation or composite
  std::vector<TensorRef> operands = {};
  Attributes attributes = {};  // sizes of dimensions are those of RandomCase::sizes
  TensorType type = {};        // of a leaf; likewise
  Fill fill = Fill::kNormal;   // of a leaf
  std::string indexed = "";    // the dimension that a leaf's indices count along
  bool from_model = true;      // else as if the compiler had made it
  int region = 0;  // that is computed again for the backward pass; 0: none. Files of cases lack it
};

/// An annotation of a tensor, or rules that are limited to it, or those of the tensor that training makes for it under
/// a further name.
struct DrawnAnnotation {
  TensorRef tensor;
  std::string suffix = "";  // such as `/grad`
  std::vector<Rule> splits;
  bool as_rules = false;
};

struct RandomCase {
  uint64_t seed = 0;
  std::map<std::string, int64_t> sizes;  // of every dimension
  std::vector<Item> items;
  std::vector<TensorRef> outputs;
  std::vector<std::pair<size_t, TensorRef>> assignments;  // item of the variable, its new value
  std::optional<TensorRef> loss;                          // of training
  std::string optimizer = "sgd";
  std::vector<std::string> shard_state_over;  // axes
  Layout layout;                              // without annotations
  std::vector<DrawnAnnotation> annotations = {};
};

bool is_leaf(const Item& item);

/// Adds an item to the graph; `tensors` holds the results of the items before it. Throws OpError where its
/// operation refuses it.
std::vector<TensorId> add_item(GraphBuilder& b, const Item& item, size_t position,
                               const std::map<std::string, int64_t>& sizes,
                               const std::vector<std::vector<TensorId>>& tensors);

/// The model, and values for its inputs and variables. Throws OpError where the items do not fit together.
Model model_of(const RandomCase& random_case, WholeTensors& leaves);

/// The layout with its annotations. Those of tensors and dimensions that the model lacks are left out.
Layout layout_of(const RandomCase& random_case);

/// The graph as a listing, what is delivered, the mesh and the layout.
std::string to_string(const RandomCase& random_case);

}  // namespace mtfc
