#include "core/graph/name_index.h"

#include <algorithm>
#include <utility>

#include "core/diagnostics/error.h"

namespace mtfc {

void NameIndex::remove(std::string_view name, int32_t entry) {
  check_invariant(!slots_.empty(), "a name is removed from an index that has none");
  const size_t at = search(hash_of(name), [&](int32_t candidate) { return candidate == entry; });
  check_invariant(slots_[at].entry == entry, "an index lacks a name that is removed from it");
  slots_[at].entry = kRemoved;
}

void NameIndex::clear() {
  std::fill(slots_.begin(), slots_.end(), Slot());
  taken_ = 0;
}

void NameIndex::grow() {
  const auto is_full = [](const Slot& slot) { return slot.entry != kEmpty && slot.entry != kRemoved; };
  const auto full = static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(), is_full));
  size_t size = 16;
  while (size < 2 * (full + 1)) size *= 2;
  const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(size));
  for (const Slot& slot : before) {
    if (!is_full(slot)) continue;
    size_t at = home(slot.hash);
    while (slots_[at].entry != kEmpty) at = next(at);
    slots_[at] = slot;
  }
  taken_ = full;
}

}  // namespace mtfc
