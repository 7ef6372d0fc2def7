#pragma once
// One device is one rank of MPI_COMM_WORLD, placed on the mesh in row-major order.
//
// The route of a collective's data depends on the nodes of its group's members: between members on one node
// it goes by loads and stores (runtime/comm/node/node_collectives.h), otherwise by messages
// (runtime/comm/mpi/mpi_exchange.h), and most kinds use both where nodes have several members
// (runtime/comm/mpi/two_level.h). If memory can't be shared, everything goes by messages. Communicators are made once
// per set of axes and kept.

#include <map>
#include <memory>

#include "runtime/comm/comm.h"
#include "runtime/comm/mpi/node_memory.h"
#include "runtime/comm/node/node_collectives.h"
#include "runtime/comm/prepared_ring.h"

namespace mtfc {

class MpiComm : public Comm {
 public:
  /// Throws RunError if the mesh and MPI_COMM_WORLD differ in size.
  MpiComm(const Mesh& mesh, Processes& processes, NodeMemory& node);
  ~MpiComm() override;
  const Mesh& mesh() const override { return mesh_; }
  const std::vector<Coordinates>& devices() const override { return devices_; }
  Processes& processes() override { return processes_; }
  std::vector<int> nodes() const override { return node_.nodes(); }
  std::vector<Arena> make_arenas(int64_t bytes) override;
  std::unique_ptr<Collectives> prepare(const EntryPoint& entry, std::span<const Arena> arenas) override;

 private:
  class Groups;
  bool crosses_nodes(const AxisList& axes);
  struct Occasion;
  std::unique_ptr<PreparedCollective> prepare(const CollectivePlan& plan, const Occasion& occasion);
  std::unique_ptr<PreparedRing> prepare(const RingPlan& plan, const Arena& arena, const Idle& idle);
  std::optional<NodeSite> site_on_node(const AxisList& axes, const std::vector<int64_t>& ranks,
                                       const Arena& arena, const Idle& idle);
  int next_tag();

  Mesh mesh_;
  Processes& processes_;
  NodeMemory& node_;
  std::vector<Coordinates> devices_;
  std::unique_ptr<Groups> groups_;
  std::map<AxisList, bool> crosses_;
  int tags_used_ = 0;
};

}  // namespace mtfc
