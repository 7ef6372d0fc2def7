#pragma once
// Records every tensor of a model as a run makes it, step by step, and compares two such recordings, for
// `mtfc verify`.
//
// Buffers are reused within a step, so tensors are copied as soon as they are made. A recording holds all
// tensors of its runs in full: it is for models that fit into one process several times over.

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
  std::string operation;  // the kind of operation that makes it, or "variable"
  std::string source;     // JSON pointer of the operation, or ""
  TensorType type;
  std::vector<double> values;       // row-major
  double largest_operand = 0;       // the largest magnitude among its operands
  std::optional<size_t> torn = {};  // an element on which devices that should agree hold different bits
};

/// Records the model's tensors that `executor` makes (all devices in this process) during its lifetime.
class Recorder {
 public:
  explicit Recorder(Executor& executor);
  /// Runs `entry` at `step`, then records the variables too, with `new ` before their names.
  void run(const EntryPoint& entry, int64_t step);
  const std::vector<RecordedTensor>& tensors() const { return tensors_; }

 private:
  void record(const EntryPoint& entry, const Step& step);
  RecordedTensor assembled(const std::string& name, const TensorType& type,
                           const std::vector<LocalShard>& shards) const;

  Executor& executor_;
  int64_t step_ = 0;
  // For each value of the running entry point: its largest magnitude, and that of its operands.
  std::map<ValueId, double> largest_, operands_;
  std::vector<RecordedTensor> tensors_;
};

struct Difference {
  const RecordedTensor* tensor = nullptr;  // in the run under test
  size_t element = 0;
  double expected = 0;
  double found = 0;
  double allowed = 0;
};

struct Comparison {
  size_t tensors = 0;               // number compared
  std::optional<Difference> first;  // in the order in which the run under test makes its tensors
  double largest = 0;               // largest relative difference of any tensor, and
  std::string where;                // the name of that tensor
  size_t nans = 0;                  // elements that are NaN in both runs, which proves nothing, and
  std::string nan_where;            // the first tensor that has one
};

/// Compares the tensors that both recordings have. Integers and bools must be equal; floats may differ by
/// `tolerance` (0: 1e-4 for f32, 1e-9 for f64) times the largest element of the tensor, plus a hundredth of
/// that for its largest operand: sums in another order differ by the rounding of their terms, which is all
/// that is left if the terms cancel. Tensors made in every iteration of a loop are compared iteration by
/// iteration, and the last value with the last one.
Comparison compare(const std::vector<RecordedTensor>& expected, const std::vector<RecordedTensor>& found,
                   double tolerance);

}  // namespace mtfc
