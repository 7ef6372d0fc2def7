#include "runtime/compute/convolution_sums.h"

#include <algorithm>
#include <array>

namespace mtfc {
namespace {

constexpr int64_t kRunInTask = 192, kLanesInTask = 256;
constexpr int64_t kColumnsInTask = 64;
constexpr int64_t kElementsInTask = 64 * 1024, kLaneElementsInTask = 16 * 1024;
constexpr int64_t kEntries = 64;  // of a tile

int64_t pieces(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

Interval piece(int64_t number, int64_t size, int64_t count) {
  return {number * size, std::min(count, (number + 1) * size)};
}

}  // namespace

template <typename T>
ConvSums<T>::ConvSums(ConvLoops loops)
    : loops_(std::make_shared<const ConvLoops>(std::move(loops))),
      row_count_(loops_->rows.count()),
      entry_count_(loops_->entries.count()),
      groups_(loops_->groups.count(), 0) {
  const bool lanes = loops_->form == ConvForm::kLanes;
  block_run_ = std::min(loops_->run, lanes ? kLanesInTask : kRunInTask);
  block_columns_ = lanes ? 1 : std::min(loops_->columns(), kColumnsInTask);
  const int64_t most = lanes ? kLaneElementsInTask : kElementsInTask;
  block_rows_ = std::clamp<int64_t>(most / (block_run_ * block_columns_), 1, row_count_);
  groups_.fill(loops_->groups, 0, groups_.most);
}

template <typename T>
ConvNeeds ConvSums<T>::needs() const {
  const int64_t runs = kEntries * (loops_->form == ConvForm::kLanes ? ConvTiles<T>::kLaneRows : 1);
  return {.slides = loops_->limits.size(),
          .rows = block_rows_,
          .entries = kEntries,
          .runs = runs,
          .length = block_run_,
          .copied = loops_->run_slide >= 0 ? runs * block_run_ : 0,
          .columns = kEntries * ConvTiles<T>::best().width()};
}

template <typename T>
int64_t ConvSums<T>::tasks() const {
  return groups_.count * pieces(loops_->run, block_run_) * pieces(loops_->columns(), block_columns_) *
         pieces(row_count_, block_rows_);
}

template <typename T>
typename ConvSums<T>::Task ConvSums<T>::task(int64_t number, Interval entries) const {
  const auto take = [&](int64_t count) {
    const int64_t digit = number % count;
    number /= count;
    return digit;
  };
  Task task;
  task.rows = piece(take(pieces(row_count_, block_rows_)), block_rows_, row_count_);
  task.columns = piece(take(pieces(loops_->columns(), block_columns_)), block_columns_, loops_->columns());
  const Interval run = piece(take(pieces(loops_->run, block_run_)), block_run_, loops_->run);
  task.part = {run.begin, run.size()};
  task.group = number;
  task.entries = entries;
  return task;
}

template <typename T>
int64_t ConvSums<T>::work() const {
  return groups_.count * row_count_ * loops_->run * loops_->columns() * std::max<int64_t>(1, entry_count_);
}

template <typename T>
void ConvSums<T>::run_task(const ConvMemory<T>& memory, ConvScratch<T>& scratch, int64_t number,
                           ConvPart part) const {
  const auto cut = [&](int64_t i) { return entry_count_ * i / part.parts; };
  add_entries(memory, task(number, {cut(part.number), cut(part.number + 1)}), scratch);
}

template <typename T>
void ConvSums<T>::add_entries(const ConvMemory<T>& memory, const Task& task, ConvScratch<T>& scratch) const {
  const auto g = static_cast<size_t>(task.group);
  const ConvMemory<T> own = {memory.x + groups_.x[g], memory.w + (loops_->w_first + groups_.other[g]),
                             memory.y + (loops_->y_first + loops_->y_of_group[g]), nullptr};
  scratch.rows.fill(loops_->rows, task.rows.begin, task.rows.end);
  int64_t e = task.entries.begin;
  do {
    const int64_t end = std::min(task.entries.end, e + kEntries);
    scratch.entries.fill(loops_->entries, e, end);
    scratch.table.start(*loops_, scratch.rows, scratch.entries);
    const bool adds = e > task.entries.begin;
    loops_->form == ConvForm::kLanes ? add_lanes(own, task, scratch, adds)
                                     : add_rows(own, task, scratch, adds);
    e = end;
  } while (e < task.entries.end);
}

template <typename T>
void ConvSums<T>::add_lanes(const ConvMemory<T>& memory, const Task& task, ConvScratch<T>& scratch,
                            bool adds) const {
  const auto column = static_cast<size_t>(task.columns.begin);
  for (int64_t e = 0; e < scratch.entries.count; ++e)
    scratch.at[static_cast<size_t>(e)] = memory.w + (scratch.entries.other[static_cast<size_t>(e)] +
                                                     loops_->w_columns[column] + task.part.begin);
  std::array<T*, ConvTiles<T>::kLaneRows> out;
  for (int64_t r = 0; r < scratch.rows.count;) {
    const int64_t count = lane_rows_at_once(scratch.rows.count - r);
    for (int64_t i = 0; i < count; ++i)
      out[static_cast<size_t>(i)] = memory.y + (scratch.rows.other[static_cast<size_t>(r + i)] +
                                                loops_->y_columns[column] + task.part.begin);
    ConvTiles<T>::best().of_lanes[count]({.a = scratch.table.fill(memory.x, r, count, task.part),
                                          .b = scratch.at.data(),
                                          .panel = nullptr,
                                          .count = scratch.entries.count,
                                          .length = 1,
                                          .first = 0,
                                          .out = out.data(),
                                          .columns = nullptr,
                                          .n = task.part.size,
                                          .adds = adds});
    r += count;
  }
}

/// Pointers to the columns of each entry, in whole vectors.
template <typename T>
const T* const* ConvSums<T>::columns_at(const T* w, Interval columns, ConvScratch<T>& scratch) const {
  const ConvTiles<T>& tiles = ConvTiles<T>::best();
  const int64_t padded = tiles.padded(columns.size());
  const bool in_place = loops_->w_side_by_side && padded == columns.size();
  for (int64_t e = 0; e < scratch.entries.count; ++e) {
    const T* const from = w + scratch.entries.other[static_cast<size_t>(e)];
    T* const copy = scratch.columns.data() + e * padded;
    if (!in_place) {
      for (int64_t n = 0; n < columns.size(); ++n)
        copy[n] = from[loops_->w_columns[static_cast<size_t>(columns.begin + n)]];
      std::fill_n(copy + columns.size(), padded - columns.size(), T{0});
    }
    scratch.at[static_cast<size_t>(e)] = in_place ? from + columns.begin : copy;
  }
  return scratch.at.data();
}

template <typename T>
void ConvSums<T>::add_rows(const ConvMemory<T>& memory, const Task& task, ConvScratch<T>& scratch,
                           bool adds) const {
  const int64_t width = ConvTiles<T>::best().width();
  for (int64_t n = task.columns.begin; n < task.columns.end; n += width) {
    const Interval columns = {n, std::min(task.columns.end, n + width)};
    ConvTile<T> tile = {.a = nullptr,
                        .b = columns_at(memory.w, columns, scratch),
                        .panel = nullptr,
                        .count = scratch.entries.count,
                        .length = 1,
                        .first = 0,
                        .out = nullptr,
                        .columns = loops_->y_side_by_side ? nullptr : loops_->y_columns.data() + n,
                        .n = columns.size(),
                        .adds = adds};
    for (int64_t r = 0; r < scratch.rows.count; ++r) {
      tile.a = scratch.table.fill(memory.x, r, 1, task.part);
      const int64_t offset = scratch.rows.other[static_cast<size_t>(r)] + (loops_->y_side_by_side ? n : 0);
      add_row(memory.y + offset, task, tile);
    }
  }
}

/// Adds to all elements of a run. The pointers of the tile are those of the run's first element.
template <typename T>
void ConvSums<T>::add_row(T* y, const Task& task, ConvTile<T> tile) const {
  const ConvTiles<T>& tiles = ConvTiles<T>::best();
  std::array<T*, ConvTiles<T>::kMostRows> out;
  tile.out = out.data();
  for (int64_t j = 0; j < task.part.size;) {
    const int64_t count = rows_at_once(task.part.size - j);
    tile.first = j;
    for (int64_t i = 0; i < count; ++i)
      out[static_cast<size_t>(i)] = y + loops_->of_run[static_cast<size_t>(task.part.begin + j + i)];
    tiles.rows[count][tiles.vectors_of(tile.n) - 1](tile);
    j += count;
  }
}

template class ConvSums<float>;
template class ConvSums<double>;

}  // namespace mtfc
