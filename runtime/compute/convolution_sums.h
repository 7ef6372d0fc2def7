#pragma once
// Convolutions whose runs in x are positions of the batch or of the group (ConvForm::kRows and kLanes): gradients of
// filters, and depthwise convolutions.
//
// A task is a block of the result: one group, a part of each run, some columns, and some rows. It walks the entries in
// tiles that stay in a cache while their products are added to all rows of the block. If there are fewer tasks than
// kConvParts, the entries are cut into parts, whose sums lie in the workspace one after another, each like the result;
// the first part is in the result itself. Threads share the tasks of all sweeps and parts.

#include <memory>
#include <vector>

#include "runtime/compute/convolution_products.h"

namespace mtfc {

inline constexpr int64_t kLeastConvPart = 256;  // entries

/// A part of the sums, of `parts` in all.
struct ConvPart {
  int64_t number = 0, parts = 1;
};

template <typename T>
class ConvSums {
 public:
  explicit ConvSums(ConvLoops loops);
  int64_t tasks() const;
  int64_t entries() const { return entry_count_; }
  /// The number of products.
  int64_t work() const;
  /// Runs a task on a part of the entries.
  void run_task(const ConvMemory<T>& memory, ConvScratch<T>& scratch, int64_t number, ConvPart part) const;
  /// The sizes of the memory that run_task() needs.
  ConvNeeds needs() const;

 private:
  struct Task {
    int64_t group;
    RunPart part;
    Interval columns, rows, entries;
  };

  Task task(int64_t number, Interval entries) const;
  void add_entries(const ConvMemory<T>& memory, const Task& task, ConvScratch<T>& scratch) const;
  void add_rows(const ConvMemory<T>& memory, const Task& task, ConvScratch<T>& scratch, bool adds) const;
  void add_row(T* y, const Task& task, ConvTile<T> tile) const;
  void add_lanes(const ConvMemory<T>& memory, const Task& task, ConvScratch<T>& scratch, bool adds) const;
  const T* const* columns_at(const T* w, Interval columns, ConvScratch<T>& scratch) const;

  std::shared_ptr<const ConvLoops> loops_;
  int64_t row_count_, entry_count_;
  int64_t block_run_, block_columns_, block_rows_;
  ConvPositions groups_;
};

}  // namespace mtfc
