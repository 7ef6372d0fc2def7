#pragma once
// A set of texts with numbers, in which all those that begin at a place of a text are found in one pass.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace mtfc {

class ByteTrie {
 public:
  ByteTrie() = default;
  /// Of equal texts, the last number counts. Empty texts are left out.
  explicit ByteTrie(std::vector<std::pair<std::string_view, int32_t>> texts);

  bool is_empty() const { return nodes_.size() <= 1; }
  /// Calls `visit(length, number)` for each text that begins at `at`, the shorter ones first.
  template <typename Visit>
  void for_each_at(std::string_view text, size_t at, Visit visit) const {
    if (is_empty()) return;
    uint32_t node = 0;
    for (size_t end = at; end < text.size();) {
      node = child(node, static_cast<unsigned char>(text[end]));
      if (node == 0) return;
      ++end;
      if (nodes_[node].number >= 0) visit(end - at, nodes_[node].number);
    }
  }
  /// The first byte of some text is this one.
  bool may_begin(unsigned char byte) const { return !is_empty() && child(0, byte) != 0; }

 private:
  struct Node {
    uint32_t first_child = 0;
    uint16_t child_count = 0;
    unsigned char byte = 0;  // that leads here
    int32_t number = -1;     // -1: no text ends here
  };
  using Texts = std::vector<std::pair<std::string_view, int32_t>>;

  uint32_t child(uint32_t node, unsigned char byte) const {
    if (node == 0) return roots_[byte];
    const Node& parent = nodes_[node];
    uint32_t begin = parent.first_child, end = begin + parent.child_count;
    while (begin < end) {
      const uint32_t middle = begin + (end - begin) / 2;
      if (nodes_[middle].byte == byte) return middle;
      if (nodes_[middle].byte < byte)
        begin = middle + 1;
      else
        end = middle;
    }
    return 0;
  }

  std::vector<Node> nodes_;
  uint32_t roots_[256] = {};
};

}  // namespace mtfc
