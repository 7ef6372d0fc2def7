#pragma once
// The options of whoever leaves a model behind as published ones come.

#include <cstdint>
#include <string>

namespace mtfc {

class CommandLine;

struct ExportOptions {
  std::string target;     // a folder, or a file that ends in .gguf; "": nothing is exported
  std::string dtype;      // of the weights; "": that of the model's config.json
  std::string tokenizer;  // a folder or file; "": that beside the model's config.json, if there is one
  int64_t shard_bytes = 5'000'000'000;  // of a file of weights, at most, if its tensors are not larger
};

/// `flag` names the target, as in "-o".
void add_export_options(CommandLine& line, const std::string& flag, ExportOptions& options);
/// Throws UserError for options that name no target, and for a target that can't be one.
void check(const ExportOptions& options, const std::string& flag);

}  // namespace mtfc
