#pragma once
// Communication between the devices of a mesh: executes and counts the collectives of a program.
//
// Two implementations share the same plans (runtime/comm/transfer.h): MPI, where a process is one device, and
// lockstep, where one process holds all devices. Buffers are named by offsets into arenas, never by pointers.

#include <memory>
#include <span>
#include <vector>

#include "core/program/collective_cost.h"
#include "core/program/program.h"
#include "core/tensors/mesh.h"
#include "runtime/memory/arena.h"
#include "runtime/processes/processes.h"

namespace mtfc {

class PreparedRing;

/// The prepared collectives and rings of one entry point. Steps are named by their position in it. Between start and
/// wait of a step, its input and output belong to the communication.
class Collectives {
 public:
  virtual ~Collectives() = default;
  /// Starts the collective of the kStart step `step`. Throws RunError.
  virtual void start(size_t step) = 0;
  /// Finishes the collective of `step`: afterwards its output is complete on every device of this process.
  virtual void wait(size_t step) = 0;
  /// The transfers of the kRing step `step` on a device of this process.
  virtual PreparedRing& ring(size_t step, size_t device) = 0;
  /// Lets messages move while kernels run; cheap.
  virtual void progress() {}
  /// The traffic of the collective or ring of `step` since clear_counts(), in all of its rounds: the largest among this
  /// process's devices.
  virtual CollectiveCost count(size_t step) const = 0;
  virtual void clear_counts() = 0;
};

class Comm {
 public:
  virtual ~Comm() = default;
  virtual const Mesh& mesh() const = 0;
  /// The devices whose shards this process holds, in order of rank.
  virtual const std::vector<Coordinates>& devices() const = 0;
  virtual Processes& processes() = 0;
  /// By rank of the mesh: the lowest rank of its node.
  virtual std::vector<int> nodes() const = 0;
  /// Returns an arena for each device of this process, allocated so that collectives on it are as fast as
  /// possible. Every process calls it in the same order. Throws RunError if there is too little memory.
  virtual std::vector<Arena> make_arenas(int64_t bytes) = 0;
  /// Plans every collective of `entry` and allocates everything they need. `arenas` has one arena per device
  /// of this process; both must outlive the result. Every process calls it for the same entry points in the
  /// same order.
  virtual std::unique_ptr<Collectives> prepare(const EntryPoint& entry, std::span<const Arena> arenas) = 0;
};

}  // namespace mtfc
