#pragma once
// A checkpoint: a folder that appears with all its files or not at all (runtime/data/new_folder.h). All ranks write it
// together: rank 0 makes it; every rank writes its slices into the file of tensors.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/tensors/data.h"
#include "core/tensors/sharding.h"
#include "runtime/comm/comm.h"
#include "runtime/execute/executor.h"

namespace mtfc {

struct SavedTensor {
  int64_t offset = 0;              // in bytes, in the file of tensors
  Sharding sharding;               // nothing partial
  std::vector<LocalShard> shards;  // one per device of this process
};

struct NewCheckpoint {
  std::string folder;        // its final name; no such folder may exist
  std::string tensors_name;  // name of the file of tensors
  // Returns the beginning of that file for these checksums of `tensors`, of the same length for all.
  std::function<std::string(const std::vector<uint64_t>& checksums)> header;
  int64_t bytes = 0;  // the length of that file
  std::vector<SavedTensor> tensors;
  std::string notes_name;  // name of a second file
  std::string notes;
};

/// Writes the checkpoint; all ranks call it. On failure nothing is left of it, and all ranks throw the same
/// RunError with the system's reason.
void write_checkpoint(Comm& comm, const NewCheckpoint& checkpoint);

/// Removes the checkpoint `folder`, which ceases to be a checkpoint at once. Returns false, with errno set,
/// if that fails.
bool remove_checkpoint(const std::string& folder);

}  // namespace mtfc
