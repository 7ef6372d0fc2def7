#pragma once
// The options of `mtfc run`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/launch/execution.h"
#include "cmd/options/model_options.h"
#include "cmd/running/input_data.h"

namespace mtfc {

struct RunOptions : ExecutionOptions {
  int64_t steps = 1;
  bool steps_given = false;
  bool evaluate = false;
  std::vector<std::string> inputs;  // NAME=SPEC
  std::vector<std::string> valid;   // NAME=SPEC
  int64_t valid_every = 0;          // 0: at the end only
  uint64_t seed = 0;
  bool seed_given = false;
  std::vector<std::string> loads;  // NAME=FILE.npy, FILE.safetensors or a folder of checkpoints
  std::vector<std::string> maps;   // FROM=TO, or files of such lines
  std::string checkpoint;          // folder
  int64_t every = 0;               // 0: at the end only
  int64_t keep = 0;                // 0: all
  bool resume = false;
  std::vector<std::string> outputs;  // NAME=FILE.npy
  std::string metrics;
  std::string report;
  std::string hardware;  // profile for the report's predicted times; "": none
  std::string trace;
  int64_t trace_steps = 20;
  bool check_finite = false;
  int64_t memory_limit = 0;  // bytes per device; 0: none
};

/// Throws UserError for options that contradict each other, or if one would be ignored.
void check(const RunOptions& options);

}  // namespace mtfc
