#pragma once
// Records every value of an entry point as a run makes it, put together from the shards of all devices, for
// `mtfc verify`.
//
// Buffers are reused within a step, so values are copied as soon as they are made. A recording holds all of them
// in full: it is for models that fit into one process several times over.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/program/program.h"
#include "runtime/execute/counterparts.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/whole_value.h"

namespace mtfc {

/// A value as it was made once.
struct Record : Assembled {
  size_t number = 0;  // of records that were made before it
};

/// One run of an entry point, with all devices in this process.
struct Recording {
  const EntryPoint* entry = nullptr;
  int64_t step = 0;
  /// Each value as often as it was made, in this order. Inputs, variables and caches begin with what they held
  /// before the run. A value that has no place in memory has no records.
  PerValue<std::vector<Record>> values;
  std::map<std::string, Assembled> outputs;  // by the name of their binding, at the end
  // The variables of the program, before and after.
  std::vector<Assembled> old_variables, variables;
};

/// The outputs of the last run of `entry`, by the names of their bindings, and the variables as they are now.
std::map<std::string, Assembled> outputs_of(Executor& executor, const EntryPoint& entry);
std::vector<Assembled> variables_of(Executor& executor);
/// The inputs of `entry` as they are before a run.
std::map<std::string, Assembled> inputs_of(Executor& executor, const EntryPoint& entry);

/// Records what `executor` runs. One at a time may exist for an executor.
class Recorder {
 public:
  explicit Recorder(Executor& executor);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  /// Runs `entry` at training step `step`. Its inputs have been filled.
  Recording run(const EntryPoint& entry, int64_t step);

 private:
  void record(const Step& step);
  void record(ValueId id);

  Executor& executor_;
  PerValue<bool> leaves_;
  PerValue<std::vector<ValueId>> aliases_;
  Recording recording_;
  size_t made_ = 0;  // records
};

}  // namespace mtfc
