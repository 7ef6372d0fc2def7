#pragma once
// The options of `mtfc run`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/launch/execution.h"
#include "cmd/options/model_options.h"
#include "cmd/published/export_options.h"
#include "cmd/running/input_data.h"

namespace mtfc {

/// The data that the model is fed with.
struct DataOptions {
  std::vector<std::string> inputs;       // NAME=SPEC
  std::vector<std::string> valid;        // NAME=SPEC
  int64_t valid_every = 0;               // 0: at the end only
  std::optional<std::string> tokenizer;  // of texts whose source names none
};

/// The values that variables begin with, if not with their initial ones.
struct WeightOptions {
  std::vector<std::string> loads;  // NAME=FILE.npy, FILE.safetensors or a folder of checkpoints
  std::vector<std::string> maps;   // FROM=TO, or files of such lines
  bool partly = false;             // variables may be missing in the files, and tensors in the model
};

struct CheckpointOptions {
  std::string checkpoint;  // folder; "": none
  int64_t every = 0;       // 0: at the end only
  int64_t keep = 0;        // 0: all
  int64_t grace = 1;       // seconds that a step may take to end after a signal
  bool resume = false;
};

/// The file of `mtfc predict`.
struct Prediction {
  std::string file = "-";
  std::string format = "";           // csv or npy; "": that of the file's name
  std::vector<std::string> tensors;  // that it has; empty: the model's outputs that have rows
};

/// The files that a run writes beside checkpoints; "" stands for none.
struct RunFileOptions {
  std::vector<std::string> outputs;  // NAME=FILE.npy
  std::optional<Prediction> prediction;
  ExportOptions exports;
  std::string metrics;
  std::string tensorboard;  // folder
  std::string report;
  std::string command;  // as a shell reads it, for the report
  // Profile that plans are chosen for, for the report's predicted times, and whose peak rates the MFU is of; "": none,
  // and the MFU is of rates that the run measures
  std::string hardware;
  std::string trace;
  int64_t trace_steps = 20;
  bool trace_steps_given = false;
};

struct RunOptions : ExecutionOptions, DataOptions, WeightOptions, CheckpointOptions, RunFileOptions {
  int64_t steps = 1;
  bool steps_given = false;
  bool evaluate = false;
  uint64_t seed = 0;
  bool seed_given = false;
  bool check_finite = false;
  bool nan_ok = false;
  int64_t memory_limit = 0;   // bytes per device; 0: none
  int64_t reshard_limit = 0;  // likewise
};

/// Throws UserError for options that contradict each other, or if one would be ignored.
void check(const RunOptions& options);
/// Throws UserError if the run would write to a file among `read`.
void require_unread(const RunFileOptions& options, const std::vector<std::string>& read);

}  // namespace mtfc
