#pragma once
// How one device works through a fused step (core/program/fused_grid.h): the blocks it cuts the grid into, and per
// block the instructions, on tiles small enough to stay in the cache.
//
// A block is some rows, and all columns of them or one tile of columns:
//
//   long rows, used again in a later stage    long rows otherwise     short rows
//   |--------|--------|--------|   block 1    |--------| ... |----|   |--|
//   |--------|--------|--------|   block 2    blocks 1 to n           |--|  one block and one tile
//
// Values that do not leave the step are in scratch memory of the thread: in a tile, or along the whole row
// where a later stage reads them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/program/fused_grid.h"
#include "runtime/compute/kernel.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/compute/tile_reduction.h"

namespace mtfc {

/// Where a value's elements lie: in one of four memories, at an offset that follows the block and the tile.
struct TilePlace {
  enum class Memory {
    kOperand,
    kResult,
    kScratch,  // of the thread
    kShared,   // of the step: single values, and the sums of columns
  };
  Memory memory = Memory::kScratch;
  size_t index = 0;        // of the operand or result
  int64_t offset = 0;      // bytes
  int64_t per_row = 0;     // bytes from row to row of the grid
  int64_t per_column = 0;  // bytes from column to column
};

struct TileInstruction {
  enum class Kind {
    kCompute,     // an element-wise function
    kStream,      // a tile to a large result that nothing reads soon, past the cache
    kGather,      // elements of an operand that lie otherwise, into a tile
    kRepeat,      // single elements, each `count` times: a row's along its columns
    kBegin,       // accumulators
    kAddRows,     // elements into one accumulator per row
    kAddColumns,  // into one per column
    kAddAll,      // into a single one
    kFinish,      // accumulators to elements
  };
  Kind kind = Kind::kCompute;
  Extent extent = Extent::kElement;  // of what it works through
  std::vector<TilePlace> operands = {};
  TilePlace result = {};
  TileFunction function = nullptr;
  NestCopy copy = nullptr;
  LoopNest nest = {};   // of kGather, over the grid or its rows
  int64_t element = 0;  // bytes
  TileReduction reduction = {};
  double divisor = 1;
  int part = -1;         // that it does the work of
  bool checked = false;  // whether what it computes should be finite
  DType dtype = DType::kF32;
};

struct FusedStage {
  std::vector<TileInstruction> rows;   // once per block, before its tiles
  std::vector<TileInstruction> tiles;  // once per tile
  std::vector<TileInstruction> ends;   // once per block, after its tiles
};

/// Accumulators of all columns, or of one value, that pieces of the work have one set each of.
struct FusedSums {
  TileReduction reduction;
  int64_t offset = 0;  // in the shared memory
  int64_t count = 0;   // of one set
  double divisor = 1;
  TilePlace result;
  int part = -1;
};

/// A single value that comes out: threads may read what it replaces, so it is brought to its place at the
/// end.
struct FusedSingle {
  int64_t offset = 0;  // in the shared memory
  size_t result = 0;
  int64_t bytes = 0;
};

struct FusedConstant {
  int64_t offset = 0;  // in the shared memory
  std::array<std::byte, 8> bytes = {};
};

struct FusedPlan {
  int64_t rows = 0, columns = 0;
  int64_t rows_per_block = 1, columns_per_tile = 1;
  bool whole_rows = false;  // a block has all columns of its rows
  std::vector<FusedConstant> constants;
  std::vector<TileInstruction> singles;  // before everything, once
  std::vector<FusedSingle> single_results;
  std::vector<TileInstruction> repeats;  // once per thread: single values and columns, all over a tile
  std::vector<FusedStage> stages;
  std::vector<TilePlace>
      fetched;  // whole operands: what a block reads is fetched while the one before is worked on
  std::vector<FusedSums> sums;
  int64_t pieces = 1;         // that sums are collected in, by the shape alone
  int64_t piece_bytes = 0;    // of shared memory, each
  int64_t shared_bytes = 0;   // single values, then the pieces
  int64_t singles_bytes = 0;  // where the pieces begin
  int64_t scratch_bytes = 0;  // of a thread
  int64_t flops = 0;

  int64_t row_blocks() const { return (rows + rows_per_block - 1) / rows_per_block; }
  int64_t tiles() const { return (columns + columns_per_tile - 1) / columns_per_tile; }
  int64_t blocks() const { return row_blocks() * (whole_rows ? 1 : tiles()); }
};

/// Elements of a tile: a dozen tiles of f32 fill the first cache. Tests take smaller ones.
inline constexpr int64_t kFusedTile = 1024;

FusedPlan plan_fused(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at,
                     int64_t tile = kFusedTile);

/// A value as the device at `at` holds it.
LocalTensor local_tensor(const Value& value, const Mesh& mesh, const Coordinates& at);

}  // namespace mtfc
