#pragma once
// Shared parts of the benchmark programs in this folder: a small model compiled and executed on one device,
// and medians of work that is timed in alternation.

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "core/compile/pipeline.h"
#include "core/program/program.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// A model on one device of this process, ready to run; its entry point is `train` if it has one.
class BenchRun {
 public:
  explicit BenchRun(const Model& model)
      : program_(compile(model, {}, {})),
        entry_(program_.find("train") ? *program_.find("train") : *program_.find("evaluate")),
        comm_(program_.mesh(), processes_),
        executor_(program_, comm_) {
    executor_.load(entry_);
  }
  void step() { executor_.run(entry_, step_++); }
  const EntryPoint& entry() const { return entry_; }
  /// A value of the last step.
  LocalShard output(size_t index) const { return executor_.shard(entry_, entry_.outputs[index].value, 0); }
  /// Every input and variable.
  std::vector<LocalShard> leaves() const {
    std::vector<LocalShard> shards;
    for (const Binding& input : entry_.inputs) shards.push_back(executor_.shard(entry_, input.value, 0));
    for (size_t v = 0; v < program_.variables.size(); ++v) shards.push_back(executor_.variable(v, 0));
    return shards;
  }

 private:
  Program program_;
  const EntryPoint& entry_;
  Processes processes_ = Processes::alone();
  LockstepComm comm_;
  Executor executor_;
  int64_t step_ = 0;
};

inline double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

/// Returns the median seconds of each of `runs`, timed in turn for `rounds` rounds after one that is not
/// counted.
inline std::vector<double> alternating_medians(int rounds, const std::vector<std::function<void()>>& runs) {
  std::vector<std::vector<double>> samples(runs.size());
  for (int round = -1; round < rounds; ++round)
    for (size_t i = 0; i < runs.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      runs[i]();
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (round >= 0) samples[i].push_back(seconds);
    }
  std::vector<double> medians;
  for (std::vector<double>& of_run : samples) medians.push_back(median(std::move(of_run)));
  return medians;
}

}  // namespace mtfc
