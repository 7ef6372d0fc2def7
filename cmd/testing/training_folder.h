#pragma once
// A folder with a small model that trains, and its data, for tests of runs and their checkpoints.
//
//   const TrainingFolder folder;
//   CHECK(folder.said("$RUN --steps 3 --checkpoint ck") == "exit 0: ");

#include <string>
#include <vector>

#include "core/tensors/data.h"
#include "core/testing/scratch_folder.h"

namespace mtfc {

/// The text of model.json. Sizes are prime, so that shards are uneven, and empty if 3 devices split the 2 heads. The
/// model has everything that a step may depend on: dropout, data in an order of their own, bias correction, a schedule,
/// a counter of another type.
extern const char* const kTrainingModel;

/// Options of `run` for meshes and layouts of all kinds.
extern const std::vector<std::string> kTrainingMeshes;

struct TrainingFolder : ScratchFolder {
  TrainingFolder();
  /// Returns `exit N: ` and the standard error of the shell's `command`; $MTFC is the program, and $RUN runs the model
  /// quietly.
  std::string said(const std::string& command) const;
  /// The names of all files in a folder, sorted.
  std::vector<std::string> names(const std::string& folder) const;
  /// The bytes of the file of tensors of a checkpoint.
  std::string weights(const std::string& checkpoint) const;
};

/// The bytes of an array's elements.
std::string elements_of(const StoredArray& array);

/// The text that said() returns for a run that fails with this message (refusal) or for a wrong option (mistake).
std::string refusal(const std::string& text);
std::string mistake(const std::string& text);

}  // namespace mtfc
