#pragma once
// The .safetensors files of other projects and of mtfc's checkpoints: tensors by name, row-major.
//
//   8 bytes   length of the header, little-endian
//   header    {"__metadata__": {"k": "v"}, "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//   elements  one tensor after the other, without a gap; offsets count from here
//
// https://huggingface.co/docs/safetensors. A header has 100 MB at most.

#include <map>
#include <string>
#include <vector>

#include "core/tensors/data.h"
#include "core/tensors/shape.h"

namespace mtfc {

struct Safetensors {
  std::string file;
  std::map<std::string, StoredArray> tensors;
  std::map<std::string, std::string> metadata;
};

/// Maps `path` and finds its tensors; of the file only the header is looked at. Throws UnreadableFile where
/// it can't be opened, and RunError, with the file's name, where it is no such file, breaks a rule of the
/// format or is longer or shorter than its header says.
Safetensors read_safetensors(const std::string& path);

/// What precedes the elements of a file, and where each tensor's elements go.
struct SafetensorsPlan {
  std::string header;               // its length included
  std::vector<TensorPlace> places;  // in the order of the file; offsets count from its beginning
  int64_t file_bytes = 0;
};

/// Places `tensors` (their offsets are ignored) so that each is aligned to its elements: the largest elements
/// first, then by name.
SafetensorsPlan plan_safetensors(std::vector<TensorPlace> tensors,
                                 const std::map<std::string, std::string>& metadata);

}  // namespace mtfc
