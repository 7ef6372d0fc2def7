#pragma once
// One device is one rank of MPI_COMM_WORLD, placed on the mesh in row-major order. Every collective is
// non-blocking and uses MPI's large counts; waiting tests, and yields the core where ranks outnumber cores.
// Communicators are made once per set of axes and kept.

#include <memory>

#include "runtime/comm.h"

namespace mtfc {

class MpiComm : public Comm {
 public:
  /// Throws RunError where the mesh has another size than MPI_COMM_WORLD.
  MpiComm(const Mesh& mesh, Processes& processes);
  ~MpiComm() override;
  const Mesh& mesh() const override { return mesh_; }
  const std::vector<Coordinates>& devices() const override { return devices_; }
  Processes& processes() override { return processes_; }
  std::unique_ptr<Collectives> prepare(const EntryPoint& entry, std::span<const Arena> arenas) override;

 private:
  class Groups;
  Mesh mesh_;
  Processes& processes_;
  std::vector<Coordinates> devices_;
  std::unique_ptr<Groups> groups_;
};

}  // namespace mtfc
