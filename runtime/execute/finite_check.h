#pragma once
// Finds values that are NaN or infinite in the memory of devices, for --check-finite and for what a run saves.

#include <string>

#include "core/program/program.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// The first element of the shard that is not finite, or -1. With `infinities` false, only NaNs count.
int64_t first_not_finite(const LocalShard& shard, bool infinities = true);

/// `'w' has the value nan at [rows=3]` for the first element of the shard that is not finite; "" if all are, or if
/// the tensor has no floats. With `infinities` false, only NaNs count.
std::string not_finite_problem(const std::string& name, const LocalShard& shard, bool infinities = true);

/// `the variable 'w' has the value nan at [rows=3]`, or "", for the variables on the devices of this process. A
/// variable that is not trained may hold infinities on purpose, so that only its NaNs count.
std::string not_finite_variable(const Executor& executor);

/// `message (on device rows=1,cols=0)` if the mesh has several devices.
std::string on_device(const std::string& message, const Mesh& mesh, const Coordinates& at);

}  // namespace mtfc
