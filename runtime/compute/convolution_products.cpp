#include "runtime/compute/convolution_products.h"

#include <algorithm>
#include <array>

#include "core/op_rules/conv_plan.h"
#include "runtime/compute/parallel.h"

namespace mtfc {
namespace {

constexpr int64_t kMostRows = 96;             // of a task
constexpr int64_t kTiles = 64;                // of rows, unless they are too small
constexpr int64_t kHeight = 1024;             // contracted elements of a block
constexpr int64_t kBlockBytes = 384 * 1024;   // of a block, if it has more columns than a tile of registers
constexpr int64_t kChunks = 4;                // of a block, which threads copy
constexpr int64_t kSharedCopy = 128 * 1024;   // elements from which threads share a copy
constexpr int64_t kSharedWork = 1024 * 1024;  // products from which threads share them

int64_t pieces(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

int64_t rows_of_tasks(int64_t rows) {
  constexpr int64_t kUnit = ConvTiles<float>::kMostRows;
  return std::clamp(pieces(pieces(rows, kTiles), kUnit) * kUnit, kUnit, kMostRows);
}

int64_t run_of_blocks(const ConvLoops& loops) {
  return std::min(loops.run, kHeight);
}

int64_t entries_of_blocks(const ConvLoops& loops) {
  return std::clamp<int64_t>(loops.entries.count(), 1, std::max<int64_t>(1, kHeight / run_of_blocks(loops)));
}

}  // namespace

template <typename T>
ConvProducts<T>::ConvProducts(std::vector<ConvLoops> loops) : loops_(std::move(loops)) {
  ConvNeeds needs;
  for (size_t i = 0; i < loops_.size(); ++i) {
    const ConvWalk& groups = loops_[i].groups;
    groups_.emplace_back(groups.count(), 0).fill(groups, 0, groups.count());
    needs.include(needs_of(loops_[i]));
    add_blocks(i);
  }
  add_rounds();
  scratch_.assign(static_cast<size_t>(thread_count()), ConvScratch<T>(needs));
}

template <typename T>
ConvNeeds ConvProducts<T>::needs_of(const ConvLoops& loops) const {
  const int64_t run = run_of_blocks(loops), entries = entries_of_blocks(loops);
  const int64_t runs = entries * ConvTiles<T>::kMostRows;
  return {.slides = loops.limits.size(),
          .rows = rows_of_tasks(loops.rows.count()),
          .entries = entries,
          .runs = runs,
          .length = run,
          .copied = loops.run_slide >= 0 ? runs * run : 0};
}

template <typename T>
void ConvProducts<T>::add_blocks(size_t loops) {
  const ConvLoops& each = loops_[loops];
  const int64_t width = ConvTiles<T>::best().width(), entries = each.entries.count();
  const int64_t block_run = run_of_blocks(each), block_entries = entries_of_blocks(each);
  const int64_t most = kBlockBytes / (block_run * block_entries * static_cast<int64_t>(sizeof(T)));
  const int64_t columns = std::max(width, most / width * width);
  for (int64_t group = 0; group < groups_[loops].count; ++group)
    for (int64_t n = 0; n < each.columns(); n += columns)
      for (int64_t j = 0; j < each.run; j += block_run)
        for (int64_t e = 0; e == 0 || e < entries; e += block_entries)
          blocks_.push_back({loops,
                             group,
                             {n, std::min(each.columns(), n + columns)},
                             {e, std::min(entries, e + block_entries)},
                             {j, std::min(block_run, each.run - j)},
                             0});
}

template <typename T>
void ConvProducts<T>::add_rounds() {
  const int64_t most = kConvPanelBytes / static_cast<int64_t>(sizeof(T));
  for (size_t i = 0; i < blocks_.size(); ++i) {
    Block& block = blocks_[i];
    const int64_t size = block.height() * ConvTiles<T>::best().padded(block.columns.size());
    if (rounds_.empty() || rounds_.back().elements + size > most) rounds_.push_back({i, i, 0, {}});
    block.offset = rounds_.back().elements;
    rounds_.back().elements += size;
    rounds_.back().last_block = i + 1;
  }
  for (Round& round : rounds_) add_tasks(round);
}

template <typename T>
void ConvProducts<T>::add_tasks(Round& round) const {
  for (size_t first = round.first_block; first < round.last_block;) {
    size_t last = first + 1;
    while (last < round.last_block && blocks_[last].loops == blocks_[first].loops &&
           blocks_[last].group == blocks_[first].group)
      ++last;
    const int64_t rows = loops_[blocks_[first].loops].rows.count(), size = rows_of_tasks(rows);
    for (int64_t row = 0; row < rows; row += size)
      round.tasks.push_back({first, last, {row, std::min(rows, row + size)}});
    first = last;
  }
}

template <typename T>
void ConvProducts<T>::run(const ConvMemory<T>& memory) {
  for (const Round& round : rounds_) {
    const auto copy = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        copy_block(memory, blocks_[round.first_block + static_cast<size_t>(i / kChunks)], i % kChunks);
    };
    const auto chunks = static_cast<int64_t>(round.last_block - round.first_block) * kChunks;
    round.elements < kSharedCopy ? copy(0, chunks) : parallel_ranges(chunks, round.elements, copy);
    const auto tasks = static_cast<int64_t>(round.tasks.size());
    const auto multiply_item = [&](int64_t i) { multiply_task(memory, round.tasks[static_cast<size_t>(i)]); };
    if (round.elements * tasks * ConvTiles<T>::kMostRows < kSharedWork)
      for (int64_t i = 0; i < tasks; ++i) multiply_item(i);
    else
      parallel_items(tasks, multiply_item);
  }
}

/// A block has panels of as many columns as a tile of registers. Each has a row of whole vectors for each contracted
/// element.
template <typename T>
void ConvProducts<T>::copy_block(const ConvMemory<T>& memory, const Block& block, int64_t chunk) {
  const ConvTiles<T>& tiles = ConvTiles<T>::best();
  const ConvLoops& loops = loops_[block.loops];
  const int64_t count = block.entries.size(), first = count * chunk / kChunks,
                last = count * (chunk + 1) / kChunks;
  ConvPositions& entries = scratch_[static_cast<size_t>(thread_number())].entries;
  entries.fill(loops.entries, block.entries.begin + first, block.entries.begin + last);
  const T* const w =
      memory.w + (loops.w_first + groups_[block.loops].other[static_cast<size_t>(block.group)]);
  for (int64_t n = block.columns.begin; n < block.columns.end; n += tiles.width()) {
    const int64_t columns = std::min(tiles.width(), block.columns.end - n), padded = tiles.padded(columns);
    const int64_t* const at = loops.w_columns.data() + n;
    T* to = memory.workspace +
            (block.offset + block.height() * (n - block.columns.begin) + first * block.part.size * padded);
    for (int64_t e = 0; e < entries.count; ++e)
      for (int64_t j = 0; j < block.part.size; ++j, to += padded) {
        const T* const from = w + entries.other[static_cast<size_t>(e)] +
                              loops.of_run[static_cast<size_t>(block.part.begin + j)];
        if (loops.w_side_by_side)
          std::copy_n(from + at[0], columns, to);
        else
          for (int64_t i = 0; i < columns; ++i) to[i] = from[at[i]];
        std::fill_n(to + columns, padded - columns, T{0});
      }
  }
}

template <typename T>
void ConvProducts<T>::multiply_task(const ConvMemory<T>& memory, const Task& task) {
  const Block& first = blocks_[task.first_block];
  const ConvLoops& loops = loops_[first.loops];
  ConvScratch<T>& scratch = scratch_[static_cast<size_t>(thread_number())];
  const auto group = static_cast<size_t>(first.group);
  const ConvMemory<T> own = {memory.x + groups_[first.loops].x[group], memory.w,
                             memory.y + (loops.y_first + loops.y_of_group[group]), memory.workspace};
  scratch.rows.fill(loops.rows, task.rows.begin, task.rows.end);
  for (size_t i = task.first_block; i < task.last_block; ++i) {
    const Block& block = blocks_[i];
    scratch.entries.fill(loops.entries, block.entries.begin, block.entries.end);
    scratch.table.start(loops, scratch.rows, scratch.entries);
    for (int64_t r = 0; r < task.rows.size();) {
      const int64_t count = rows_at_once(task.rows.size() - r);
      multiply_tile(own, block, scratch, {r, r + count});
      r += count;
    }
  }
}

/// `rows`: few enough for one tile of registers, counted from the first of `scratch`.
template <typename T>
void ConvProducts<T>::multiply_tile(const ConvMemory<T>& memory, const Block& block, ConvScratch<T>& scratch,
                                    Interval rows) {
  const ConvTiles<T>& tiles = ConvTiles<T>::best();
  const ConvLoops& loops = loops_[block.loops];
  const auto count = static_cast<size_t>(rows.size());
  std::array<T*, ConvTiles<T>::kMostRows> out;
  ConvTile<T> tile = {.a = scratch.table.fill(memory.x, rows.begin, rows.size(), block.part),
                      .b = nullptr,
                      .panel = memory.workspace + block.offset,
                      .count = scratch.entries.count,
                      .length = block.part.size,
                      .first = 0,
                      .out = out.data(),
                      .columns = nullptr,
                      .n = 0,
                      .adds = block.adds()};
  for (int64_t n = block.columns.begin; n < block.columns.end; n += tiles.width()) {
    tile.n = std::min(tiles.width(), block.columns.end - n);
    for (size_t r = 0; r < count; ++r)
      out[r] = memory.y +
               (scratch.rows.other[static_cast<size_t>(rows.begin) + r] + (loops.y_side_by_side ? n : 0));
    if (!loops.y_side_by_side) tile.columns = loops.y_columns.data() + n;
    const int64_t vectors = tiles.vectors_of(tile.n);
    tiles.runs[count][vectors - 1](tile);
    tile.panel += block.height() * vectors * tiles.lanes;
  }
}

template class ConvProducts<float>;
template class ConvProducts<double>;

}  // namespace mtfc
