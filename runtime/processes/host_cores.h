#pragma once
// The cores of a host, found by hwloc, and how ranks share them.

#include <sched.h>

#include <algorithm>
#include <vector>

namespace mtfc {

/// The cores of this host that some ranks may use.
class HostCores {
 public:
  /// One core, whichever it is.
  HostCores() = default;
  /// `usable`: the hardware threads that the ranks may run on, by the system's numbers. `description`: a machine in
  /// hwloc's synthetic form, such as `numa:2 core:4 pu:2`, in place of this host. If hwloc finds no cores, each
  /// hardware thread counts as one.
  explicit HostCores(const cpu_set_t& usable, const char* description = nullptr);

  /// Cores, at least 1. The hardware threads of a core count as one, since they share its arithmetic units.
  int cores() const { return std::max(1, static_cast<int>(threads_of_.size())); }
  /// At least 1.
  int hardware_threads() const { return hardware_threads_; }
  /// Parts of the memory, each of which is near some of the cores; at least 1.
  int memories() const { return memories_; }

  /// Part `index` of `parts`, of which there are at most as many as cores: whole cores that are next to each other in
  /// the order in which hwloc numbers them, those of one part of the memory together. Parts have no core in common, and
  /// each has at least cores() / parts of them.
  cpu_set_t share(int index, int parts) const;

 private:
  std::vector<cpu_set_t> threads_of_;  // by core
  int hardware_threads_ = 1, memories_ = 1;
};

}  // namespace mtfc
