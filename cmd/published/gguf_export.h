#pragma once
// A model as one .gguf file for llama.cpp. The key "gguf" in the "import" of its family says how:
//
//   "gguf": {
//     "architecture": "llama",                           what llama.cpp calls the family
//     "keys": {"block_count": "layers", "rope.freq_base": {"f32": "rope_base"}},   ARCHITECTURE.KEY and its param
//     "only": {"window": 0},                             values of params that llama.cpp knows no others of
//     "pairs": ["blk.*.attn_q.weight"],                  tensors whose rotated halves it has as neighbours
//     "names": ["token_embd.weight = model/embedding/table"]   as the "weights" of a model
//   }

#include <string>
#include <vector>

#include "cmd/published/exported_files.h"
#include "formats/import/config_writer.h"

namespace mtfc {

/// A model, and the form in which it is written.
struct GgufModel {
  const ConfigSource& source;
  const std::vector<VariableDecl>& variables;
  const std::vector<std::string>& merged;
  std::string tokenizer;  // the path of tokenizer.json; "" for none
};

/// The file. Throws UserError for a model that llama.cpp does not know.
ExportedFile gguf_file(const GgufModel& model, ExportType type, const std::string& path);

}  // namespace mtfc
