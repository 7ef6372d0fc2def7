#pragma once
// All devices of a mesh in one process, for --simulate, verify, tests and sanitizers. A collective is
// executed in its wait, by copies between arenas; reductions follow the order of members, so results are
// always the same.

#include "runtime/comm/comm.h"

namespace mtfc {

class LockstepComm : public Comm {
 public:
  LockstepComm(const Mesh& mesh, Processes& processes);
  const Mesh& mesh() const override { return mesh_; }
  const std::vector<Coordinates>& devices() const override { return devices_; }
  Processes& processes() override { return processes_; }
  std::vector<int> nodes() const override { return std::vector<int>(static_cast<size_t>(mesh_.devices())); }
  std::vector<Arena> make_arenas(int64_t bytes) override;
  std::unique_ptr<Collectives> prepare(const EntryPoint& entry, std::span<const Arena> arenas) override;

 private:
  Mesh mesh_;
  Processes& processes_;
  std::vector<Coordinates> devices_;
};

}  // namespace mtfc
