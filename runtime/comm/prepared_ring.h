#pragma once
// The transfers of one ring step (core/program/ring.h) on one device. Between them, the executor multiplies:
//
//   an operand turns    begin; for each turn: take, pass on unless it is the last, multiply; end
//   the result turns    begin; for each turn: multiply, take unless it is the first, add, pass on unless it is the
//                       last; end
//
// The next member of the ring has passed on in turn i - 1 the slice that take() returns in turn i. A slice of an
// operand stays valid until the device passes on in turn i + 1, a sum until it passes on in turn i.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/program/collective_cost.h"
#include "core/program/program.h"
#include "core/program/ring.h"

namespace mtfc {

/// The plan of a ring for one device; data, like CollectivePlan (runtime/comm/transfer.h).
struct RingPlan {
  AxisList axes;
  std::vector<int64_t> ranks;  // of the members, by index
  size_t self = 0;
  bool passes_result = false;
  DType dtype = DType::kF32;
  int64_t operand_offset = 0;           // bytes, in the arena: the device's own slice of an operand
  std::vector<int64_t> inboxes;         // bytes, in the arena: where slices arrive, in turn
  std::vector<int64_t> slice_elements;  // by member

  size_t members() const { return ranks.size(); }
  size_t next() const { return (self + 1) % members(); }
  size_t previous() const { return (self + members() - 1) % members(); }
  /// The member whose slice this device works on in a turn.
  size_t owner(size_t turn) const { return slice_owner(self, turn, members(), passes_result); }
  int64_t bytes(size_t turn) const { return slice_elements[owner(turn)] * size_of(dtype); }
};

/// The plan of the kRing step `step` for the device at `at`.
RingPlan plan_ring(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at);

class PreparedRing {
 public:
  explicit PreparedRing(RingPlan plan) : plan_(std::move(plan)) {}
  virtual ~PreparedRing() = default;

  /// From here to the end of end(), the operand that turns and the workspace belong to the ring.
  virtual void begin() {}
  /// Waits for the slice of the turn. Throws WaitError (runtime/processes/watchdog.h).
  virtual const std::byte* take(size_t turn) = 0;
  /// Passes the slice of the turn to the previous member. It must stay as it is until pass() of the next turn returns,
  /// or after the last one end().
  void pass(size_t turn, const std::byte* slice) {
    const int64_t elements = plan_.slice_elements[plan_.owner(turn)];
    moved_ += {elements, elements * size_of(plan_.dtype)};
    send(turn, slice);
  }
  virtual void end() {}
  /// Lets messages move; cheap.
  virtual void progress() {}

  const CollectiveCost& moved() const { return moved_; }
  void clear_moved() { moved_ = {}; }

 protected:
  virtual void send(size_t turn, const std::byte* slice) = 0;
  const RingPlan& plan() const { return plan_; }

 private:
  const RingPlan plan_;
  CollectiveCost moved_;
};

/// A ring whose members' arenas this process sees. Nothing is copied: a slice is read where it lies. `arenas` by
/// member. The caller sees to it that no member takes what has not been passed.
class RingInMemory : public PreparedRing {
 public:
  RingInMemory(RingPlan plan, std::vector<std::byte*> arenas)
      : PreparedRing(std::move(plan)), arenas_(std::move(arenas)) {}
  const std::byte* take(size_t turn) override;

 protected:
  void send(size_t turn, const std::byte* slice) override;

 private:
  std::vector<std::byte*> arenas_;
  std::ptrdiff_t passed_ = 0;  // offset of the slice that was passed on last, the same on all members
};

}  // namespace mtfc
