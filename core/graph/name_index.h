#pragma once
// Finds entries of a list by their names without a copy of the names: a hash table of positions, with open
// addressing. It does not know the list; a search is given a function that compares an entry's name.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace mtfc {

class NameIndex {
 public:
  /// Adds an entry under `name` and returns true. If an entry already has that name, changes nothing and returns false.
  /// `has_name(entry)` tells whether an entry of the list has the name.
  template <typename HasName>
  bool add_unless(std::string_view name, int32_t entry, const HasName& has_name) {
    make_room();
    const uint32_t hash = hash_of(name);
    const size_t at = search(hash, has_name);
    if (slots_[at].entry != kEmpty) return false;
    slots_[at] = {hash, entry};
    ++taken_;
    return true;
  }
  /// Removes an entry that was added under this name.
  void remove(std::string_view name, int32_t entry);

  /// The entry named `name`, as `has_name` decides; nothing if there is none.
  template <typename HasName>
  std::optional<int32_t> find(std::string_view name, const HasName& has_name) const {
    if (slots_.empty()) return std::nullopt;
    const int32_t entry = slots_[search(hash_of(name), has_name)].entry;
    return entry == kEmpty ? std::nullopt : std::optional(entry);
  }
  /// Removes all entries, and keeps the room for them.
  void clear();

 private:
  static constexpr int32_t kEmpty = std::numeric_limits<int32_t>::min(), kRemoved = kEmpty + 1;
  struct Slot {
    uint32_t hash = 0;
    int32_t entry = kEmpty;
  };
  static uint32_t hash_of(std::string_view name) {
    return static_cast<uint32_t>(std::hash<std::string_view>()(name));
  }
  size_t home(uint32_t hash) const { return hash & (slots_.size() - 1); }
  size_t next(size_t at) const { return (at + 1) & (slots_.size() - 1); }
  // The slot of the name with this hash, or the empty one behind all that it could be in.
  template <typename HasName>
  size_t search(uint32_t hash, const HasName& has_name) const {
    size_t at = home(hash);
    while (slots_[at].entry != kEmpty &&
           !(slots_[at].hash == hash && slots_[at].entry != kRemoved && has_name(slots_[at].entry)))
      at = next(at);
    return at;
  }
  void make_room() {
    if (4 * (taken_ + 1) > 3 * slots_.size()) grow();
  }
  void grow();

  std::vector<Slot> slots_;  // a power of two of them, at least one of which is empty; or none
  size_t taken_ = 0;         // slots that are not empty
};

}  // namespace mtfc
