#pragma once
// Whole tensors to and from files: every rank writes the slices it owns at their offsets, and reads what it
// needs.

#include <string>
#include <vector>

#include "core/tensors/data.h"
#include "core/tensors/sharding.h"
#include "runtime/comm/comm.h"
#include "runtime/data/output_file.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// Writes the tensor of which `parts` are the slices of this process's devices, split by `sharding` (nothing
/// partial), as the file `path`, or to standard output for `-`: `header`, then all elements in row-major
/// order. All ranks call it. The file appears complete or not at all: written beside itself, synced, renamed;
/// what can't be replaced is written as it is (runtime/data/file_target.h). Throws RunError, on all ranks alike,
/// with the system's reason.
void write_array(Comm& comm, const std::string& path, const std::string& header, const Sharding& sharding,
                 const std::vector<LocalPart>& parts);

/// Of the parts of a tensor on this process's devices those that it writes: of the devices that hold the same
/// region, one does.
std::vector<LocalPart> written_parts(const Comm& comm, const Sharding& sharding,
                                     const std::vector<LocalPart>& parts);

/// Writes a part to its places in the file of a whole tensor that begins at byte `start`.
void write_slice(OutputFile& file, int64_t start, const LocalPart& part);

/// Throws RunError unless the tensor `name` of this type can be filled from the array: equal shapes, or
/// shapes that come from each other by merging and splitting dimensions, as [768, 2304] from [768, 3, 12,
/// 64]; and values of a kind that the type holds.
void require_loadable(const StoredArray& array, const std::string& name, const TensorType& type);

/// Fills `part` of the tensor `name` from an array that require_loadable takes. Throws RunError.
void load_array(const StoredArray& array, const std::string& name, const LocalPart& part);

}  // namespace mtfc
