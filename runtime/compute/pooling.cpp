#include "runtime/compute/pooling.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "core/op_rules/windows.h"
#include "core/tensors/division.h"
#include "runtime/compute/loop_nest.h"

namespace mtfc {
PoolPlan::PoolPlan(const Windows& windows, Direction direction, std::vector<const LocalTensor*> near,
                   std::vector<const LocalTensor*> far)
    : taps_(taps_of(windows)) {
  add_loops(windows, direction, near, far);
  take_lanes();
  rows_ = 1;
  for (const Loop& loop : loops_) rows_ *= loop.extent;
  if (lanes_ == 0) rows_ = 0;
  // A place meets no more elements than the device holds, however many taps it has.
  size_t most = rows_ == 0 ? 0 : 1;
  for (const Reach& reach : reaches_) {
    int64_t longest = 1;
    for (const Span& span : reach.spans) longest = std::max(longest, span.count);
    most *= static_cast<size_t>(longest);
  }
  scratch_ = std::make_shared<std::vector<Scratch>>(
      static_cast<size_t>(thread_count()),
      Scratch{std::vector<PoolMeeting>(most), std::vector<PoolMeeting>(most),
              std::vector<int64_t>(loops_.size())});
}

/// Place, tap and index are related by index * divisor = place * step + tap * tap_factor + offset. `held`: the elements
/// of the far tensors, which count from its beginning.
PoolPlan::Reach PoolPlan::reach_of(const Window& window, Direction direction, Interval places,
                                   Interval held) {
  const bool forward = direction == Direction::kForward;
  const int64_t step = forward ? window.stride : window.base, divisor = forward ? window.base : window.stride;
  const int64_t tap_factor = forward ? window.dilation : -window.dilation;
  const int64_t offset = forward ? -window.low : window.low;
  Reach reach;
  reach.taps = window.taps.size;
  reach.tap_step = divisor / std::gcd(divisor, window.dilation);
  reach.per_tap = tap_factor * reach.tap_step / divisor;
  const int64_t apart = std::abs(reach.per_tap);
  for (int64_t place = places.begin; place < places.end; ++place) {
    Span span;
    for (int64_t tap = 0; tap < std::min(reach.tap_step, reach.taps); ++tap) {
      const int64_t at = place * step + tap * tap_factor + offset;
      if (at % divisor != 0) continue;
      const int64_t index = at / divisor;
      // Tap number n meets the element index + n * per_tap.
      const int64_t to_begin = held.begin - index, to_end = held.end - 1 - index;
      const int64_t least = forward ? ceil_div(to_begin, apart) : ceil_div(-to_end, apart);
      const int64_t most = forward ? floor_div(to_end, apart) : floor_div(-to_begin, apart);
      const int64_t first = std::max<int64_t>(0, least);
      const int64_t end = std::min((reach.taps - tap + reach.tap_step - 1) / reach.tap_step, most + 1);
      span = {tap + first * reach.tap_step, std::max<int64_t>(0, end - first),
              index + first * reach.per_tap - held.begin};
    }
    reach.spans.push_back(span);
  }
  return reach;
}

void PoolPlan::add_loops(const Windows& windows, Direction direction,
                         const std::vector<const LocalTensor*>& near,
                         const std::vector<const LocalTensor*>& far) {
  const bool forward = direction == Direction::kForward;
  const auto near_dim = [&](const Window& window) { return forward ? window.to.name : window.dim.name; };
  const auto far_dim = [&](const Window& window) { return forward ? window.dim.name : window.to.name; };
  for (const Window& window : windows) {
    const Interval places = local_interval(*near[0], near_dim(window)),
                   held = local_interval(*far[0], far_dim(window));
    Reach reach = reach_of(window, direction, places, held);
    for (size_t t = 0; t < far.size(); ++t) reach.strides[t] = aligned_stride(*far[t], far_dim(window));
    reaches_.push_back(std::move(reach));
  }
  for (const Dim& dim : near[0]->type.dims) {
    Loop loop{.extent = local_extent(*near[0], dim.name)};
    for (size_t w = 0; w < windows.size(); ++w)
      if (near_dim(windows[w]) == dim.name) loop.window = static_cast<int>(w);
    for (size_t t = 0; t < near.size(); ++t) loop.near[t] = aligned_stride(*near[t], dim.name);
    for (size_t t = 0; t < far.size() && loop.window < 0; ++t)
      loop.far[t] = aligned_stride(*far[t], dim.name);
    loops_.push_back(loop);
  }
}

/// Chooses the lanes: the loop whose elements lie side by side in all tensors, or else the last one without a window.
void PoolPlan::take_lanes() {
  const auto unit = [](const Loop& loop) {
    const auto near_unit = loop.near[0] == 1 && (loop.near[1] == 1 || loop.near[1] == 0);
    return near_unit && loop.far[0] == 1 && (loop.far[1] == 1 || loop.far[1] == 0);
  };
  int chosen = -1;
  for (size_t i = 0; i < loops_.size(); ++i)
    if (loops_[i].window < 0 && (chosen < 0 || unit(loops_[i]) || !unit(loops_[static_cast<size_t>(chosen)])))
      if (loops_[i].extent > 1) chosen = static_cast<int>(i);
  if (chosen < 0) {
    lanes_ = 1;
    return;
  }
  const Loop lanes = loops_[static_cast<size_t>(chosen)];
  loops_.erase(loops_.begin() + chosen);
  lanes_ = lanes.extent;
  side_by_side = unit(lanes);
  std::copy_n(lanes.near, 2, near_steps);
  std::copy_n(lanes.far, 2, far_steps);
}

PoolPlan::Cursor::Cursor(const PoolPlan& plan, int64_t row)
    : plan_(plan), scratch_((*plan.scratch_)[static_cast<size_t>(thread_number())]) {
  if (plan.rows_ == 0 || row >= plan.rows_) return;
  for (size_t i = plan.loops_.size(); i-- > 0;) {
    const Loop& loop = plan.loops_[i];
    const int64_t index = scratch_.index[i] = row % loop.extent;
    row /= loop.extent;
    for (size_t t = 0; t < 2; ++t) near_[t] += index * loop.near[t], far_[t] += index * loop.far[t];
  }
  find_meetings();
}

void PoolPlan::Cursor::next() {
  for (size_t i = plan_.loops_.size(); i-- > 0;) {
    const Loop& loop = plan_.loops_[i];
    const bool wraps = ++scratch_.index[i] == loop.extent;
    const int64_t steps = wraps ? 1 - loop.extent : 1;
    for (size_t t = 0; t < 2; ++t) near_[t] += steps * loop.near[t], far_[t] += steps * loop.far[t];
    if (!wraps) break;
    scratch_.index[i] = 0;
  }
  find_meetings();
}

void PoolPlan::Cursor::find_meetings() {
  std::vector<PoolMeeting>&found = scratch_.meetings, &longer = scratch_.others;
  found[0] = {{0, 0}, 0};
  count_ = 1;
  for (size_t w = 0; w < plan_.reaches_.size(); ++w) {
    const Reach& reach = plan_.reaches_[w];
    int64_t place = 0, more = 0;
    for (size_t i = 0; i < plan_.loops_.size(); ++i)
      if (plan_.loops_[i].window == static_cast<int>(w)) place = scratch_.index[i];
    const Span& span = reach.spans[static_cast<size_t>(place)];
    for (int64_t i = 0; i < count_; ++i) {
      const PoolMeeting& before = found[static_cast<size_t>(i)];
      const auto tap = static_cast<int32_t>(before.tap * reach.taps + span.first_tap);
      for (int64_t n = 0; n < span.count; ++n) {
        const int64_t index = span.first_index + n * reach.per_tap;
        longer[static_cast<size_t>(more++)] = {
            {before.offset[0] + index * reach.strides[0], before.offset[1] + index * reach.strides[1]},
            static_cast<int32_t>(tap + n * reach.tap_step)};
      }
    }
    count_ = more;
    std::swap(found, longer);
  }
}

PoolRow PoolPlan::Cursor::row(int64_t lane) const {
  PoolRow row{
      {scratch_.meetings.data(), static_cast<size_t>(count_)}, std::min(kLanes, plan_.lanes_ - lane), {}, {}};
  for (size_t t = 0; t < 2; ++t) {
    row.near[t] = near_[t] + lane * plan_.near_steps[t];
    row.far[t] = far_[t] + lane * plan_.far_steps[t];
  }
  return row;
}

}  // namespace mtfc
