#pragma once
// Models whose results, gradients included, an independent program has computed: folders of testdata/ with model.json and
// expected.json. The latter holds, by name and row-major, what is `given` (inputs and variables) and the `results`
// (outputs of the model).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/tensors/shape.h"

namespace mtfc {

struct ReferenceLayout {
  std::string mesh, rules;
  bool propagate = false;
  std::vector<std::string> sets = {};        // NAME=VALUE
  std::optional<int64_t> microbatches = {};  // nothing: those of the model
};

/// The largest difference from the expected elements of each output, in a training step under the layout, or else in an
/// evaluation. It is infinite where an output is missing or has another size.
std::map<std::string, double> reference_differences(const std::string& folder, const ReferenceLayout& layout,
                                                    DType dtype);

}  // namespace mtfc
