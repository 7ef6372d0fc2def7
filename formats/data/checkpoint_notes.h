#pragma once
// The small JSON file beside the tensors of a checkpoint: where the run stood.
//
//   {"mtfc_checkpoint": 1, "model": "char_lm", "step": 100, "seed": 0, "rows": 1600}

#include <cstdint>
#include <string>
#include <vector>

namespace mtfc {

struct CheckpointNotes {
  std::string model;  // its name
  int64_t step = 0;   // training steps done
  uint64_t seed = 0;
  int64_t rows = 0;  // of the data to iterate over, taken so far
};

std::string checkpoint_json(const CheckpointNotes& notes);

/// Reads what checkpoint_json wrote. Throws RunError, with the name of the file, where it can't be read or is
/// no such file.
CheckpointNotes read_checkpoint_notes(const std::string& path);

/// A list of names as a text, for the metadata of a file of tensors, and back; empty for another text.
std::string names_json(const std::vector<std::string>& names);
std::vector<std::string> names_in_json(const std::string& text);

}  // namespace mtfc
