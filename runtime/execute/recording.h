#pragma once
// Every tensor of a model as a run makes it, step by step, and the comparison of two such runs: for `mtfc
// verify`.
//
// Buffers are used again within a step, so tensors are copied when they are made. A recording holds all
// tensors of the runs it saw, whole: it is for models that fit into one process several times over.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/program/program.h"
#include "runtime/execute/executor.h"

namespace mtfc {

struct RecordedTensor {
  std::string entry;
  int64_t step = 0;
  std::string name;
  std::string operation;  // that makes it, or "variable"
  std::string source;     // JSON pointer of the operation, or ""
  TensorType type;
  std::vector<double> values;       // row-major
  double largest_operand = 0;       // the largest magnitude that went into it
  std::optional<size_t> torn = {};  // an element of which devices that should agree hold different bits
};

/// Records the tensors of the model that `executor` makes (all devices in this process), while it lives.
class Recorder {
 public:
  explicit Recorder(Executor& executor);
  /// Runs `entry` at `step`, then records the variables too, under their names with `new `.
  void run(const EntryPoint& entry, int64_t step);
  const std::vector<RecordedTensor>& tensors() const { return tensors_; }

 private:
  void record(const EntryPoint& entry, const Step& step);
  RecordedTensor assembled(const std::string& name, const TensorType& type,
                           const std::vector<LocalPart>& parts) const;

  Executor& executor_;
  int64_t step_ = 0;
  // Of each value of the entry point that runs: its magnitude, and that of what went into it.
  std::map<ValueId, double> largest_, operands_;
  std::vector<RecordedTensor> tensors_;
};

struct Difference {
  const RecordedTensor* tensor = nullptr;  // of the run that is judged
  size_t element = 0;
  double expected = 0;
  double found = 0;
  double allowed = 0;
};

struct Comparison {
  size_t tensors = 0;               // compared
  std::optional<Difference> first;  // in the order in which the judged run makes its tensors
  double largest = 0;               // relative difference of any tensor, and
  std::string where;                // its name
  size_t nans = 0;                  // elements that are NaN in both, which says nothing, and
  std::string nan_where;            // the first tensor that has one
};

/// Compares what both recordings have. Integers and bools must be equal; floats may differ by `tolerance` (0:
/// 1e-4 for f32, 1e-9 for f64) times the largest element of the tensor, plus a hundredth of that of what went
/// into it: sums in another order differ by rounding of their terms, which is all there is where they cancel.
/// What a loop makes in every round is compared round by round, and its last value with the last one.
Comparison compare(const std::vector<RecordedTensor>& expected, const std::vector<RecordedTensor>& found,
                   double tolerance);

}  // namespace mtfc
