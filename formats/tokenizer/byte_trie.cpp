#include "formats/tokenizer/byte_trie.h"

#include <algorithm>
#include <deque>

namespace mtfc {

ByteTrie::ByteTrie(Texts texts) {
  std::erase_if(texts, [](const auto& text) { return text.first.empty(); });
  std::stable_sort(texts.begin(), texts.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  struct Range {
    uint32_t node;
    size_t begin, end, depth;
  };
  // Level by level, so that the children of a node lie together.
  std::deque<Range> open = {{0, 0, texts.size(), 0}};
  nodes_.emplace_back();
  while (!open.empty()) {
    const Range range = open.front();
    open.pop_front();
    size_t at = range.begin;
    for (; at < range.end && texts[at].first.size() == range.depth; ++at)
      nodes_[range.node].number = texts[at].second;
    nodes_[range.node].first_child = static_cast<uint32_t>(nodes_.size());
    while (at < range.end) {
      const auto byte = static_cast<unsigned char>(texts[at].first[range.depth]);
      size_t end = at;
      while (end < range.end && static_cast<unsigned char>(texts[end].first[range.depth]) == byte) ++end;
      const auto child = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({0, 0, byte, -1});
      ++nodes_[range.node].child_count;
      if (range.depth == 0) roots_[byte] = child;
      open.push_back({child, at, end, range.depth + 1});
      at = end;
    }
  }
}

}  // namespace mtfc
