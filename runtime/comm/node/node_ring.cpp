#include "runtime/comm/node/node_ring.h"

#include <utility>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

// A slice of an operand is read from its owner's operand, which is there from the beginning to the end. A sum is read
// from the next member once all members are done with the turn before.
class NodeRing : public RingInMemory {
 public:
  NodeRing(RingPlan plan, NodeSite site)
      : RingInMemory(std::move(plan), site.arenas), site_(std::move(site)) {}

  void begin() override {
    if (!plan().passes_result) epoch_ = site_.group.barrier().arrive();
  }
  const std::byte* take(size_t turn) override {
    if (turn == 1 && !plan().passes_result) site_.group.barrier().await(epoch_, site_.idle);
    return RingInMemory::take(turn);
  }
  void end() override { site_.group.barrier().meet(site_.idle); }

 private:
  void send(size_t turn, const std::byte* slice) override {
    RingInMemory::send(turn, slice);
    if (plan().passes_result) site_.group.barrier().meet(site_.idle);
  }

  const NodeSite site_;
  uint64_t epoch_ = 0;
};

}  // namespace

std::unique_ptr<PreparedRing> node_ring(RingPlan plan, NodeSite site) {
  check_invariant(plan.members() == site.group.size() && plan.self == site.group.self(),
                  "a ring inside a node has members elsewhere");
  return std::make_unique<NodeRing>(std::move(plan), std::move(site));
}

}  // namespace mtfc
