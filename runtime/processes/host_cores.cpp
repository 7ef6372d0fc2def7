#include "runtime/processes/host_cores.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>

#include <algorithm>
#include <vector>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

// A set of hardware threads in hwloc's form.
struct ThreadSet {
  ThreadSet() = default;
  explicit ThreadSet(hwloc_bitmap_t owned) : set(owned) {}
  ~ThreadSet() { hwloc_bitmap_free(set); }
  ThreadSet(const ThreadSet&) = delete;
  ThreadSet& operator=(const ThreadSet&) = delete;

  hwloc_bitmap_t set = hwloc_bitmap_alloc();
};

int count_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return std::max(1, hwloc_get_nbobjs_by_type(topology, type));
}

}  // namespace

struct HostCores::Topology {
  explicit Topology(const char* description) {
    if (hwloc_topology_init(&at) != 0) return;
    // Devices and lower caches are not looked at, and would take most of the time.
    hwloc_topology_set_all_types_filter(at, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(at, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    for (const hwloc_obj_type_t type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_GROUP})
      hwloc_topology_set_type_filter(at, type, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    if (description && hwloc_topology_set_synthetic(at, description) != 0) return;
    is_loaded = hwloc_topology_load(at) == 0;
  }
  ~Topology() {
    if (at) hwloc_topology_destroy(at);
  }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  // Leaves out what is not in `usable`; returns false if hwloc cannot do that.
  bool restrict_to(const cpu_set_t& usable) {
    const ThreadSet threads;
    return hwloc_cpuset_from_glibc_sched_affinity(at, threads.set, &usable, sizeof usable) == 0 &&
           hwloc_topology_restrict(at, threads.set, HWLOC_RESTRICT_FLAG_REMOVE_CPULESS) == 0;
  }

  hwloc_topology_t at = nullptr;
  bool is_loaded = false;
};

HostCores::HostCores(const cpu_set_t& usable, const char* description) : usable_(usable) {
  const auto topology = std::make_shared<Topology>(description);
  if (topology->is_loaded && topology->restrict_to(usable)) {
    cores_ = count_of(topology->at, HWLOC_OBJ_CORE);
    hardware_threads_ = count_of(topology->at, HWLOC_OBJ_PU);
    memories_ = count_of(topology->at, HWLOC_OBJ_NUMANODE);
    topology_ = topology;
  } else {
    cores_ = hardware_threads_ = std::max(1, CPU_COUNT(&usable));
  }
}

cpu_set_t HostCores::share(int index, int parts) const {
  check_invariant(0 <= index && index < parts && parts <= cores_, "a host has fewer cores than parts");
  cpu_set_t share;
  CPU_ZERO(&share);
  if (topology_) {
    std::vector<hwloc_bitmap_t> sets(static_cast<size_t>(parts));
    hwloc_obj_t root = hwloc_get_root_obj(topology_->at);
    const int cores = hwloc_get_type_depth(topology_->at, HWLOC_OBJ_CORE);
    const int failed =
        hwloc_distrib(topology_->at, &root, 1, sets.data(), static_cast<unsigned>(parts), cores, 0);
    for (int part = 0; failed == 0 && part < parts; ++part) {
      const ThreadSet owned(sets[static_cast<size_t>(part)]);
      if (part == index) hwloc_cpuset_to_glibc_sched_affinity(topology_->at, owned.set, &share, sizeof share);
    }
    if (failed == 0) return share;
  }
  for (int thread = 0, seen = 0; thread < CPU_SETSIZE; ++thread)
    if (CPU_ISSET(thread, &usable_) && seen++ * parts / cores_ == index) CPU_SET(thread, &share);
  return share;
}

}  // namespace mtfc
