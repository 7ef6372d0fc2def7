#pragma once
// The tensors of files of weights, by the variables to which a map gives them: whole ones, rows of one tensor, or one
// of several that a variable consists of (formats/data/name_map.h).

#include <functional>
#include <map>
#include <string>

#include "core/tensors/data.h"
#include "core/tensors/shape.h"
#include "formats/data/name_map.h"
#include "formats/data/published_shapes.h"

namespace mtfc {

/// The array that fills a variable.
struct FoundTensor {
  StoredArray array;
  bool optimizer_state = false;       // according to the run that wrote it
  std::vector<ArrayPart> parts = {};  // of which the array will consist, in order
};
using FoundTensors = std::map<std::string, FoundTensor>;

/// The types of a model's variables, by name.
using VariableTypes = std::map<std::string, TensorType>;

/// Adds a tensor to those of the variables in `placement`; one that the model does not have gets it as a whole.
/// Throws RunError, also ShapeMismatch, if it does not fit, and if a variable has it already.
void place_tensor(FoundTensor tensor, const Placement& placement, const VariableTypes& types,
                  FoundTensors& found);

/// The array of a tensor of files that holds variables, whose arrays `values` gives: the inverse of place_tensor().
StoredArray tensor_of(const PublishedTensor& tensor, const VariableTypes& types,
                      const std::function<StoredArray(const std::string& variable)>& values);

/// Gives the variables that consist of several tensors their arrays. Throws RunError if one of them is missing.
void join_parts(FoundTensors& found, const VariableTypes& types);

}  // namespace mtfc
