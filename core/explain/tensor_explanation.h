#pragma once
// Why a tensor is split as it is, and what another sharding of it would cost. Each has been compiled.
//
//   x[batch/rows] is annotated; y = relu(x): 'batch' of y is split over rows by the annotation "x", through relu
//   y as {"batch": []} would send 4,096 bytes more

#include <cstddef>
#include <string>
#include <vector>

#include "core/explain/explained_program.h"
#include "core/plan/provenance.h"
#include "core/tensors/tensor_form.h"

namespace mtfc {

/// Another sharding of a tensor, given to it by an annotation, and what the entry point costs then.
struct Alternative {
  Sharding sharding;
  LayoutFigures figures;
};

struct TensorExplanation {
  std::string tensor;
  TensorType type;
  Sharding sharding;
  Location place;                         // of the operation, input or variable
  FixedBy fixed;                          // what decides for the tensor as a whole
  std::vector<AxisOrigin> splits;         // in the order of the dimensions and of their axes
  bool is_reached = false;                // a plan could have split it
  std::vector<TensorForm> held;           // other forms in which devices hold it
  LayoutFigures figures;                  // of the entry point
  bool can_be_annotated = true;           // false: the compiler has made it, under a name of its own
  std::vector<Alternative> alternatives;  // the cheapest first
  size_t untried = 0;                     // candidates that were too many to compile
  std::vector<ReshardStep> reshards;      // of this tensor, in the order of the program
};

/// The most alternatives that are compiled.
inline constexpr size_t kMostAlternatives = 48;

/// Throws UserError if the entry point has no such tensor.
TensorExplanation explain_tensor(const ExplainedProgram& explained, const std::string& tensor);

}  // namespace mtfc
