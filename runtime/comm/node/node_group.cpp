#include "runtime/comm/node/node_group.h"

namespace mtfc {
namespace {

std::vector<RankEpochs*> epochs_of(const std::vector<GroupPage*>& pages) {
  std::vector<RankEpochs*> epochs;
  for (GroupPage* page : pages) epochs.push_back(&page->epochs);
  return epochs;
}

}  // namespace

NodeGroup::NodeGroup(std::vector<GroupPage*> pages, size_t self, const Waiting& waiting)
    : pages_(std::move(pages)), barrier_(epochs_of(pages_), self, waiting) {}

std::optional<int> NodeGroup::take_mailbox(const Idle& idle) {
  const int mailbox = next_;
  if (taken_[mailbox]) return std::nullopt;
  barrier_.await_finished(read_at_[mailbox], idle);
  taken_[mailbox] = true;
  next_ = (next_ + 1) % kMailboxes;
  return mailbox;
}

void NodeGroup::give_back(int mailbox) {
  read_at_[mailbox] = barrier_.finish();
  taken_[mailbox] = false;
}

}  // namespace mtfc
