#include "core/search/bound_table.h"

#include <limits>

namespace mtfc {

bool BoundTable::is_legal(std::span<const uint16_t> options, uint16_t next) const {
  const size_t dim = scope_.dims[options.size()];
  if (!scope_.agree(dim, next, dim, next)) return false;
  for (size_t i = 0; i < options.size(); ++i)
    if (!scope_.agree(scope_.dims[i], options[i], dim, next)) return false;
  return true;
}

std::optional<uint32_t> BoundTable::add(std::vector<uint16_t>& options, const std::function<bool()>& stops) {
  const auto made = static_cast<uint32_t>(entries_.size());
  entries_.emplace_back();
  const size_t depth = options.size();
  if (depth == scope_.dims.size()) {
    if (stops()) return std::nullopt;
    entries_[made].cost = cost_(options);
    return made;
  }
  constexpr double kMost = std::numeric_limits<double>::max() / 4;
  BoundCost least{kMost, kMost, kMost, kMost};
  std::vector<uint32_t> next(scope_.options[depth], 0);
  bool any = false;
  for (size_t option = 0; option < next.size(); ++option) {
    if (!is_legal(options, static_cast<uint16_t>(option))) continue;
    options.push_back(static_cast<uint16_t>(option));
    const std::optional<uint32_t> added = add(options, stops);
    options.pop_back();
    if (!added) return std::nullopt;
    next[option] = *added;
    least.lower_to(entries_[next[option]].cost);
    any = true;
  }
  entries_[made].cost = any ? least : BoundCost{};
  entries_[made].next = std::move(next);
  return made;
}

bool BoundTable::fill(const std::function<bool()>& stops) {
  std::vector<uint16_t> none;
  if (!entries_.empty() || add(none, stops)) return true;
  entries_.clear();
  return false;
}

const BoundCost& BoundTable::least(std::span<const uint16_t> options) {
  fill([] { return false; });
  static const BoundCost kNothing;
  uint32_t at = 0;
  for (const uint16_t option : options) {
    at = entries_[at].next[option];
    if (at == 0) return kNothing;  // not legal, so nobody should ask
  }
  return entries_[at].cost;
}

size_t BoundTable::choices(size_t limit) const {
  size_t count = 0;
  std::vector<uint16_t> options;
  const auto visit = [&](auto&& self) -> void {
    if (count >= limit) return;
    if (options.size() == scope_.dims.size()) {
      ++count;
      return;
    }
    for (size_t option = 0; option < scope_.options[options.size()]; ++option) {
      if (!is_legal(options, static_cast<uint16_t>(option))) continue;
      options.push_back(static_cast<uint16_t>(option));
      self(self);
      options.pop_back();
    }
  };
  visit(visit);
  return count;
}

}  // namespace mtfc
