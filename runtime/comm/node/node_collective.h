#pragma once
// The common part of the collectives between ranks that share memory: the memory of the members, and the protocol by
// which they tell each other that operands are ready and results complete (runtime/comm/node/node_collectives.h).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/comm/node/node_collectives.h"

namespace mtfc {

/// The largest collective, by the bytes of a member, in which members do parts for each other (shares_parts()).
inline constexpr int64_t kSharedBytes = int64_t{1} << 21;

/// A range of elements.
struct Share {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

/// Share `index` of `count` elements of `size` bytes that are divided into `parts` at cache lines, so that no two
/// members write to the same line.
inline Share share_of(int64_t count, int64_t size, size_t index, size_t parts) {
  constexpr int64_t kCacheLine = 64;
  const int64_t line = kCacheLine / size, lines = (count + line - 1) / line;
  const auto cut = [&](size_t at) {
    return std::min(count, lines * static_cast<int64_t>(at) / static_cast<int64_t>(parts) * line);
  };
  return {cut(index), cut(index + 1)};
}

/// Moves the sources of `runs` to their targets in the same region of elements of `size` bytes. Targets lie behind
/// their sources and in the same order.
void spread_runs(const std::vector<Run>& runs, int64_t size, std::byte* region);

/// Members are those of the group that are on this node, numbered in the order of the plan.
class NodeCollective : public PreparedCollective {
 public:
  NodeCollective(const CollectivePlan& plan, NodeSite site)
      : plan_(plan),
        site_(std::move(site)),
        group_(site_.group),
        size_(size_of(plan.dtype)),
        moved_once_(moved_by(plan)) {}

  void start() override {
    count(moved_once_);
    epoch_ = group_.barrier().arrive();
  }

 protected:
  size_t members() const { return group_.size(); }
  size_t self() const { return group_.self(); }
  /// The bytes of an element.
  int64_t size() const { return size_; }
  std::byte* input(size_t member) const { return site_.arenas[member] + plan_.input.offset; }
  std::byte* output(size_t member) const { return site_.arenas[member] + plan_.output.offset; }
  std::byte* workspace(size_t member) const { return site_.arenas[member] + plan_.workspace_offset; }
  std::byte* workspace() const { return workspace(self()); }

  /// Returns whether the operands of all members are ready.
  bool has_operands() { return group_.barrier().have_arrived(epoch_); }
  void await_operands() { group_.barrier().await(epoch_, site_.idle); }
  void meet() { group_.barrier().meet(site_.idle); }

  /// The members in turn, beginning with `member`, so that they don't all read the same memory.
  size_t after(size_t member, size_t turn) const { return (member + turn) % members(); }
  size_t other(size_t turn) const { return after(self(), turn); }

  /// Returns whether a member may do the parts of others. This pays where ranks share cores: one that runs need not
  /// wait for one that has no core. `bytes` is the size of a member's operand or result, and must be the same number on
  /// all members, or they would wait for each other forever. In a larger collective each member does its own part,
  /// because the cache of its core may hold the data.
  bool shares_parts(int64_t bytes) const { return group_.barrier().is_crowded() && bytes <= kSharedBytes; }
  /// Does the work of all members, which have a part each, and returns when all of it is done. The operands must be
  /// ready.
  void do_parts(bool shared, const std::function<void(size_t)>& part) {
    if (shared) return group_.barrier().do_together(part, site_.idle);
    part(self());
    meet();
  }

  const CollectivePlan plan_;
  const NodeSite site_;
  NodeGroup& group_;

 private:
  const int64_t size_;
  const CollectiveCost moved_once_;
  uint64_t epoch_ = 0;
};

}  // namespace mtfc
