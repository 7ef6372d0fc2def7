#pragma once
// Repeats a recorded run on one device, operation by operation, and compares every tensor, for `mtfc verify`.
//
// Each operation takes its operands from the recording, so its result is known up to the rounding of that one
// operation (rounding.h). Errors do not accumulate: a correct run passes even if the model amplifies rounding, as by
// the quotient of two numbers that should be 0, or by a decision between two that are nearly equal. A fault shows in
// the first tensor that it changes.
//
//   recorded, over p:2   g = [1e-9, 2]       v = g * g        u = g / sqrt(v) = [1, 1]
//   on one device        g = [-1e-9, 2]                       u = [-1, 1]
//   compared             g with its terms    v with g * g     u with g / sqrt(v) of the recorded g and v: [1, 1]

#include <cstdint>

#include "core/program/program.h"
#include "runtime/execute/comparison.h"
#include "runtime/execute/recording.h"

namespace mtfc {

struct ReplayOptions {
  uint64_t seed = 0;
  double tolerance = 0;  // relative to the magnitudes that are added; 0: what rounding explains
};

/// Repeats the run `found` with the steps of `whole`, the same entry point of `program`, which is the model compiled
/// for one device with CompileOptions::keep_all. Adds what it finds to `comparison`.
void replay(const Program& program, const EntryPoint& whole, const Recording& found,
            const ReplayOptions& options, Comparison& comparison);

}  // namespace mtfc
