#pragma once
// `mtfc predict`: an evaluation that writes, for each row of the data, the row of tensors that the model computes from
// it. The last batch is filled up, and the rows that fill it up are not written.

#include <memory>
#include <string>
#include <vector>

#include "cmd/running/run_options.h"
#include "cmd/running/run_outputs.h"
#include "core/model/model.h"
#include "core/program/program.h"
#include "runtime/data/agreed_file.h"
#include "runtime/data/feed.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// Returns whether the file is CSV, and not an array of NumPy.
bool is_csv(const Prediction& prediction);

/// The model with the outputs that are predicted: those that have rows, or, if the prediction names tensors, none,
/// since CompileOptions::keep then has them. Throws UserError if no output has rows.
Model for_prediction(Model model, const Prediction& prediction);

/// The names of the tensors that are predicted by a program that was compiled for it, or by a saved one.
std::vector<std::string> predicted_tensors(const EntryPoint& entry, const Prediction& prediction);

/// Throws UserError if a tensor has no rows, or if the file can't hold all of them.
void require_predictable(const EntryPoint& entry, const Prediction& prediction);

/// `the prediction does not depend on the input 'labels'`, a line for each input that is given in vain (`given`: the
/// values of --input); "" if there is none.
std::string needless_inputs(const EntryPoint& entry, const std::vector<std::string>& given);

/// Takes batch after batch. Every rank calls every function alike.
class PredictionFile {
 public:
  /// `executor` and `entry` must outlive it.
  PredictionFile(Executor& executor, const EntryPoint& entry, const Prediction& prediction);

  /// Throws RunError if the file can't be written, or if a tensor has no row for each row of the batch.
  void add(const Feed& feed, int64_t batch);
  void finish();

 private:
  void add_lines(const Feed& feed, int64_t batch);

  Executor& executor_;
  const EntryPoint& entry_;
  std::string path_;
  bool is_csv_;
  std::vector<std::string> names_;
  std::vector<std::string> outputs_;  // of an array: NAME=FILE
  EvaluationOutputs arrays_;
  std::unique_ptr<AgreedFile> table_;
};

}  // namespace mtfc
