#include "runtime/processes/host_cores.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>

#include <algorithm>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

// A set of hardware threads in hwloc's form.
struct ThreadSet {
  ThreadSet() = default;
  ~ThreadSet() { hwloc_bitmap_free(set); }
  ThreadSet(const ThreadSet&) = delete;
  ThreadSet& operator=(const ThreadSet&) = delete;

  hwloc_bitmap_t set = hwloc_bitmap_alloc();
};

// The host as hwloc describes it.
class Topology {
 public:
  explicit Topology(const char* description) {
    if (hwloc_topology_init(&at_) != 0) return;
    // Devices and caches are not looked at, and would take most of the time.
    hwloc_topology_set_all_types_filter(at_, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(at_, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    for (const hwloc_obj_type_t type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_GROUP})
      hwloc_topology_set_type_filter(at_, type, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    // Ranks in other containers of the host may use cores that this process may not.
    hwloc_topology_set_flags(at_, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (description && hwloc_topology_set_synthetic(at_, description) != 0) return;
    is_loaded_ = hwloc_topology_load(at_) == 0;
  }
  ~Topology() {
    if (at_) hwloc_topology_destroy(at_);
  }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  // Leaves out what is not in `usable`. Returns false if hwloc cannot do that, or finds no cores.
  bool restrict_to(const cpu_set_t& usable) {
    const ThreadSet threads;
    return is_loaded_ &&
           hwloc_cpuset_from_glibc_sched_affinity(at_, threads.set, &usable, sizeof usable) == 0 &&
           hwloc_topology_restrict(at_, threads.set, HWLOC_RESTRICT_FLAG_REMOVE_CPULESS) == 0 &&
           count(HWLOC_OBJ_CORE) > 0;
  }

  int count(hwloc_obj_type_t type) const { return hwloc_get_nbobjs_by_type(at_, type); }

  cpu_set_t threads_of_core(int core) const {
    cpu_set_t threads;
    CPU_ZERO(&threads);
    const hwloc_obj_t found = hwloc_get_obj_by_type(at_, HWLOC_OBJ_CORE, static_cast<unsigned>(core));
    hwloc_cpuset_to_glibc_sched_affinity(at_, found->cpuset, &threads, sizeof threads);
    return threads;
  }

 private:
  hwloc_topology_t at_ = nullptr;
  bool is_loaded_ = false;
};

}  // namespace

HostCores::HostCores(const cpu_set_t& usable, const char* description)
    : hardware_threads_(std::max(1, CPU_COUNT(&usable))) {
  Topology topology(description);
  if (topology.restrict_to(usable)) {
    for (int core = 0; core < topology.count(HWLOC_OBJ_CORE); ++core)
      threads_of_.push_back(topology.threads_of_core(core));
    memories_ = std::max(1, topology.count(HWLOC_OBJ_NUMANODE));
    return;
  }
  for (int thread = 0; thread < CPU_SETSIZE; ++thread) {
    if (!CPU_ISSET(thread, &usable)) continue;
    CPU_ZERO(&threads_of_.emplace_back());
    CPU_SET(thread, &threads_of_.back());
  }
}

cpu_set_t HostCores::share(int index, int parts) const {
  check_invariant(0 <= index && index < parts && parts <= cores(), "a host has fewer cores than parts");
  cpu_set_t share;
  CPU_ZERO(&share);
  const size_t all = threads_of_.size(), count = static_cast<size_t>(parts), at = static_cast<size_t>(index);
  for (size_t core = all * at / count; core < all * (at + 1) / count; ++core)
    CPU_OR(&share, &share, &threads_of_[core]);
  return share;
}

}  // namespace mtfc
