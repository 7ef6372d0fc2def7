#pragma once
// Fills the inputs of an entry point before each run; every device fills only the slices it owns.
//
// A source of the input's own shape is fed every time, unless another source is iterated over along the
// same first dimension: then its rows are those of a single batch, and must be as many. One with more rows
// is iterated over: in training, row i of step s has position p = s*batch + i and is row
// `permutation(seed, p div n)[p mod n]` of the n stored ones, the same for all inputs of equal n; in
// evaluation, rows come in order. For tokens, rows are windows as long as one row of the input, and inputs
// over the same text share the starts of their windows. In training, a window begins at every token. In
// evaluation, the windows with the largest shift, the targets, follow each other without overlap, so each
// token is predicted once. Example: for windows of 3 tokens and windows of 2 shifted by 3 in "abcdefgh",
// training has abc+de, bcd+ef, cde+fg and def+gh, evaluation abc+de and cde+fg. Random sources depend on
// the seed, the step, the input's name and the global position of an element. Every layout therefore sees
// the same data.
// An evaluation runs whole batches and omits the remaining rows, unless an input says which rows are present
// (PresentRows): then the last batch is padded with rows from the beginning, and that input marks the
// padding. It is padded likewise for whoever asks for it and leaves out the padding (`fills_up`).

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
  /// Throws UserError if an input of `entry` has no data, and RunError if data does not fit or two sources
  /// that are iterated over differ in length. `executor` must outlive it. With `fills_up`, an evaluation takes all rows
  /// although no input marks those that are present, and there may be fewer of them than a batch has.
  Feed(const Executor& executor, const EntryPoint& entry, std::vector<InputData> data, uint64_t seed,
       bool fills_up = false);

  /// Continues training at step `step`, before which `rows` rows have been taken: the following ones come
  /// next, even if the batch had another size.
  void go_on(int64_t step, int64_t rows);
  /// The number of rows that training takes before step `step`. Throws AgreedError if it exceeds kMostCounted.
  int64_t rows_before(int64_t step) const;

  /// Fills the inputs of training step `step`, counted from 0. Throws AgreedError if training has then taken more than
  /// kMostCounted rows.
  void fill_training(int64_t step);
  /// Fills the inputs of batch `batch` of an evaluation.
  void fill_evaluation(int64_t batch);
  /// Says where the row of this input came from in training step or batch `step`: ` (row 137 of labels.npy)`, counted
  /// from 0, or ` (in the row from token 512 of corpus.txt on)`; "" if it is from no file.
  std::string origin(const std::string& input, int64_t row, int64_t step, bool training);
  /// The number of whole batches in the shortest finite source, with PresentRows including the padded one;
  /// nullopt if all sources are endless.
  std::optional<int64_t> evaluation_batches() const;
  /// Throws RunError if a source has too few rows for one batch of an evaluation.
  void require_whole_batch() const;
  /// The number of rows of the finite sources, which are all equally long; nullopt if all sources are endless, as those
  /// are that have no more rows than a batch.
  std::optional<int64_t> evaluation_rows() const;
  /// The number of rows of the longest source that evaluation_batches() batches omit.
  int64_t rows_left_out() const;
  /// The number of rows in a batch of an evaluation that are not padding.
  int64_t rows_present(int64_t batch) const;
  /// The name of the dimension that the rows of a batch lie along, of size batch(); "" if nothing is iterated over.
  std::string row_dim() const;
  /// The number of rows that training takes in turn; 0 if every step has the same or random data.
  int64_t epoch_rows() const;
  /// Rows per batch: the size of the first dimension of the inputs that are iterated over, or 1.
  int64_t batch() const;

 private:
  struct Slice {  // the shard of one device
    LocalShard shard;
    std::vector<Run> runs;  // for one row, or for everything; from stored or global positions to local ones
  };
  struct Walk {
    int64_t rows = 0;    // rows to iterate over; 0: the same or random data every time
    int64_t stride = 1;  // elements from the start of one row to that of the next
  };
  struct Source {
    InputData data;
    TensorType type;
    std::vector<Slice> slices;
    int64_t first = 0;  // the stored element at which the first row begins
    Walk training, evaluation;
    int64_t batch() const { return type.dims.empty() ? 1 : type.dims[0].size; }
    int64_t window() const { return type.dims.empty() ? 1 : elements(type.dims) / batch(); }
    const StoredArray* array() const;
  };
  void add(const Executor& executor, const EntryPoint& entry, const Binding& binding, InputData data);
  void place_array(Source& source) const;
  void place_windows(Source& source) const;
  void pair_single_batches();
  static void place_slices(Source& source);
  void require_equal_lengths() const;
  void require_rows_to_mark() const;
  bool fills_up() const;
  void fill(const Source& source, int64_t step, bool training);
  int64_t position(const Source& source, int64_t step) const;
  int64_t rows_after(int64_t before, int64_t batch, int64_t step) const;
  int64_t row_at(const Source& source, int64_t position);
  void fill_rows(const Source& source, const Slice& slice, int64_t step, bool training);

  const Program* program_;
  uint64_t seed_;
  bool fills_up_;
  RowOrder order_;
  int64_t first_step_ = 0;
  int64_t first_row_ = 0;  // first row of that step, counted with batch() rows per step
  std::vector<Source> sources_;
};

/// Runs `entry` with the inputs that `feed` has filled for training step or batch `step`. An error that a number of an
/// input causes says where that came from.
void run_fed(Executor& executor, const EntryPoint& entry, Feed& feed, int64_t step, bool training);

}  // namespace mtfc
