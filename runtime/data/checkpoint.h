#pragma once
// A checkpoint: a folder that appears with all its files or not at all, written by all ranks together.
//
//   DIR/step_00000100.part/    made by rank 0; every rank writes its slices into the file of tensors
//   DIR/step_00000100/         renamed once all is on disk
//
// What a killed run leaves ends in kUnfinished and is nobody's.

#include <string>
#include <vector>

#include "core/tensors/data.h"
#include "core/tensors/sharding.h"
#include "runtime/comm/comm.h"
#include "runtime/execute/executor.h"

namespace mtfc {

inline constexpr const char* kUnfinished = ".part";

struct SavedTensor {
  int64_t offset = 0;            // in the file of tensors
  Sharding sharding;             // nothing partial
  std::vector<LocalPart> parts;  // one per device of this process
};

struct NewCheckpoint {
  std::string folder;        // as it will be called; there must be none of that name
  std::string tensors_name;  // of the file of tensors
  std::string header;        // what it begins with
  int64_t bytes = 0;         // its length
  std::vector<SavedTensor> tensors;
  std::string notes_name;  // of a second file, and what it holds
  std::string notes;
};

/// Writes the checkpoint; all ranks call it. Throws RunError, on all ranks alike, with the system's reason;
/// nothing is left of the checkpoint then.
void write_checkpoint(Comm& comm, const NewCheckpoint& checkpoint);

/// Removes the checkpoint `folder`, which is no checkpoint any more from the first moment on. False, with
/// errno, where that fails.
bool remove_checkpoint(const std::string& folder);

}  // namespace mtfc
