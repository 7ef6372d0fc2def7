#include "formats/tokenizer/charsmap.h"

#include <utf8proc.h>

#include <algorithm>

#include "formats/tokenizer/code_points.h"

namespace mtfc {
namespace {

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

std::string decode_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int digit = base64_digit(c);
    if (digit < 0) throw CharsmapError("the table of characters is not in base64");
    bits = (bits << 6 | static_cast<uint32_t>(digit)) & 0xFFFFFF;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

uint32_t little_endian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i)
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << 8 * i;
  return value;
}

// The parts of a unit of a double-array trie.
bool has_leaf(uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
uint32_t value_of(uint32_t unit) {
  return unit & 0x7FFFFFFF;
}
uint32_t label_of(uint32_t unit) {
  return unit & 0x800000FF;
}
uint32_t offset_of(uint32_t unit) {
  return unit >> 10 << ((unit & 1 << 9) >> 6);
}

// The units of the trie.
std::vector<uint32_t> units_of(std::string_view bytes) {
  const size_t trie_size = bytes.size() < 4 ? 0 : little_endian(bytes, 0);
  if (trie_size == 0 || trie_size % 4 != 0 || trie_size > bytes.size() - 4)
    throw CharsmapError("the table of characters is damaged");
  std::vector<uint32_t> units;
  for (size_t at = 4; at < 4 + trie_size; at += 4) units.push_back(little_endian(bytes, at));
  return units;
}

// Follows all texts through a trie, whose units may share what comes behind them.
class TrieCheck {
 public:
  TrieCheck(const std::vector<uint32_t>& units, size_t replacements)
      : units_(units), replacements_(replacements), keys_(units.size(), kUnseen) {}

  void run() {
    enter(0);
    while (!open_.empty()) {
      Node& node = open_.back();
      const uint32_t at = node.at, next = at ^ offset_of(units_[at]);
      if (node.byte == 256) {
        keys_[at] = node.most + (has_leaf(units_[at]) ? 1 : 0);
        require(keys_[at] <= kMostKeys);
        open_.pop_back();
        if (!open_.empty()) open_.back().most = std::max(open_.back().most, keys_[at]);
        continue;
      }
      const uint32_t child = next ^ node.byte;
      if (label_of(units_[child]) == node.byte++) enter(child);
    }
  }

 private:
  static constexpr int kUnseen = -1, kOpen = -2;
  static constexpr int kMostKeys = 32;  // of which each begins with the one before

  struct Node {
    uint32_t at, byte;  // the unit, and the next byte to follow from it
    int most;           // the keys behind it
  };

  static void require(bool holds) {
    if (!holds) throw CharsmapError("the table of characters is damaged");
  }
  void enter(uint32_t at) {
    require(keys_[at] != kOpen);  // A text would never end.
    if (keys_[at] >= 0) {
      open_.back().most = std::max(open_.back().most, keys_[at]);
      return;
    }
    const uint32_t next = at ^ offset_of(units_[at]);
    require((next | 0xFF) < units_.size());
    require(!has_leaf(units_[at]) || value_of(units_[next]) < replacements_);
    keys_[at] = kOpen;
    open_.push_back({at, 0, 0});
  }

  const std::vector<uint32_t>& units_;
  const size_t replacements_;  // bytes
  std::vector<int> keys_;      // by unit: the most keys on a way from there
  std::vector<Node> open_;
};

}  // namespace

void check_charsmap(std::string_view bytes) {
  const std::vector<uint32_t> units = units_of(bytes);
  const std::string_view replacements = bytes.substr(4 + 4 * units.size());
  if (!replacements.ends_with('\0')) throw CharsmapError("the table of characters is damaged");
  TrieCheck(units, replacements.size()).run();
}

Charsmap::Charsmap(std::string_view base64) {
  if (base64.empty()) return;
  const std::string bytes = decode_base64(base64);
  units_ = units_of(bytes);
  replacements_ = bytes.substr(4 + 4 * units_.size());
  if (valid_prefix(replacements_) < replacements_.size())
    throw CharsmapError("the replacements in the table of characters are not UTF-8");
}

// That of the shortest key with which `characters` begin.
std::optional<std::string_view> Charsmap::replacement(std::string_view characters) const {
  if (units_.empty()) return std::nullopt;
  uint32_t at = offset_of(units_[0]);
  for (const char c : characters) {
    const uint32_t byte = static_cast<unsigned char>(c);
    if (byte == 0) return std::nullopt;
    at ^= byte;
    if (at >= units_.size() || label_of(units_[at]) != byte) return std::nullopt;
    const uint32_t unit = units_[at];
    at ^= offset_of(unit);
    if (at >= units_.size()) return std::nullopt;
    if (!has_leaf(unit)) continue;
    const std::string_view all = replacements_;
    const uint32_t begin = value_of(units_[at]);
    const bool is_inside = begin < all.size() && (static_cast<unsigned char>(all[begin]) & 0xC0) == 0x80;
    if (begin >= all.size() || is_inside) return "";  // only in damaged tables
    return all.substr(begin, all.find('\0', begin) - begin);
  }
  return std::nullopt;
}

void Charsmap::add_cluster(std::string& result, std::string_view cluster) const {
  constexpr size_t kLongest = 5;  // bytes of a cluster that is replaced as a whole
  if (cluster.size() <= kLongest)
    if (const auto whole = replacement(cluster)) {
      result += *whole;
      return;
    }
  for_each_code_point(cluster, [&](CodePoint point, size_t at) {
    const std::string_view character = cluster.substr(at, point.length);
    result += replacement(character).value_or(character);
  });
}

std::string Charsmap::apply(std::string_view text) const {
  std::string result;
  result.reserve(text.size());
  size_t begin = 0, last = 0;
  utf8proc_int32_t state = 0;
  for_each_code_point(text, [&](CodePoint point, size_t at) {
    const auto before = static_cast<utf8proc_int32_t>(at > 0 ? code_point_at(text, last).value : 0);
    if (at > 0 &&
        utf8proc_grapheme_break_stateful(before, static_cast<utf8proc_int32_t>(point.value), &state)) {
      add_cluster(result, text.substr(begin, at - begin));
      begin = at;
    }
    last = at;
  });
  if (begin < text.size()) add_cluster(result, text.substr(begin));
  return result;
}

}  // namespace mtfc
