#pragma once
// The plan by which one device works through a fused step (core/program/fused_grid.h): the blocks of the grid, and
// the instructions for each block, on tiles small enough to stay in the cache. The executor plans each step once
// (runtime/fused/fused_work.h, fused_places.h) and runs it many times (runtime/fused/fused.h).
//
// A block is some rows, with all of their columns or with one tile of columns:
//
//   long rows, used again in a later stage    long rows otherwise     short rows
//   |--------|--------|--------|   block 1    |--------| ... |----|   |--|
//   |--------|--------|--------|   block 2    blocks 1 to n           |--|  one block and one tile
//
// Values that do not leave the step lie in scratch memory of the thread: in a tile, or along the whole row if a
// later stage reads them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "core/program/fused_grid.h"
#include "runtime/compute/kernel.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/compute/tile_reduction.h"

namespace mtfc {

/// The location of a value's elements: one of four memories, and an offset that follows the block and the tile.
struct TilePlace {
  enum class Memory : uint8_t {
    kOperand,
    kResult,
    kScratch,  // of the thread
    kShared,   // of the step: single values, and the sums of columns
  };
  Memory memory = Memory::kScratch;
  uint32_t index = 0;      // of the operand or result
  int64_t offset = 0;      // bytes
  int64_t per_row = 0;     // bytes from row to row of the grid
  int64_t per_column = 0;  // bytes from column to column
};

/// The few places that an instruction reads, within it: a step that runs once between products of large weights finds
/// its instructions in memory, and not in a cache.
class TilePlaces {
 public:
  TilePlaces() = default;
  TilePlaces(std::initializer_list<TilePlace> places) {
    for (const TilePlace& place : places) push_back(place);
  }
  void push_back(const TilePlace& place) { places_.at(count_++) = place; }
  size_t size() const { return count_; }
  const TilePlace& operator[](size_t i) const { return places_[i]; }

 private:
  size_t count_ = 0;
  std::array<TilePlace, kMaxWalked> places_ = {};
};

struct TileInstruction {
  enum class Kind {
    kCompute,     // an element-wise function
    kStream,      // a tile to a large result that nothing reads soon, past the cache
    kGather,      // elements of an operand that lie in another order, into a tile
    kRepeat,      // single elements, each many times: a row's along its columns
    kBegin,       // accumulators
    kAddRows,     // elements into one accumulator per row
    kAddColumns,  // into one per column
    kAddAll,      // into a single one
    kFinish,      // accumulators to elements
  };
  Kind kind = Kind::kCompute;
  Extent extent = Extent::kElement;  // of the values that it works through
  bool checked = false;              // with --check-finite: the result should be finite
  DType dtype = DType::kF32;
  int member = -1;  // that it does the work of
  TilePlaces operands = {};
  TilePlace result = {};
  TileFunction function = nullptr;
  int64_t element = 0;  // bytes
  NestCopy copy = nullptr;
  LoopNest nest = {};  // of kGather, over the grid or its rows
  TileReduction reduction = {};
  double divisor = 1;
};

struct FusedStage {
  std::vector<TileInstruction> rows;   // once per block, before its tiles
  std::vector<TileInstruction> tiles;  // once per tile
  std::vector<TileInstruction> ends;   // once per block, after its tiles
};

/// Accumulators of all columns, or of one value. The blocks are divided among several sets of them, which are
/// added up when the step ends.
struct FusedSums {
  TileReduction reduction;
  int64_t offset = 0;  // in a set
  int64_t count = 0;   // in a set
  double divisor = 1;
  TilePlace result;
  int member = -1;
};

/// A single value that leaves the step. Threads may still read what it replaces, so it is copied to the memory
/// of the result when the step ends.
struct FusedSingle {
  int64_t offset = 0;  // in the shared memory
  size_t result = 0;
  int64_t bytes = 0;
};

struct FusedConstant {
  int64_t offset = 0;  // in the shared memory
  std::array<std::byte, 8> bytes = {};
};

/// The blocks and tiles into which a device cuts its shard of the grid.
struct BlockShape {
  int64_t rows = 0, columns = 0;
  int64_t rows_per_block = 1, columns_per_tile = 1;
  bool whole_rows = false;  // a block has all columns of its rows

  int64_t row_blocks() const { return (rows + rows_per_block - 1) / rows_per_block; }
  int64_t tiles() const { return (columns + columns_per_tile - 1) / columns_per_tile; }
  int64_t blocks() const { return row_blocks() * (whole_rows ? 1 : tiles()); }
};

/// The memory that a step needs beside its operands and results.
struct FusedMemory {
  int64_t scratch_bytes = 0;  // of a thread
  int64_t singles_bytes = 0;  // of the shared memory: single values, before the sets of accumulators
  int64_t sum_sets = 1;       // by the shape alone, so that sums don't depend on the number of threads
  int64_t sum_set_bytes = 0;  // of each

  int64_t shared_bytes() const { return singles_bytes + sum_sets * sum_set_bytes; }
};

struct FusedPlan {
  BlockShape blocks;
  FusedMemory memory;
  std::vector<FusedConstant> constants;
  std::vector<TileInstruction> singles;  // before everything, once
  std::vector<FusedSingle> single_results;
  std::vector<TileInstruction> repeats;  // once per thread: single values and columns, all over a tile
  std::vector<FusedStage> stages;
  std::vector<TilePlace> fetched;  // whole operands, of which the next block's elements are fetched ahead
  std::vector<FusedSums> sums;
  int64_t flops = 0;
};

/// Elements of a tile: a dozen tiles of f32 fill the first cache. Tests take smaller ones.
inline constexpr int64_t kFusedTile = 1024;

FusedPlan plan_fused(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at,
                     int64_t tile = kFusedTile);

/// A value as the device at `at` holds it.
LocalTensor local_tensor(const Value& value, const Mesh& mesh, const Coordinates& at);

}  // namespace mtfc
