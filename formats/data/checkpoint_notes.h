#pragma once
// The small JSON file beside the tensors of a checkpoint, which records how far the run had come.
//
//   {"mtfc_checkpoint": 1, "model": "char_lm", "step": 100, "seed": 0, "rows": 1600, "set": {"layers": "2"},
//    "dtype": "bf16", "names": {"batch": 16, "layers": 2},
//    "files": {"tokens": {"file": "corpus.txt", "bytes": 1115394, "hash": "0123456789abcdef"}},
//    "checksum": "fedcba9876543210"}

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/tensors/data.h"

namespace mtfc {

struct CheckpointNotes {
  std::string model;  // the model's name
  int64_t step = 0;   // training steps done
  uint64_t seed = 0;
  int64_t rows = 0;                              // rows of the iterated data taken so far
  std::vector<std::string> sets = {};            // NAME=VALUE, as --set takes them; none in old checkpoints
  std::optional<std::string> dtype = {};         // of --dtype; nothing if the model's own was used
  std::map<std::string, double> names = {};      // the values of all params and dims of the model
  std::map<std::string, FileSample> files = {};  // by input: the files of the data; none in old checkpoints
};

std::string checkpoint_json(const CheckpointNotes& notes);

/// Reads a file written with checkpoint_json, also one of an earlier mtfc, which has no checksum. Throws RunError, with
/// the name of the file, if it can't be read, is another kind of file, or differs from its checksum.
CheckpointNotes read_checkpoint_notes(const std::string& path);

/// Converts a list of names to a text, for the metadata of a file of tensors, and back; any other text gives
/// no names.
std::string names_json(const std::vector<std::string>& names);
std::vector<std::string> names_in_json(const std::string& text);

}  // namespace mtfc
