#pragma once
// Convolutions whose runs in x are contracted (ConvForm::kRuns): products of rows of patches, read in place, and panels
// of the filter, which are copied first. A forward convolution with channels last is one.
//
// The filter is cut into blocks of entries and columns, which fit in a second-level cache. Threads copy as many blocks
// as the workspace holds; then each takes tiles of rows, and adds their products with all of these blocks to the
// result.

#include <memory>
#include <vector>

#include "runtime/compute/convolution_loops.h"
#include "runtime/compute/convolution_tiles.h"

namespace mtfc {

template <typename T>
struct ConvMemory {
  const T* x;
  const T* w;
  T* y;
  T* workspace;
};

template <typename T>
class ConvProducts {
 public:
  /// The loops of all sweeps.
  explicit ConvProducts(std::vector<ConvLoops> loops);
  void run(const ConvMemory<T>& memory);

 private:
  /// A part of the filter of one group: columns, entries, and a part of each run.
  struct Block {
    size_t loops;
    int64_t group;
    Interval columns, entries;
    RunPart part;
    int64_t offset;  // in the workspace
    /// Elements of a panel for each column.
    int64_t height() const { return entries.size() * part.size; }
    bool adds() const { return entries.begin > 0 || part.begin > 0; }
  };
  /// A tile of rows, which is multiplied by some blocks of one group.
  struct Task {
    size_t first_block, last_block;
    Interval rows;
  };
  /// Blocks that are in the workspace at the same time.
  struct Round {
    size_t first_block, last_block;
    int64_t elements;
    std::vector<Task> tasks;
  };
  ConvNeeds needs_of(const ConvLoops& loops) const;
  void add_blocks(size_t loops);
  void add_rounds();
  void add_tasks(Round& round) const;
  void copy_block(const ConvMemory<T>& memory, const Block& block, int64_t chunk);
  void multiply_task(const ConvMemory<T>& memory, const Task& task);
  void multiply_tile(const ConvMemory<T>& memory, const Block& block, ConvScratch<T>& scratch, Interval rows);

  std::vector<ConvLoops> loops_;
  std::vector<ConvPositions> groups_;  // for each of them
  std::vector<Block> blocks_;
  std::vector<Round> rounds_;
  std::vector<ConvScratch<T>> scratch_;  // of each thread
};

}  // namespace mtfc
