#pragma once
// The answers that runs of a program are compared with: those of the interpreter, on the graph as it is before
// the passes that make it cheaper, so that a fault of a pass shows even where it is the same under all layouts.

#include <cstdint>

#include "core/graph/entry_graph.h"
#include "core/model/model.h"
#include "runtime/testing/interpreter.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc {

/// Outputs by name, and the variables afterwards.
struct ReferenceAnswer {
  WholeTensors outputs;
  WholeTensors variables;
  double largest = 1;  // absolute value on the way, or sum of the absolute terms of an einsum
};

HostTensor to_host(const WholeTensor& tensor);
WholeTensor from_host(const HostTensor& host);

/// The entry as the interpreter takes it: composites and gradients expanded, and nothing else.
EntryGraph plain_entry(EntryGraph entry);

/// One run of a plain entry. `leaves` and `variables` hold at least those that it has left.
ReferenceAnswer reference_answer(const EntryGraph& plain, const WholeTensors& leaves,
                                 const WholeTensors& variables, int64_t step);

/// The outputs of the evaluate entry point of a model without variables.
WholeTensors reference_outputs(const Model& model, const WholeTensors& inputs);

}  // namespace mtfc
