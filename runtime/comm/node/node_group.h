#pragma once
// The members of one group on one node: their epochs, and a pair of mailboxes per member for operands so
// small that it is quickest to publish them together with the news that they are ready.
//
// A mailbox holds the operand of one small collective. Its owner fills it and arrives; every member reads all
// mailboxes and is done without waiting for the others. With two mailboxes the next collective has one of its
// own, and the one after that finds the first one free unless a rank lags behind by two.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/comm/node/node_barrier.h"

namespace mtfc {

inline constexpr int kMailboxes = 2;
inline constexpr int64_t kMailboxBytes = 8192;

/// The memory that one rank shares with one group.
struct GroupPage {
  RankEpochs epochs;
  alignas(128) std::byte mail[kMailboxes][kMailboxBytes];
};

class NodeGroup {
 public:
  /// `pages` by member, all zero at first.
  NodeGroup(std::vector<GroupPage*> pages, size_t self, const Waiting& waiting);

  size_t size() const { return pages_.size(); }
  size_t self() const { return barrier_.self(); }
  NodeBarrier& barrier() { return barrier_; }

  /// A mailbox for the collective that is about to start, the same on all members; nullopt if the collectives
  /// under way occupy all of them.
  std::optional<int> take_mailbox(const Idle& idle);
  std::byte* mail(size_t member, int mailbox) const { return pages_[member]->mail[mailbox]; }
  /// Says that this member has read all mail in `mailbox`.
  void give_back(int mailbox);

 private:
  std::vector<GroupPage*> pages_;
  NodeBarrier barrier_;
  int next_ = 0;
  bool taken_[kMailboxes] = {};
  uint64_t read_at_[kMailboxes] = {};  // the phase at whose end all mail has been read
};

}  // namespace mtfc
