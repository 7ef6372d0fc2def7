#pragma once
// One collective of one device with everything it needs, whether its data travels by messages or through
// memory that the ranks of a node share.

#include "core/program/collective_cost.h"

namespace mtfc {

class PreparedCollective {
 public:
  virtual ~PreparedCollective() = default;
  /// From here to the end of wait(), its input, output and workspace belong to it. Every device of the group
  /// starts and waits for the same collectives in the same order.
  virtual void start() = 0;
  virtual void wait() = 0;
  /// Lets its messages move; cheap. Called between start and wait.
  virtual void progress() {}

  /// The traffic since clear_moved(), counted as the collective starts or completes, from the regions that it reads
  /// and sends, by the definitions of core/program/collective_cost.h.
  const CollectiveCost& moved() const { return moved_; }
  void clear_moved() { moved_ = {}; }

 protected:
  void count(const CollectiveCost& moved) { moved_ += moved; }

 private:
  CollectiveCost moved_;
};

}  // namespace mtfc
