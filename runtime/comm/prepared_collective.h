#pragma once
// One collective of one device with everything it needs, whether its data travels by messages or through
// memory that the ranks of a node share.

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
};

}  // namespace mtfc
