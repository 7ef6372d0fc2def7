#pragma once
// Notices that a host no longer answers, because it has lost its power or its network. MPI and its launcher would wait
// for it for many minutes, as TCP does.
//
// The lowest rank of each node keeps a connection to that of the next node, over which nothing is sent. Every second,
// the system asks the other one whether it still has the connection (TCP's keepalive). No process takes part in that,
// so a host answers while its ranks compute, are stopped, or get no core.
//
//   node 0 ── node 1 ── node 2 ── node 0      node 1 loses its power: nodes 0 and 2 notice it after 5 to 6 seconds

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mtfc {

class Processes;

/// A HostWatch calls these functions on a thread of its own.
struct HostWatchCalls {
  /// Called once at most: `what` says which hosts have been lost, as in `host 'b' (ranks 2, 3) no longer answers host
  /// 'a'`.
  std::function<void(const std::string& what)> lost;
  /// Called if the hosts can't reach each other, so that no loss will be noticed.
  std::function<void(const std::string& why)> warn;
};

class HostWatch {
 public:
  /// All ranks make it at the same time. It does nothing if all of them are on one node.
  HostWatch(Processes& processes, HostWatchCalls calls);
  ~HostWatch();
  HostWatch(const HostWatch&) = delete;
  HostWatch& operator=(const HostWatch&) = delete;

  /// Tells the others that this rank is about to end, which they would otherwise take for a failure. A host that no
  /// longer answers is noticed all the same.
  void say_goodbye();

 private:
  class Ring;
  std::unique_ptr<Ring> ring_;  // on the lowest rank of each node, where there are several nodes
};

}  // namespace mtfc
