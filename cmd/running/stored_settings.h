#pragma once
// The settings (--set) with which a checkpoint was made. They hold for every command that continues from it or loads
// it, unless the user gives others; then the difference is said.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/options/model_options.h"
#include "formats/data/checkpoint_notes.h"

namespace mtfc {

struct StoredSettings {
  std::string checkpoint;  // its folder
  CheckpointNotes notes;
};

/// Returns the settings of the first of `paths` (as in --load) that is a checkpoint, a file of one, or a folder of
/// checkpoints. Returns nothing if there is none. Throws RunError if the folder or the file with the settings can't be
/// read, or if its contents are wrong: without the settings, the run would be another one.
std::optional<StoredSettings> stored_settings(const std::vector<std::string>& paths);

/// The settings of a run: those of a checkpoint, and those of the user, which count more.
std::vector<std::string> all_settings(const std::vector<std::string>& stored,
                                      const std::vector<std::string>& given);

/// Says on standard error which settings are taken from the checkpoint, and which params and dimensions now have
/// other values because the user set them. If the run `continues` from the checkpoint, other differences are said too,
/// and the precision.
void tell_settings(const StoredSettings& stored, const ModelOptions& given, const Program& program,
                   bool continues);

/// ` (the checkpoint was made with hidden=7, and now it is 11)` for the params and dimensions that differ, or "".
std::string differences_text(const std::map<std::string, double>& stored,
                             const std::map<std::string, double>& now);

}  // namespace mtfc
