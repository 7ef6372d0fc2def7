#pragma once
// Whole tensors to and from files: every rank writes the slices it owns at their offsets, and reads what it
// needs.

#include <string>
#include <vector>

#include "core/data.h"
#include "core/sharding.h"
#include "runtime/comm.h"
#include "runtime/executor.h"

namespace mtfc {

/// Writes the tensor of which `parts` are the slices of this process's devices, split by `sharding` (nothing
/// partial), as the file `path`, or to standard output for `-`: `header`, then all elements in row-major
/// order. All ranks call it. The file appears complete or not at all: written beside itself, synced, renamed;
/// what can't be replaced is written as it is (runtime/file_target.h). Throws RunError, on all ranks alike,
/// with the system's reason.
void write_array(Comm& comm, const std::string& path, const std::string& header, const Sharding& sharding,
                 const std::vector<LocalPart>& parts);

/// Fills `part` of the tensor `name` from an array of the tensor's exact shape. Throws RunError.
void load_array(const StoredArray& array, const std::string& name, const LocalPart& part);

}  // namespace mtfc
