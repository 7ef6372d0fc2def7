#include "core/search/fewer_devices.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/cost/cost.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/stop.h"
#include "core/tensors/division.h"

namespace mtfc {
namespace {

// The layout with another size of one axis, its ranks in the order of the mesh.
Layout with_size(Layout layout, int axis, int64_t size) {
  std::vector<Axis> axes = layout.mesh.axes();
  axes[static_cast<size_t>(axis)].size = size;
  layout.mesh = Mesh(std::move(axes));
  return layout;
}

bool is_named(const Layout& layout, int axis) {
  return std::any_of(layout.rules.begin(), layout.rules.end(),
                     [&](const Rule& rule) { return contains(rule.axes, axis); });
}

// Without the axes of size 1, which split nothing.
Layout without_ones(const Layout& layout) {
  std::vector<Axis> axes;
  std::vector<int> moved;  // by axis: its new position, or -1
  for (const Axis& axis : layout.mesh.axes()) {
    moved.push_back(axis.size > 1 ? static_cast<int>(axes.size()) : -1);
    if (axis.size > 1) axes.push_back(axis);
  }
  Layout made = layout;
  made.mesh = Mesh(std::move(axes));
  for (Rule& rule : made.rules) {
    AxisList kept;
    for (const int axis : rule.axes)
      if (const int to = moved[static_cast<size_t>(axis)]; to >= 0) kept.push_back(to);
    rule.axes = std::move(kept);
  }
  std::erase_if(made.rules, [](const Rule& rule) { return rule.axes.empty(); });
  return made;
}

class Fewer {
 public:
  Fewer(const SearchTask& task, const FoundLayout& best)
      : task_(task), longest_(best.step_s * (1 + kEquallyFast)), layout_(best.layout) {}

  std::optional<FoundLayout> find() {
    std::vector<int> order;
    for (int axis = 0; axis < static_cast<int>(layout_.mesh.axes().size()); ++axis) order.push_back(axis);
    std::stable_partition(order.begin(), order.end(), [&](int axis) { return !is_named(layout_, axis); });
    for (const int axis : order) shorten(axis);
    return std::move(found_);
  }

 private:
  // Bisection: a longer axis is taken to be as good.
  void shorten(int axis) {
    const std::vector<int64_t> sizes = divisors(layout_.mesh.size(axis));
    size_t low = 0, high = sizes.size() - 1;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      const Layout trial = with_size(layout_, axis, sizes[middle]);
      if (std::optional<FoundLayout> found = as_fast(trial)) {
        found_ = std::move(found);
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    layout_ = with_size(layout_, axis, sizes[high]);
  }

  std::optional<FoundLayout> as_fast(const Layout& trial) const {
    const std::string& name = task_.options.entry;
    FoundLayout found{without_ones(trial)};
    try {
      const Program program = task_.prepared.compile(found.layout, {name});
      set_costs(task_, program, predicted_counts(program, *program.find(name)), found);
      if (found.step_s > longest_) return std::nullopt;
      found.memory = task_.prepared.compile(found.layout).arena_bytes();
    } catch (const UserError&) {
      return std::nullopt;
    }
    const int64_t limit = task_.options.memory_limit;
    if (limit > 0 && found.memory > limit) return std::nullopt;
    return found;
  }

  const SearchTask& task_;
  double longest_;
  Layout layout_;
  std::optional<FoundLayout> found_;
};

}  // namespace

std::optional<FoundLayout> on_fewer_devices(const SearchTask& task, const FoundLayout& best) {
  if (best.is_fitted || best.layout.mesh.devices() == 1) return std::nullopt;
  try {
    return Fewer(task, best).find();
  } catch (const Stopped&) {
    return std::nullopt;  // there was no time to find out
  }
}

}  // namespace mtfc
