#pragma once
// The folder that `run --checkpoint DIR` keeps its checkpoints in: DIR/step_00000100, each complete
// (runtime/data/checkpoint.h). The last is the one of the highest step.

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
/// Under which a file's metadata list the names of the optimizer's state.
inline constexpr const char* kStateKey = "optimizer_state";

std::string checkpoint_path(const std::string& folder, int64_t step);
/// Steps of the checkpoints in `folder`, ascending; none where there is no such folder.
std::vector<int64_t> checkpoint_steps(const std::string& folder);

/// The folder, taken by one run for as long as this lives: a second run is refused. For the rank that speaks.
class CheckpointFolder {
 public:
  /// Makes the folder where there is none, and removes what killed runs have left unfinished. Throws RunError
  /// where it can't be written to, and where another run has it.
  explicit CheckpointFolder(const std::string& path);

  /// The checkpoint to go on from, or "" where there is none yet. Throws UserError where there is one and
  /// `resume` is not asked for.
  std::string start(bool resume) const;

 private:
  std::string path_;
  UniqueFd descriptor_;
};

/// Saves what `executor` holds in the variables as the checkpoint of `notes.step`; then only the last `keep`
/// stay (0: all). All ranks call it. Throws RunError, on all ranks alike.
void save_checkpoint(Executor& executor, const std::string& folder, const CheckpointNotes& notes,
                     int64_t keep);

/// What a checkpoint holds, for a run that goes on from it.
struct Continuation {
  CheckpointNotes notes;
  std::vector<std::pair<size_t, StoredArray>> values;  // by position in Program::variables
};
/// Throws RunError unless `path` is a checkpoint of exactly the program's variables.
Continuation read_checkpoint(const Program& program, const std::string& path);

}  // namespace mtfc
