#pragma once
// The .safetensors files of other projects and of mtfc's checkpoints: tensors by name, row-major.
//
//   8 bytes   length of the header, little-endian
//   header    {"__metadata__": {"k": "v"}, "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//   elements  one tensor after another, without gaps; offsets count from here
//
// An index names the files that large models are cut into: {"weight_map": {"w": "model-00001-of-00002.safetensors"}}
//
// https://huggingface.co/docs/safetensors. A header has at most 100 MB.

#include <map>
#include <string>
#include <vector>

#include "core/tensors/data.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// The metadata key for the checksums of the tensors: a text in JSON, {"w": "0123456789abcdef", …}.
inline constexpr const char* kChecksumsKey = "checksums";

/// Says what is wrong with the name of a variable, which no file could hold; "" if nothing is.
std::string name_problem(const std::string& variable);

struct Safetensors {
  std::string file;
  std::map<std::string, StoredArray> tensors;
  std::map<std::string, std::string> metadata;
  std::map<std::string, std::string>
      unreadable;  // tensors of other types, with the reason why they can't be read
};

/// Checksums by name as the text under kChecksumsKey. Its length depends on the names alone.
std::string checksums_json(const std::map<std::string, uint64_t>& checksums);

/// Maps `path` and finds its tensors; only the header is read. Throws UnreadableFile if it can't be opened,
/// and RunError, with the file's name, if it is not such a file, breaks a rule of the format, or is longer or
/// shorter than its header says.
Safetensors read_safetensors(const std::string& path);

/// The files of tensors that `path` names: itself, or those of an index such as model.safetensors.index.json, which
/// lists the parts of large models, in its folder. Throws UnreadableFile, and RunError for any other JSON file, and for
/// an index that names a file outside of its folder.
std::vector<std::string> safetensors_files(const std::string& path);

/// The bytes before the elements of a file, and the offset of each tensor's elements.
struct SafetensorsPlan {
  std::string header;               // including its length
  std::vector<TensorPlace> places;  // in the order of the file; offsets count from its beginning
  int64_t file_bytes = 0;
};

/// Places `tensors` (their offsets are ignored) so that each is aligned to its element size: the largest
/// elements first, then by name.
SafetensorsPlan plan_safetensors(std::vector<TensorPlace> tensors,
                                 const std::map<std::string, std::string>& metadata);

}  // namespace mtfc
