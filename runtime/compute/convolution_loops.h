#pragma once
// The loops of a convolution on one device, as its kernel walks them.
//
// A convolution is a sum of products out[row, column] += a[row, entry, run] * w[entry, run, column], where the
// elements of `a` are read from x in place. The elements that lie side by side in x, a *run*, decide which of three
// forms the loops take:
//
//   form    a run of x has              rows                       entries
//   kRuns   contracted elements         batch, places              the other contracted ones, taps
//   kRows   positions of the batch      the rest of it, places     contracted, taps
//   kLanes  positions of the group      batch, places              contracted, taps
//
// Example: x[b, h, w, c] with w[kh, kw, c, o] has runs of c. If places and elements are equally far apart, the taps
// along w lie side by side as well, so that a run has kw * c elements. The gradient of w has rows of (kw, c), in kRows.
//
// A convolution with a base dilation has several such loops, one for each combination of sweeps (see the source).

#include <cstdint>
#include <vector>

#include "runtime/compute/kernel.h"

namespace mtfc {

/// One loop: what a step along it adds to the offset in x, to that in the other tensor (w, or the result), and to the
/// index along the window that it belongs to.
struct ConvStep {
  int64_t extent = 1;
  int64_t x = 0, other = 0;
  int slide = -1;  // index of the window, or -1
  int64_t index = 0;
};

/// Nested loops, the last one fastest.
struct ConvWalk {
  std::vector<ConvStep> steps;
  int64_t count() const;
};

/// Consecutive positions of a walk: offsets, and indices along each window.
struct ConvPositions {
  std::vector<int64_t> x, other, index;
  int64_t count = 0, most = 0;

  ConvPositions(int64_t capacity, size_t slides)
      : x(static_cast<size_t>(capacity)),
        other(static_cast<size_t>(capacity)),
        index(static_cast<size_t>(capacity) * slides),
        most(capacity) {}
  void fill(const ConvWalk& walk, int64_t begin, int64_t end);
  const int64_t* indices(size_t slide) const { return index.data() + static_cast<int64_t>(slide) * most; }
};

enum class ConvForm { kRuns, kRows, kLanes };

struct ConvLoops {
  ConvForm form = ConvForm::kRuns;
  ConvWalk groups;  // what a run does not have of them; `x` and `other` are offsets in x and w
  std::vector<int64_t> y_of_group;
  ConvWalk rows, entries;       // `other` is the result, and w
  std::vector<int64_t> limits;  // the number of elements of x along each window
  std::vector<int64_t> first;   // the index at row 0, entry 0
  int64_t x_first = 0, w_first = 0, y_first = 0;

  // A run has `unit` elements at each of `run_places` indices along `run_slide`.
  int64_t run = 1, unit = 1, run_places = 1;
  int run_slide = -1;
  std::vector<int64_t> of_run;  // the offset of each element of a run in w (kRuns) or in the result (kRows)

  std::vector<int64_t> w_columns, y_columns;  // offsets of each position of `out`
  bool w_side_by_side = true, y_side_by_side = true;
  int64_t columns() const { return static_cast<int64_t>(w_columns.size()); }
};

/// The loops of every sweep; none if the result is empty.
std::vector<ConvLoops> conv_loops(const KernelSite& site);

/// A part of each run.
struct RunPart {
  int64_t begin = 0, size = 0;
};

/// The most that the loops of a convolution need of the memory of a thread.
struct ConvNeeds {
  size_t slides = 0;
  int64_t rows = 0, entries = 0;
  int64_t runs = 0;     // of a table: entries times rows
  int64_t length = 0;   // elements of a part of a run
  int64_t copied = 0;   // elements of runs that a table may have to copy
  int64_t columns = 0;  // copied elements of the filter
  void include(const ConvNeeds& other);
};

/// Finds runs of x. A run outside of x is a run of zeros; a run that is partly outside is a copy in the memory of the
/// table.
template <typename T>
class RunTable {
 public:
  explicit RunTable(const ConvNeeds& needs);
  /// States the rows and entries that fill() takes runs of.
  void start(const ConvLoops& loops, const ConvPositions& rows, const ConvPositions& entries);
  /// Makes the table of `count` rows from `first` on, at each entry: that of entry e and row r is at e * count + r.
  const T* const* fill(const T* x, int64_t first, int64_t count, RunPart part);

 private:
  struct RowPlace {
    int64_t row, rows;
  };
  template <int64_t Rows>
  void fill_inside(const T* x, int64_t first, int64_t part_begin);
  void fill_row(const T* x, int64_t row, RowPlace place, RunPart part);
  const T* find(const T* x, int64_t row, int64_t entry, RunPart part, T* copy) const;
  const T* copied(const T* x, int64_t offset, Interval elements, RunPart part, T* copy) const;
  int64_t index(size_t slide, int64_t row, int64_t entry) const {
    return loops_->first[slide] + rows_->indices(slide)[row] + entries_->indices(slide)[entry];
  }
  int64_t cover(size_t slide) const {
    return static_cast<int>(slide) == loops_->run_slide ? loops_->run_places : 1;
  }

  const ConvLoops* loops_ = nullptr;
  const ConvPositions* rows_ = nullptr;
  const ConvPositions* entries_ = nullptr;
  std::vector<char> inside_;          // whether all runs of a row lie in x as a whole
  std::vector<int64_t> lies_inside_;  // the same of one row for each entry, 0 or 1
  std::vector<const T*> table_;
  std::vector<T> zeros_, copies_;
};

/// The memory of one thread.
template <typename T>
struct ConvScratch {
  explicit ConvScratch(const ConvNeeds& needs)
      : rows(needs.rows, needs.slides),
        entries(needs.entries, needs.slides),
        table(needs),
        columns(static_cast<size_t>(needs.columns)),
        at(static_cast<size_t>(needs.entries)) {}
  ConvPositions rows, entries;
  RunTable<T> table;
  std::vector<T> columns;    // copies of columns that do not fill their vectors
  std::vector<const T*> at;  // the columns of each entry
};

}  // namespace mtfc
