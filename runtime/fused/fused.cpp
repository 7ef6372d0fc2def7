#include "runtime/fused/fused.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "runtime/compute/elementwise.h"
#include "runtime/compute/index_check.h"
#include "runtime/compute/parallel.h"

namespace mtfc {
namespace {

using Kind = TileInstruction::Kind;
using Memory = TilePlace::Memory;

constexpr int64_t kLine = 64;  // bytes per cache line
constexpr std::align_val_t kAligned{kLine};

struct AlignedBytes {
  explicit AlignedBytes(int64_t bytes)
      : start(static_cast<std::byte*>(
            ::operator new(static_cast<size_t>(std::max<int64_t>(bytes, 64)), kAligned))) {}
  ~AlignedBytes() { ::operator delete(start, kAligned); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  std::byte* start;
};

// Copies without first reading the target's lines into the cache.
void stream_bytes(const std::byte* from, int64_t bytes, std::byte* to) {
#if defined(__SSE2__)
  if (reinterpret_cast<uintptr_t>(to) % 16 == 0) {
    const int64_t whole = bytes / 16 * 16;
    for (int64_t i = 0; i < whole; i += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
    std::memcpy(to + whole, from + whole, static_cast<size_t>(bytes - whole));
    return;
  }
#endif
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void end_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// The first element that is not finite, in the order of members and then of elements.
struct Fault {
  int member = -1;
  int64_t index = 0;
  double value = 0;
  bool is_found() const { return member >= 0; }
  bool before(const Fault& other) const {
    return is_found() &&
           (other.member < 0 || std::pair(member, index) < std::pair(other.member, other.index));
  }
};

struct PreparedFused {
  PreparedFused(const EntryPoint& of, const Step& fused, const Mesh& on, const Coordinates& device,
                int64_t tile)
      : entry(of),
        step(fused),
        mesh(on),
        at(device),
        plan(plan_fused(of, fused, on, device, tile)),
        threads(thread_count()),
        scratch(plan.memory.scratch_bytes * threads),
        shared(plan.memory.shared_bytes()) {
    for (const FusedConstant& constant : plan.constants)
      std::memcpy(shared.start + constant.offset, constant.bytes.data(), constant.bytes.size());
  }

  const EntryPoint& entry;
  const Step& step;
  const Mesh& mesh;
  Coordinates at;
  FusedPlan plan;
  int64_t threads;
  AlignedBytes scratch, shared;
};

// The work of one thread.
class Worker {
 public:
  Worker(const PreparedFused& fused, const KernelRun& run, int64_t thread)
      : plan_(fused.plan),
        blocks_(fused.plan.blocks),
        run_(run),
        scratch_(fused.scratch.start + thread * plan_.memory.scratch_bytes),
        shared_(fused.shared.start) {}

  void compute_singles() {
    for (const TileInstruction& instruction : plan_.singles) execute(instruction);
  }

  void repeat() {
    row_ = column_ = 0;
    rows_ = std::min(blocks_.rows_per_block, blocks_.rows);
    columns_ = std::min(blocks_.columns_per_tile, blocks_.columns);
    for (const TileInstruction& instruction : plan_.repeats) execute(instruction);
  }

  /// Works through blocks [begin, end), and collects their sums in set `set`.
  void work(int64_t begin, int64_t end, int64_t set) {
    sum_set_ = shared_ + plan_.memory.singles_bytes + set * plan_.memory.sum_set_bytes;
    const int64_t across = blocks_.whole_rows ? 1 : blocks_.tiles();
    for (int64_t block = begin; block < end; ++block) {
      row_ = block / across * blocks_.rows_per_block;
      rows_ = std::min(blocks_.rows_per_block, blocks_.rows - row_);
      const int64_t first = blocks_.whole_rows ? 0 : block % across;
      const int64_t last = blocks_.whole_rows ? blocks_.tiles() : first + 1;
      fetched_ = 0;
      fetches_ = static_cast<int64_t>(plan_.stages.size()) * (last - first);
      for (const FusedStage& stage : plan_.stages) work_stage(stage, first, last);
    }
    end_streams();
  }

  const Fault& fault() const { return fault_; }

 private:
  void work_stage(const FusedStage& stage, int64_t first, int64_t last) {
    column_ = 0;
    columns_ = blocks_.columns;
    for (const TileInstruction& instruction : stage.rows) execute(instruction);
    for (int64_t tile = first; tile < last; ++tile) {
      column_ = tile * blocks_.columns_per_tile;
      columns_ = std::min(blocks_.columns_per_tile, blocks_.columns - column_);
      fetch_ahead();
      for (const TileInstruction& instruction : stage.tiles) execute(instruction);
    }
    column_ = 0;
    for (const TileInstruction& instruction : stage.ends) execute(instruction);
  }

  // Prefetches a share of the next block's operands, so that memory is busy while this block is computed: the
  // hardware prefetcher looks no further than a page.
  void fetch_ahead() {
    const int64_t across = blocks_.whole_rows ? blocks_.columns : columns_;
    const int64_t all = blocks_.rows_per_block * across;
    const int64_t begin = all * fetched_ / fetches_, end = all * (fetched_ + 1) / fetches_;
    ++fetched_;
    for (const TilePlace& place : plan_.fetched) {
      const std::byte* next = first_of_block(place) + all * place.per_column;
      for (int64_t i = begin * place.per_column; i < end * place.per_column; i += kLine)
        __builtin_prefetch(next + i, 0, 2);
    }
  }

  const std::byte* first_of_block(const TilePlace& place) const {
    return run_.operands[place.index] + place.per_row * row_ +
           (blocks_.whole_rows ? 0 : place.per_column * column_);
  }

  std::byte* at(const TilePlace& place) const {
    const int64_t offset = place.offset + place.per_row * row_ + place.per_column * column_;
    switch (place.memory) {
      case Memory::kOperand:  // only read
        return const_cast<std::byte*>(run_.operands[place.index]) + offset;
      case Memory::kResult:
        return run_.results[place.index] + offset;
      case Memory::kScratch:
        return scratch_ + offset;
      case Memory::kShared:
        return shared_ + offset;
    }
    return nullptr;
  }

  int64_t count(Extent extent) const {
    return extent == Extent::kElement ? rows_ * columns_ : extent == Extent::kRow ? rows_ : 1;
  }

  void execute(const TileInstruction& instruction) {
    switch (instruction.kind) {
      case Kind::kCompute:
        return compute(instruction);
      case Kind::kStream:
        return stream_bytes(at(instruction.operands[0]), count(instruction.extent) * instruction.element,
                            at(instruction.result));
      case Kind::kGather:
        return instruction.copy(
            instruction.nest,
            instruction.extent == Extent::kElement ? row_ * blocks_.columns + column_ : row_,
            count(instruction.extent), run_.operands[instruction.operands[0].index], at(instruction.result));
      case Kind::kRepeat:
        return repeat(instruction);
      case Kind::kBegin:
        return instruction.reduction.begin(at(instruction.result), rows_);
      case Kind::kAddRows:
        return instruction.reduction.add_rows(at(instruction.operands[0]), rows_, columns_,
                                              at(instruction.result));
      case Kind::kAddColumns:
        return instruction.reduction.add_columns(
            at(instruction.operands[0]), rows_, columns_,
            sum_set_ + instruction.result.offset + instruction.result.per_column * column_);
      case Kind::kAddAll:
        return instruction.reduction.add_rows(at(instruction.operands[0]), 1, count(instruction.extent),
                                              sum_set_ + instruction.result.offset);
      case Kind::kFinish:
        instruction.reduction.finish(at(instruction.operands[0]), rows_, instruction.divisor,
                                     at(instruction.result));
        return check(instruction);
    }
  }

  void compute(const TileInstruction& instruction) {
    const std::byte* operands[kMaxWalked];
    for (size_t i = 0; i < instruction.operands.size(); ++i) operands[i] = at(instruction.operands[i]);
    instruction.function(operands, at(instruction.result), count(instruction.extent));
    check(instruction);
  }

  // Repeats each row's element along the row, or one element over a whole tile.
  void repeat(const TileInstruction& instruction) {
    const bool single = instruction.extent == Extent::kSingle;
    const int64_t tile =
        std::max(blocks_.columns_per_tile * blocks_.rows_per_block, blocks_.columns_per_tile);
    const int64_t times = single ? tile : blocks_.columns_per_tile;
    const std::byte* from = at(instruction.operands[0]);
    std::byte* to = at(instruction.result);
    const int64_t rows = single ? 1 : rows_;
    switch (instruction.element) {
      case 1:
        return fill<uint8_t>(from, rows, times, to);
      case 2:
        return fill<uint16_t>(from, rows, times, to);
      case 4:
        return fill<uint32_t>(from, rows, times, to);
      default:
        return fill<uint64_t>(from, rows, times, to);
    }
  }

  template <typename T>
  static void fill(const std::byte* from, int64_t rows, int64_t times, std::byte* to) {
    for (int64_t row = 0; row < rows; ++row)
      std::fill_n(reinterpret_cast<T*>(to) + row * times, times, reinterpret_cast<const T*>(from)[row]);
  }

  void check(const TileInstruction& instruction) {
    if (!run_.check_finite || !instruction.checked) return;
    const std::byte* values = at(instruction.result);
    const int64_t elements = count(instruction.extent);
    for (int64_t i = 0; i < elements; ++i) {
      const double number = dispatch(Floats{}, instruction.dtype, [&]<typename T>() {
        return static_cast<double>(reinterpret_cast<const T*>(values)[i]);
      });
      if (std::isfinite(number)) continue;
      const int64_t start = instruction.extent == Extent::kElement ? row_ * blocks_.columns + column_
                            : instruction.extent == Extent::kRow   ? row_
                                                                   : 0;
      const Fault found{instruction.member, start + i, number};
      if (found.before(fault_)) fault_ = found;
      return;
    }
  }

  const FusedPlan& plan_;
  const BlockShape& blocks_;
  const KernelRun& run_;
  std::byte* scratch_;
  std::byte* shared_;
  std::byte* sum_set_ = nullptr;
  int64_t row_ = 0, rows_ = 0, column_ = 0, columns_ = 0;
  int64_t fetched_ = 0,
          fetches_ = 1;  // parts of the next block prefetched so far, and in all
  Fault fault_;
};

// Merges the sums of all pieces in their order and converts them to results.
void finish_sums(const PreparedFused& fused, const KernelRun& run) {
  const FusedMemory& memory = fused.plan.memory;
  std::byte* first = fused.shared.start + memory.singles_bytes;
  for (const FusedSums& sums : fused.plan.sums) {
    for (int64_t set = 1; set < memory.sum_sets; ++set)
      sums.reduction.merge(first + set * memory.sum_set_bytes + sums.offset, sums.count, first + sums.offset);
    sums.reduction.finish(first + sums.offset, sums.count, sums.divisor, run.results[sums.result.index]);
  }
}

// The work of one of `threads` threads: as many blocks, or sets of accumulators with their blocks, as the others.
void work_through(const PreparedFused& fused, Worker& worker, int64_t thread, int64_t threads) {
  const FusedPlan& plan = fused.plan;
  const auto cut = [](int64_t count, int64_t i, int64_t of) {
    return i * (count / of) + i * (count % of) / of;
  };
  const int64_t blocks = plan.blocks.blocks(), sets = plan.memory.sum_sets;
  if (plan.sums.empty())
    return worker.work(cut(blocks, thread, threads), cut(blocks, thread + 1, threads), 0);
  for (int64_t set = cut(sets, thread, threads); set < cut(sets, thread + 1, threads); ++set) {
    std::byte* start = fused.shared.start + plan.memory.singles_bytes + set * plan.memory.sum_set_bytes;
    for (const FusedSums& sums : plan.sums) sums.reduction.begin(start + sums.offset, sums.count);
    worker.work(cut(blocks, set, sets), cut(blocks, set + 1, sets), set);
  }
}

[[noreturn]] void report(const PreparedFused& fused, const Fault& fault) {
  const Step& member = fused.step.members()[static_cast<size_t>(fault.member)];
  const Value& value = fused.entry.values[member.outputs[0]];
  throw MemberError(member, not_finite_text(value.name, fault.value,
                                            local_tensor(value, fused.mesh, fused.at), fault.index));
}

int64_t run_fused(const PreparedFused& fused, const KernelRun& run) {
  const FusedPlan& plan = fused.plan;
  Worker first(fused, run, 0);
  first.compute_singles();
  const int64_t blocks = plan.blocks.blocks();
  const int64_t work =
      plan.blocks.rows * plan.blocks.columns * static_cast<int64_t>(fused.step.members().size());
  const int64_t threads = work < kParallelWork ? 1 : std::min({thread_count(), fused.threads, blocks});
  Fault fault;
  if (threads <= 1) {
    first.repeat();
    work_through(fused, first, 0, 1);
    fault = first.fault();
  } else {
    std::mutex merges_faults;
    parallel_ranges(threads, work, [&](int64_t begin, int64_t end) {
      Worker worker(fused, run, thread_number());
      worker.repeat();
      for (int64_t share = begin; share < end; ++share) work_through(fused, worker, share, threads);
      if (!worker.fault().is_found()) return;
      const std::lock_guard lock(merges_faults);
      if (worker.fault().before(fault)) fault = worker.fault();
    });
    if (first.fault().before(fault)) fault = first.fault();
  }
  finish_sums(fused, run);
  for (const FusedSingle& single : plan.single_results)
    std::memcpy(run.results[single.result], fused.shared.start + single.offset,
                static_cast<size_t>(single.bytes));
  if (fault.member >= 0) report(fused, fault);
  return plan.flops;
}

}  // namespace

Kernel prepare_fused(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at,
                     int64_t tile) {
  const auto fused = std::make_shared<PreparedFused>(entry, step, mesh, at, tile);
  return [fused](const KernelRun& run) { return run_fused(*fused, run); };
}

}  // namespace mtfc
