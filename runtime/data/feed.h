#pragma once
// Fills the inputs of an entry point before each run: every device the slices it owns, and nothing else.
//
// A source of the input's own shape is fed every time. One with more rows is iterated over: in training, row
// i of step s is at position p = s*batch + i, and is row `permutation(seed, p div n)[p mod n]` of the n
// stored ones, the same for all inputs of equal n; in evaluation rows come in order. Of tokens, the rows are
// windows of the size of one row of the input, and inputs over one text share their starts. In training one
// begins at every token. In evaluation the windows with the largest shift, the targets, follow each other
// without overlap, so that each token is predicted once. For windows of 3 tokens, and of 2 shifted by 3, in
// "abcdefgh": training has abc+de, bcd+ef, cde+fg and def+gh, evaluation abc+de and cde+fg. Random sources
// depend on the seed, the step, the input's name and the global position of an element. So every layout sees
// the same data.
// An evaluation goes in whole batches and leaves the rest out, unless an input is fed with which rows are
// present (PresentRows): then a last batch is filled up with rows from the beginning, which that input marks.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/program/program.h"
#include "core/tensors/data.h"
#include "core/tensors/relayout.h"
#include "runtime/data/row_order.h"
#include "runtime/execute/executor.h"

namespace mtfc {

class Feed {
 public:
  /// Throws UserError for an input of `entry` without data, RunError for data that does not fit, and for two
  /// sources to iterate over that differ in length. `executor` must outlive it.
  Feed(const Executor& executor, const EntryPoint& entry, std::vector<InputData> data, uint64_t seed);

  /// Training goes on at step `step`, before which `rows` rows were taken: those that follow come next, also
  /// where the batch was of another size.
  void go_on(int64_t step, int64_t rows);
  /// Rows that training takes before step `step`.
  int64_t rows_before(int64_t step) const;

  /// The inputs of training step `step`, counted from 0.
  void fill_training(int64_t step);
  /// The inputs of batch `batch` of an evaluation.
  void fill_evaluation(int64_t batch);
  /// Whole batches in the shortest finite source, with PresentRows also the one that is filled up; nothing
  /// where all are endless.
  std::optional<int64_t> evaluation_batches() const;
  /// Rows of the longest source that evaluation_batches() batches leave out.
  int64_t rows_left_out() const;
  /// How many rows of a batch of an evaluation are none that fill it up.
  int64_t rows_present(int64_t batch) const;
  /// Rows of a batch: the size of the first dimension of the inputs that are iterated over, or 1.
  int64_t batch() const;

 private:
  struct Slice {  // of one device
    LocalPart part;
    std::vector<Run>
        runs;  // of one row, or of everything; from the stored or global positions to the local ones
  };
  struct Walk {
    int64_t rows = 0;    // to iterate over; 0: the same or random every time
    int64_t stride = 1;  // elements from the start of one row to that of the next
  };
  struct Source {
    InputData data;
    TensorType type;
    std::vector<Slice> slices;
    int64_t first = 0;  // the stored element that the first row begins with
    Walk training, evaluation;
    int64_t batch() const { return type.dims.empty() ? 1 : type.dims[0].size; }
    int64_t window() const { return type.dims.empty() ? 1 : elements(type.dims) / batch(); }
    const StoredArray* array() const;
  };
  void add(const Executor& executor, const EntryPoint& entry, const Binding& binding, InputData data);
  static void place_array(Source& source);
  void place_windows(Source& source) const;
  void require_equal_lengths() const;
  void require_rows_to_mark() const;
  bool fills_up() const;
  void fill(const Source& source, int64_t step, bool training);
  int64_t position(const Source& source, int64_t step) const;
  int64_t row_at(const Source& source, int64_t position);
  void fill_rows(const Source& source, const Slice& slice, int64_t step, bool training);

  uint64_t seed_;
  RowOrder order_;
  int64_t first_step_ = 0;
  int64_t first_row_ = 0;  // of that step, in rows of batch() a step
  std::vector<Source> sources_;
};

}  // namespace mtfc
