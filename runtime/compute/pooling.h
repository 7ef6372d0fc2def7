#pragma once
// The kernels of pools share the walk over the rows of a result, and the search for the elements that the window meets
// there.
//
// A row has a place along each window and a position along each other dimension but one, whose positions are its
// *lanes*. All lanes of a row meet the same elements, so a kernel is a function of one row:
//
//   run_pool(plan, [&](const PoolRow& row) { for (const PoolMeeting& m : row.meetings) ...; });
//
// `near` tensors have the places: result and indices of a forward pool, and the gradient of its operand in a backward
// one. `far` tensors are reached through the windows.

#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "runtime/compute/kernel.h"
#include "runtime/compute/parallel.h"
#include "runtime/compute/wrapping.h"

namespace mtfc {

/// An element of the far tensors, and the tap that meets it: its number among the taps of all windows, row-major.
struct PoolMeeting {
  int64_t offset[2];  // in each far tensor, from that of the row
  int32_t tap;
};

/// Some lanes of a row. Offsets are those of the first one, and `steps` are distances between lanes.
struct PoolRow {
  std::span<const PoolMeeting> meetings;  // by ascending taps
  int64_t lanes;
  int64_t near[2], far[2];
};

class PoolPlan {
 public:
  enum class Direction { kForward, kBack };
  /// At most two tensors each. Forward, `near` has the dimensions `to` of the windows, and `far` has `dim`; back, it is
  /// the other way round.
  PoolPlan(const Windows& windows, Direction direction, std::vector<const LocalTensor*> near,
           std::vector<const LocalTensor*> far);

  /// Distances between lanes in each tensor.
  int64_t near_steps[2] = {}, far_steps[2] = {};
  /// True if they are 1 for all tensors.
  bool side_by_side = true;
  int64_t taps() const { return taps_; }

  /// Calls f(row) for all rows, by several threads.
  template <typename F>
  void run(F f) const {
    const int64_t blocks = (lanes_ + kLanes - 1) / kLanes, count = rows_ * blocks;
    parallel_ranges(count, rows_ * lanes_ * taps_, [&](int64_t begin, int64_t end) {
      Cursor at(*this, begin / blocks);
      for (int64_t i = begin; i < end; ++i) {
        if (i > begin && i % blocks == 0) at.next();
        f(at.row(i % blocks * kLanes));
      }
    });
  }

 private:
  static constexpr int64_t kLanes = 256;  // of a row that are computed together

  /// A loop over rows. The positions of a window's loop are its places.
  struct Loop {
    int64_t extent = 1;
    int64_t near[2] = {}, far[2] = {};
    int window = -1;
  };
  /// The taps by which a place meets elements: `count` of them, from `first_tap` on. The first one meets the element
  /// `first_index`.
  struct Span {
    int64_t first_tap = 0, count = 0, first_index = 0;
  };
  struct Reach {
    int64_t taps = 1;  // of the whole window
    int64_t tap_step = 1,
            per_tap = 1;      // from one tap of a span to the next, and between the elements that they meet
    std::vector<Span> spans;  // of each place
    int64_t strides[2] = {};  // of the far tensors
  };
  struct Scratch {
    std::vector<PoolMeeting> meetings, others;
    std::vector<int64_t> index;
  };

  class Cursor {
   public:
    Cursor(const PoolPlan& plan, int64_t row);
    void next();
    /// The lanes from this one on.
    PoolRow row(int64_t lane) const;

   private:
    void find_meetings();

    const PoolPlan& plan_;
    Scratch& scratch_;
    int64_t count_ = 0;
    int64_t near_[2] = {}, far_[2] = {};
  };

  static Reach reach_of(const Window& window, Direction direction, Interval places, Interval held);
  void add_loops(const Windows& windows, Direction direction, const std::vector<const LocalTensor*>& near,
                 const std::vector<const LocalTensor*>& far);
  void take_lanes();

  std::vector<Loop> loops_;
  std::vector<Reach> reaches_;
  int64_t rows_ = 0, lanes_ = 1, taps_ = 1;
  std::shared_ptr<std::vector<Scratch>> scratch_;  // of each thread
};

/// Vectors that every x86-64 has: the compiler splits comparisons of wider ones into those of numbers. `Taps` belong to
/// the same lanes, and `NarrowTaps` are those in memory.
template <typename T>
struct PoolVectors {
  static constexpr int64_t kLanes = 16 / static_cast<int64_t>(sizeof(T));
  using Tap = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  typedef T Numbers __attribute__((vector_size(16)));
  typedef Tap Taps __attribute__((vector_size(16)));
  typedef int32_t NarrowTaps __attribute__((vector_size(kLanes * 4)));
};
/// Memory need not be aligned to vectors.
template <typename Value>
[[gnu::always_inline]] inline Value loaded(const void* from) {
  Value value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}
template <typename Value>
[[gnu::always_inline]] inline void store(const Value& value, void* to) {
  __builtin_memcpy(to, &value, sizeof(value));
}

}  // namespace mtfc
