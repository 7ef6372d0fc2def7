#pragma once
// The cores of a host, found by hwloc, and how ranks share them.

#include <sched.h>

#include <memory>

namespace mtfc {

/// The cores of this host that some ranks may use.
class HostCores {
 public:
  /// `usable`: the hardware threads that the ranks may run on, by the system's numbers. `description`: a machine in hwloc's
  /// synthetic form, such as `numa:2 core:4 pu:2`, in place of this host. If hwloc cannot describe the host, each hardware
  /// thread counts as a core.
  explicit HostCores(const cpu_set_t& usable, const char* description = nullptr);

  /// Cores, at least 1. The hardware threads of a core count as one, since they share its arithmetic units.
  int cores() const { return cores_; }
  /// At least 1.
  int hardware_threads() const { return hardware_threads_; }
  /// Parts of the memory, each of which is near some of the cores; at least 1.
  int memories() const { return memories_; }

  /// Part `index` of `parts`, of which there are at most as many as cores: whole cores that are near each other. Parts have
  /// no core in common, and cores share a part of the memory where the numbers allow it.
  cpu_set_t share(int index, int parts) const;

 private:
  struct Topology;
  std::shared_ptr<const Topology> topology_;  // nullptr if hwloc cannot describe the host
  cpu_set_t usable_;
  int cores_ = 1, hardware_threads_ = 1, memories_ = 1;
};

}  // namespace mtfc
