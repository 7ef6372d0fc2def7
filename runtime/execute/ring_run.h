#pragma once
// The products of a kRing step on one device, turn by turn (core/program/ring.h). Others see to the transfers between
// turns (runtime/comm/prepared_ring.h).

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/program/ring.h"
#include "runtime/comm/prepared_ring.h"
#include "runtime/compute/kernel.h"
#include "runtime/memory/arena.h"

namespace mtfc {

class RingRun {
 public:
  /// All but `at` must outlive it.
  RingRun(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Coordinates& at,
          const Arena& arena);

  size_t turns() const { return turns_.size(); }
  /// Runs a turn: all devices of the ring run their turns in order. `run` has the arguments that do not depend on the
  /// turn. Returns the flops.
  int64_t run(size_t turn, PreparedRing& ring, const KernelRun& run);

 private:
  struct Turn {
    const Kernel* kernel = nullptr;
    std::array<const std::byte*, 2> operands;  // nullptr for the one that turns
    std::byte* result = nullptr;
    int64_t result_elements = 0;
  };
  const Kernel& kernel(const Ring& ring, const RingTurn& turn, bool adds);
  std::byte* first_of(ValueId id, const Box& box) const;
  void add(const std::byte* sum, const Turn& turn) const;

  const EntryPoint& entry_;
  const Step& step_;
  const Mesh& mesh_;
  const Coordinates at_;
  const Arena& arena_;
  const Turning turning_;
  std::byte* workspace_ = nullptr;  // of the product
  int64_t workspace_bytes_ = 0;
  // By the length of the slice; and whether it adds to its result
  std::map<std::pair<int64_t, bool>, Kernel> kernels_;
  std::vector<Turn> turns_;
};

}  // namespace mtfc
