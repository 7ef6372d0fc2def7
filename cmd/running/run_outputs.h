#pragma once
// The values that a run leaves behind: single numbers for people and metrics, whole tensors for --output.

#include <memory>
#include <string>
#include <vector>

#include "cmd/terminal/progress.h"
#include "core/program/program.h"
#include "runtime/data/feed.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// A tensor as the devices of this process hold it.
struct DistributedTensor {
  TensorType type;
  Sharding sharding;
  std::vector<LocalShard> shards;
};

/// A variable, or an output of the last run of `entry`.
DistributedTensor tensor_named(const std::string& name, const Executor& executor, const EntryPoint& entry);

/// The outputs of `entry` that are single numbers, as its last run left them. They are the same on every rank.
std::vector<NamedNumber> output_numbers(const Executor& executor, const EntryPoint& entry);

/// Writes tensors to files: variables, and outputs of the last run of `entry`. `outputs` has NAME=FILE.npy each, as
/// --output takes them. Every rank must call it. Throws RunError if a file can't be written.
void write_outputs(Executor& executor, const EntryPoint& entry, const std::vector<std::string>& outputs);

/// The same for an evaluation of several batches: an output with the dimension that rows lie along is written for all
/// rows, in their order, and a single number as its mean over the batches.
class EvaluationOutputs {
 public:
  /// All must outlive it.
  EvaluationOutputs(Executor& executor, const EntryPoint& entry, const std::vector<std::string>& outputs)
      : executor_(executor), entry_(entry), outputs_(outputs) {}

  /// Takes the outputs of a batch. Every rank must call it. Throws RunError if an output can't be put together from
  /// batches, or if a file can't be written.
  void add(const Feed& feed, int64_t batch);
  /// Completes the files; `means` are those that the evaluation has found.
  void finish(const std::vector<NamedNumber>& means);

 private:
  struct Written;  // one output
  void open(const Feed& feed, int64_t batches);

  Executor& executor_;
  const EntryPoint& entry_;
  const std::vector<std::string>& outputs_;
  std::vector<std::shared_ptr<Written>> written_;  // by position in outputs_; nullptr: not by batches
};

/// For a run that takes no step, which has the values of variables and nothing else: throws RunError if `outputs`
/// names another tensor.
void require_variables(const Program& program, const std::vector<std::string>& outputs);

}  // namespace mtfc
