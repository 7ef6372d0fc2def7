#include "core/program/sent_elements.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/diagnostics/stop.h"
#include "core/tensors/division.h"

namespace mtfc {
namespace {

// most() looks at this many devices one by one before it multiplies amounts. Plans that compare many moves look at no
// more, and take a bound for larger meshes.
constexpr int64_t kDevicesLookedAt = 128;
// If more devices than this differ in what they send, most() is a bound.
constexpr int64_t kMostSampled = int64_t{1} << 17;
// On more devices than this, none() does not search for a device that sends something; it assumes one.
constexpr int64_t kMostDevices = 4096;

void add_axes(AxisList& to, const AxisList& axes) {
  for (const int axis : axes)
    if (!contains(to, axis)) to.push_back(axis);
}

int64_t overlap(Interval a, Interval b) {
  return std::max<int64_t>(0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
}

// The number of `axes` that are left without the longest suffix whose axes all are in `group`.
size_t kept_axes(const AxisList& axes, const AxisList& group) {
  size_t kept = axes.size();
  while (kept > 0 && contains(group, axes[kept - 1])) --kept;
  return kept;
}
AxisList without_suffix(AxisList axes, const AxisList& group) {
  axes.resize(kept_axes(axes, group));
  return axes;
}

bool has_all(const AxisList& list, const AxisList& axes) {
  return std::all_of(axes.begin(), axes.end(), [&](int axis) { return contains(list, axis); });
}

bool shares_axis(const AxisList& a, const AxisList& b) {
  return std::any_of(a.begin(), a.end(), [&](int axis) { return contains(b, axis); });
}

bool is_single(const ReshapeGroup& group) {
  return group.from_end - group.from_begin == 1 && group.to_end - group.to_begin == 1;
}

MovedTensor tensor_of(const EntryPoint& entry, ValueId id) {
  return {entry.values[id].type.dims, entry.values[id].sharding};
}

}  // namespace

PieceMap piece_map_of(const EntryPoint& entry, const Step& step) {
  return {*step.op(), step.attributes(), global_types(entry, step.inputs), global_types(entry, step.outputs)};
}

// Devices that stand for all those that differ along some axes. Where a dimension has fewer elements than shards, no
// more shards are looked at than it has elements: the others are empty, and all alike.
class SentElements::Sample {
 public:
  Sample(const Mesh& mesh, AxisList axes) : mesh_(mesh), rest_(std::move(axes)) {}

  bool has(const AxisList& axes) const { return !axes.empty() && has_all(rest_, axes); }
  // The devices whose shards of a dimension of this size over `axes` hold elements and, if `and_empty`, one whose shard
  // is empty.
  void add(const AxisList& axes, int64_t size, bool and_empty) {
    const int64_t parts = mesh_.size(axes);
    std::erase_if(rest_, [&](int axis) { return contains(axes, axis); });
    parts_.push_back({axes, size, parts, size < parts ? size + (and_empty ? 1 : 0) : parts});
  }
  // All devices along the axes that are left.
  void add_rest() {
    const AxisList axes = rest_;
    add(axes, mesh_.size(axes), false);
  }

  bool is_large() const {
    int64_t count = 1;
    for (const Part& part : parts_) {
      if (part.count > kMostSampled / count) return true;
      count *= part.count;
    }
    return false;
  }
  int64_t count() const {
    int64_t count = 1;
    for (const Part& part : parts_) count *= part.count;
    return count;
  }
  Coordinates device(int64_t index) const {
    if (index % 256 == 255) check_stop();
    Coordinates at = mesh_.last();
    for (const Part& part : parts_) {
      at = mesh_.moved(std::move(at), part.axes, part.shard(index % part.count));
      index /= part.count;
    }
    return at;
  }

 private:
  struct Part {
    AxisList axes;
    int64_t size, parts, count;

    int64_t shard(int64_t i) const {
      if (size >= parts) return i;
      return i < size ? shard_of(size, parts, i) : 0;  // the first shard is empty
    }
  };

  const Mesh& mesh_;
  AxisList rest_;
  std::vector<Part> parts_;
};

SentElements::SentElements(const MovedTensor& from, const MovedTensor& to, AxisList axes, const Mesh& mesh)
    : result_(to), axes_(std::move(axes)), mesh_(mesh) {
  std::vector<Line> lines;
  if (to.sharding.windows.empty()) {
    for (const ReshapeGroup& group : reshape_groups(from.dims, to.dims)) lines.push_back({group, {}, {}});
  } else {
    for (size_t d = 0; d < to.dims.size(); ++d)
      lines.push_back({{d, d + 1, d, d + 1}, {}, {}, false, to.sharding.window(d)});
  }
  add_operand(from, std::move(lines));
}

SentElements::SentElements(PieceMap pieces, const std::vector<MovedTensor>& operands,
                           const MovedTensor& result, AxisList axes, const Mesh& mesh)
    : pieces_(std::move(pieces)), result_(result), axes_(std::move(axes)), mesh_(mesh) {
  for (size_t k = 0; k < operands.size(); ++k) {
    std::vector<Line> lines;
    for (size_t d = 0; d < result.dims.size(); ++d) {
      const size_t from = pieces_->operand_dim(k, d);
      lines.push_back({{from, from + 1, d, d + 1}, {}, {}, pieces_->moves(d)});
    }
    add_operand(operands[k], std::move(lines));
  }
}

void SentElements::add_operand(const MovedTensor& from, std::vector<Line> lines) {
  for (Line& line : lines) {
    for (size_t i = line.dims.from_begin; i < line.dims.from_end; ++i)
      add_axes(line.from_axes, from.sharding.dims[i]);
    for (size_t i = line.dims.to_begin; i < line.dims.to_end; ++i)
      add_axes(line.to_axes, result_.sharding.dims[i]);
    add_axes(split_, line.from_axes);
    add_axes(split_, line.to_axes);
  }
  if (operands_.empty()) receivers_ = copies(result_.sharding, axes_);
  operands_.push_back({from, std::move(lines)});
  devices_ = mesh_.size(split_);
}

// The axes in `joined` along which the shards of the dimensions [begin, end) do not make up one interval of each.
AxisList SentElements::apart(const Sharding& sharding, size_t begin, size_t end, const AxisList& joined) {
  AxisList apart;
  for (size_t d = begin; d < end; ++d) {
    const AxisList& axes = sharding.dims[d];
    for (size_t i = 0; i < kept_axes(axes, joined); ++i)
      if (contains(joined, axes[i])) apart.push_back(axes[i]);
  }
  return apart;
}

// The shards of devices that differ in minor axes make up a shard of the coarser split.
Interval SentElements::joint(const MovedTensor& tensor, size_t dim, const Devices& devices) const {
  const AxisList kept = without_suffix(tensor.sharding.dims[dim], devices.axes);
  return shard_interval(tensor.dims[dim].size, mesh_.size(kept), mesh_.index(devices.first, kept));
}

int64_t SentElements::common(size_t operand, const Line& line, const Devices& from, const Devices& to) const {
  const ReshapeGroup& dims = line.dims;
  const MovedTensor& held = operands_[operand].tensor;
  if (line.window) {
    const AxisList& axes = line.to_axes;
    const Interval shard = shard_interval(line.window->size, mesh_.size(axes), mesh_.index(to.first, axes));
    return overlap(joint(held, dims.from_begin, from),
                   line.window->region(result_.dims[dims.to_begin].size, shard));
  }
  if (line.is_moved)
    return pieces_->common_along(operand, dims.to_begin, joint(held, dims.from_begin, from),
                                 joint(result_, dims.to_begin, to));
  if (is_single(dims)) return overlap(joint(held, dims.from_begin, from), joint(result_, dims.to_begin, to));
  Box source(held.dims.size()), target(result_.dims.size());
  for (size_t d = dims.from_begin; d < dims.from_end; ++d) source[d] = joint(held, d, from);
  for (size_t d = dims.to_begin; d < dims.to_end; ++d) target[d] = joint(result_, d, to);
  return common_elements(held.dims, source, result_.dims, target, dims);
}

// Senders and receivers vary independently, so only those are taken one by one whose shards are no interval together.
int64_t SentElements::along(size_t operand, const Line& line, const Devices& from, const Devices& to) const {
  const ReshapeGroup& dims = line.dims;
  const AxisList senders =
      apart(operands_[operand].tensor.sharding, dims.from_begin, dims.from_end, from.axes);
  // Regions that windows read overlap.
  AxisList receivers;
  if (line.window)
    std::copy_if(line.to_axes.begin(), line.to_axes.end(), std::back_inserter(receivers),
                 [&](int axis) { return contains(to.axes, axis); });
  else
    receivers = apart(result_.sharding, dims.to_begin, dims.to_end, to.axes);
  if (senders.empty() && receivers.empty()) return common(operand, line, from, to);
  const bool all_read = line.window && receivers.size() == line.to_axes.size();
  int64_t sum = 0;
  for (int64_t s = 0; s < mesh_.size(senders); ++s) {
    if (s % 256 == 255) check_stop();
    const Devices sender{mesh_.moved(from.first, senders, s), from.axes};
    if (all_read) {
      sum += read_by_all(line, joint(operands_[operand].tensor, dims.from_begin, sender));
      continue;
    }
    for (int64_t r = 0; r < mesh_.size(receivers); ++r) {
      if (r % 256 == 255) check_stop();
      sum += common(operand, line, sender, {mesh_.moved(to.first, receivers, r), to.axes});
    }
  }
  return sum;
}

// The number of elements of `held` that all members together read through the line's window. Few members read any.
int64_t SentElements::read_by_all(const Line& line, const Interval& held) const {
  const WindowSplit& window = *line.window;
  const int64_t parts = mesh_.size(line.to_axes), n = result_.dims[line.dims.to_begin].size;
  const Interval readers = window.readers(held, parts);
  int64_t sum = 0;
  for (int64_t member = readers.begin; member < readers.end; ++member)
    sum += overlap(held, window.region(n, shard_interval(window.size, parts, member)));
  return sum;
}

// The devices over `axes` that hold the same shard of a tensor.
int64_t SentElements::copies(const Sharding& sharding, const AxisList& axes) const {
  const AxisList split = split_axes(sharding);
  int64_t count = 1;
  for (const int axis : axes)
    if (!contains(split, axis)) count *= mesh_.size(axis);
  return count;
}

int64_t SentElements::pairs(const Devices& from, const Devices& to) const {
  const int64_t receivers = copies(result_.sharding, to.axes);
  int64_t total = 0;
  for (size_t k = 0; k < operands_.size(); ++k) {
    int64_t product = receivers * copies(operands_[k].tensor.sharding, from.axes);
    for (const Line& line : operands_[k].lines) product *= along(k, line, from, to);
    total += product;
  }
  return total;
}

int64_t SentElements::sent(const Coordinates& at) const {
  const Devices alone{at, {}}, group{at, axes_};
  int64_t total = 0;
  for (size_t k = 0; k < operands_.size(); ++k) {
    int64_t all = receivers_, own = 1;
    for (const Line& line : operands_[k].lines) {
      all *= along(k, line, alone, group);
      own *= common(k, line, alone, alone);
    }
    total += all - own;
  }
  return total;
}

int64_t SentElements::most_wanted(size_t operand, const Line& line) const {
  const MovedTensor& from = operands_[operand].tensor;
  int64_t held = 1;
  for (size_t i = line.dims.from_begin; i < line.dims.from_end; ++i)
    held *= ceil_div(from.dims[i].size, mesh_.size(from.sharding.dims[i]));
  // As many windows as overlap have an element, and it may be in a gap between windows of one more shard.
  if (line.window)
    return held * std::min(mesh_.size(line.to_axes), ceil_div(line.window->span, line.window->step) + 1);
  // Pieces may take an element more than once.
  if (line.is_moved) return held * std::max<int64_t>(1, pieces_->count(operand));
  if (!is_single(line.dims)) return held;
  const AxisList kept = without_suffix(line.to_axes, axes_);
  return shares_axis(kept, axes_)
             ? held
             : std::min(held, ceil_div(result_.dims[line.dims.to_begin].size, mesh_.size(kept)));
}

int64_t SentElements::least_own(size_t operand, const Line& line) const {
  if (line.is_moved || line.window || !is_single(line.dims)) return 0;
  const AxisList &a = line.from_axes, &b = line.to_axes;
  const auto [rest_a, rest_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (rest_a != a.end() && rest_b != b.end()) return 0;
  const int64_t size = operands_[operand].tensor.dims[line.dims.from_begin].size;
  return size / mesh_.size(rest_a == a.end() ? b : a);
}

int64_t SentElements::bound() const {
  int64_t total = 0;
  for (size_t k = 0; k < operands_.size(); ++k) {
    int64_t all = receivers_, own = 1;
    for (const Line& line : operands_[k].lines) {
      all *= most_wanted(k, line);
      own *= least_own(k, line);
    }
    total += all - own;
  }
  return total;
}

// Along each line, a device needs some elements, and lacks some of these. What it gets grows with both, so the largest
// of each along every line give a bound.
int64_t SentElements::most_received() const {
  const MovedTensor& from = operands_[0].tensor;
  int64_t all = 1, own = 1;
  for (const Line& line : operands_[0].lines) {
    const Sample sample = receivers(line);
    int64_t needed = 0, lacked = 0;
    if (sample.is_large()) {
      const int64_t n = result_.dims[line.dims.to_begin].size, parts = mesh_.size(line.to_axes);
      needed = lacked = line.window ? line.window->largest_region(n, parts) : ceil_div(n, parts);
    }
    for (int64_t index = sample.is_large() ? 0 : sample.count(); index-- > 0;) {
      const Coordinates at = sample.device(index);
      const Interval held = local_box(from.dims, from.sharding, mesh_, at)[line.dims.from_begin];
      const Interval read = local_box(result_.dims, result_.sharding, mesh_, at)[line.dims.to_begin];
      needed = std::max(needed, read.size());
      lacked = std::max(lacked, read.size() - overlap(held, read));
    }
    all *= needed;
    own *= needed - lacked;
  }
  return all - own;
}

Coordinates SentElements::device(int64_t index) const {
  return mesh_.moved(mesh_.last(), split_, index);
}

// Devices that stand for all that a line of a tensor which windows split gives elements to.
SentElements::Sample SentElements::receivers(const Line& line) const {
  AxisList axes = line.from_axes;
  add_axes(axes, line.to_axes);
  Sample sample(mesh_, std::move(axes));
  const int64_t size = line.window ? line.window->size : result_.dims[line.dims.to_begin].size;
  if (sample.has(line.to_axes)) sample.add(line.to_axes, size, false);
  if (sample.has(line.from_axes))
    sample.add(line.from_axes, operands_[0].tensor.dims[line.dims.from_begin].size, true);
  sample.add_rest();
  return sample;
}

// Devices that stand for all that differ along the axes of the group and hold elements of the operand.
SentElements::Sample SentElements::senders(const Operand& operand, const AxisList& group) const {
  Sample sample(mesh_, group);
  const auto& [dims, sharding] = operand.tensor;
  for (size_t d = 0; d < dims.size(); ++d)
    if (sample.has(sharding.dims[d])) sample.add(sharding.dims[d], dims[d].size, false);
  // All members of a group together need the same elements, whichever member is looked at.
  for (const Line& line : operand.lines)
    for (size_t d = line.dims.to_begin; d < line.dims.to_end; ++d)
      if (const AxisList& axes = result_.sharding.dims[d]; sample.has(axes) && has_all(axes_, axes))
        sample.add(axes, line.window ? line.window->size : result_.dims[d].size, true);
  sample.add_rest();
  return sample;
}

// The lines fall into groups that share no axis, so they vary independently.
std::vector<AxisList> SentElements::groups() const {
  std::vector<AxisList> groups = {{}};  // the first one, without axes, has the lines that are not split
  for (const Operand& operand : operands_)
    for (const Line& line : operand.lines) {
      AxisList joined = line.from_axes;
      add_axes(joined, line.to_axes);
      if (joined.empty()) continue;
      std::erase_if(groups, [&](const AxisList& group) {
        if (!shares_axis(group, joined)) return false;
        add_axes(joined, group);
        return true;
      });
      groups.push_back(std::move(joined));
    }
  return groups;
}

// Along one group, few different amounts occur, however many devices there are. Devices that hold nothing of any
// operand send nothing, and are left out. Returns nothing if too many devices differ.
std::optional<std::vector<SentElements::Variants>> SentElements::variants() const {
  std::vector<Variants> found;
  for (const AxisList& group : groups()) {
    Variants different;
    for (const Operand& operand : operands_) {
      const Sample sample = senders(operand, group);
      if (sample.is_large()) return std::nullopt;
      for (int64_t index = sample.count(); index-- > 0;)
        different.insert(amounts(group, sample.device(index)));
    }
    found.push_back(std::move(different));
  }
  return found;
}

SentElements::Amounts SentElements::amounts(const AxisList& group, const Coordinates& at) const {
  const Devices alone{at, {}}, all_devices{at, axes_};
  Amounts found;
  for (size_t k = 0; k < operands_.size(); ++k) {
    int64_t all = 1, own = 1;
    for (const Line& line : operands_[k].lines) {
      const bool is_here = line.from_axes.empty() && line.to_axes.empty()
                               ? group.empty()
                               : shares_axis(group, line.from_axes) || shares_axis(group, line.to_axes);
      if (!is_here) continue;
      all *= along(k, line, alone, all_devices);
      own *= common(k, line, alone, alone);
    }
    found.push_back({all, own});
  }
  return found;
}

int64_t SentElements::most() const {
  const int64_t limit = bound();
  int64_t most = 0;
  // The last device has the largest shards. If all shards are alike, the bound is reached after a few devices.
  const int64_t looked_at = std::min(devices_, kDevicesLookedAt);
  for (int64_t i = 1; i <= looked_at && most < limit; ++i) most = std::max(most, sent(device(devices_ - i)));
  if (most == limit || looked_at == devices_) return most;
  const std::optional<std::vector<Variants>> found = variants();
  if (!found) return limit;
  std::set<Amounts> products = {Amounts(operands_.size(), {1, 1})};
  for (const Variants& group : *found) {
    std::set<Amounts> longer;
    for (const Amounts& product : products)
      for (const Amounts& amounts : group) {
        Amounts next = product;
        for (size_t k = 0; k < next.size(); ++k)
          next[k] = {next[k].first * amounts[k].first, next[k].second * amounts[k].second};
        longer.insert(std::move(next));
      }
    products = std::move(longer);
  }
  for (const Amounts& product : products) {
    int64_t total = 0;
    for (const auto& [all, own] : product) total += receivers_ * all - own;
    most = std::max(most, total);
  }
  return most;
}

int64_t SentElements::most_or_bound() const {
  return devices_ <= kDevicesLookedAt || !result_.sharding.windows.empty() ? most() : bound();
}

// True if the elements that all members need are counted without a look at each.
bool SentElements::is_closed(const Line& line) const {
  if (!line.window) return apart(result_.sharding, line.dims.to_begin, line.dims.to_end, axes_).empty();
  return has_all(axes_, line.to_axes);
}

bool SentElements::none() const {
  if (axes_.empty() || bound() == 0) return true;
  if (sent(device(devices_ - 1)) > 0) return false;
  if (devices_ <= kDevicesLookedAt) return most() == 0;
  const bool is_closed_form = std::all_of(operands_.begin(), operands_.end(), [&](const Operand& operand) {
    return std::all_of(operand.lines.begin(), operand.lines.end(),
                       [&](const Line& line) { return is_closed(line); });
  });
  return is_closed_form && devices_ <= kMostDevices && most() == 0;
}

SentElements sent_elements(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  return sent_elements(entry, step, step.collective().axes, mesh);
}

SentElements sent_elements(const EntryPoint& entry, const Step& step, const AxisList& axes,
                           const Mesh& mesh) {
  if (step.op()) return moved_pieces(entry, step, axes, mesh);
  return {tensor_of(entry, step.inputs[0]), tensor_of(entry, step.outputs[0]), axes, mesh};
}

SentElements moved_pieces(const EntryPoint& entry, const Step& step, const AxisList& axes, const Mesh& mesh) {
  std::vector<MovedTensor> operands;
  for (const ValueId id : step.inputs) operands.push_back(tensor_of(entry, id));
  return {piece_map_of(entry, step), operands, tensor_of(entry, step.outputs[0]), axes, mesh};
}

}  // namespace mtfc
