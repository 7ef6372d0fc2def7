#pragma once
// The folder of `run --checkpoint DIR`: each DIR/step_00000100 is a complete checkpoint
// (runtime/data/checkpoint.h). The last one has the highest step.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/program/program.h"
#include "core/tensors/data.h"
#include "formats/data/checkpoint_notes.h"
#include "runtime/execute/executor.h"
#include "runtime/processes/unique_fd.h"

namespace mtfc {

inline constexpr const char* kTensorsName = "variables.safetensors";
inline constexpr const char* kNotesName = "checkpoint.json";
/// The metadata key that lists the names of the optimizer's state.
inline constexpr const char* kStateKey = "optimizer_state";

std::string checkpoint_path(const std::string& folder, int64_t step);
/// The steps of the checkpoints in `folder`, ascending; empty if there is no such folder. A folder that lacks one of a
/// checkpoint's files is none. Throws RunError if the folder can't be read.
std::vector<int64_t> checkpoint_steps(const std::string& folder);
/// Says on standard error which folders in `folder` have the name of a checkpoint but lack a file.
void warn_of_incomplete(const std::string& folder);
/// For errors about the damaged file `path`: ` (remove or rename 'ck/step_00000004' to continue from
/// 'ck/step_00000003')`, or "" if the file is of no checkpoint or there is none before it.
std::string earlier_checkpoint_text(const std::string& path);

/// Returns what stands in the checkpoint.json of a checkpoint, whose folder this is. Throws RunError if it can't be
/// read or is damaged.
CheckpointNotes notes_of(const std::string& checkpoint);

/// The checkpoint in `folder` that a run continues from, or "" if there is none yet. Throws UserError if there is one
/// but `resume` is false, and if `folder` is a checkpoint itself.
std::string checkpoint_start(const std::string& folder, bool resume);

/// Locks the folder for one run during its lifetime: a second run is refused. Used by rank 0.
class CheckpointFolder {
 public:
  /// Makes the folder if it does not exist, and removes the unfinished checkpoints of killed runs. Throws UserError if
  /// it is a checkpoint itself, and RunError if it can't be written to, or if another run has locked it.
  explicit CheckpointFolder(const std::string& path);

 private:
  UniqueFd descriptor_;
};

/// Saves the variables in `executor` as the checkpoint of `notes.step` and then keeps only the last `keep`
/// checkpoints (0: all). All ranks call it. Throws RunError, on all ranks alike.
void save_checkpoint(Executor& executor, const std::string& folder, const CheckpointNotes& notes,
                     int64_t keep);

/// The contents of a checkpoint, for a run that continues from it.
struct Continuation {
  CheckpointNotes notes;
  std::vector<std::pair<size_t, StoredArray>> values;  // by position in Program::variables
};
/// Throws RunError unless `path` is a checkpoint of exactly the program's variables.
Continuation read_checkpoint(const Program& program, const std::string& path);

}  // namespace mtfc
