#include "runtime/compute/convolution_loops.h"

#include <algorithm>
#include <numeric>

#include "core/op_rules/conv_plan.h"
#include "core/op_rules/windows.h"
#include "runtime/compute/loop_nest.h"

namespace mtfc {
namespace {

// The places and taps of a window that meet elements of the operand, on the device that holds a region of each.
//
// With a base dilation, most pairs of a place and a tap fall between elements. Places and taps are therefore divided
// into residue classes. Within a class, called a sweep, every pair meets an element or lies outside of the operand:
//
//   stride 1, base 2, taps 3, padding 1:   places 0, 2, ... meet tap 1        element = place/2
//                                          places 1, 3, ... meet taps 0, 2    element = (place-1)/2 + tap/2
//
// All indices are local ones: they count from the beginning of the device's region.

/// Place number p is place first_place + p * place_step, and likewise for taps. Together with tap number t, it meets
/// element first + p * per_place + t * per_tap of the operand.
struct Sweep {
  int64_t first_place = 0, place_step = 1, places = 0;
  int64_t first_tap = 0, tap_step = 1, taps = 0;
  int64_t first = 0, per_place = 1, per_tap = 1;
};

/// The sweeps of a window, of which each place belongs to exactly one; those without taps are among them. The intervals
/// are those of the operand, of the taps and of the places.
std::vector<Sweep> sweeps_of(const Window& window, Interval operand, Interval taps, Interval places) {
  const int64_t place_step = window.base / std::gcd(window.base, window.stride);
  const int64_t tap_step = window.base / std::gcd(window.base, window.dilation);
  std::vector<Sweep> sweeps;
  for (int64_t place = 0; place < std::min(place_step, places.size()); ++place) {
    Sweep sweep = {.first_place = place,
                   .place_step = place_step,
                   .places = (places.size() - place + place_step - 1) / place_step,
                   .tap_step = tap_step,
                   .per_place = place_step * window.stride / window.base,
                   .per_tap = tap_step * window.dilation / window.base};
    for (int64_t tap = 0; tap < std::min(tap_step, taps.size()); ++tap) {
      const int64_t at =
          window.stride * (places.begin + place) + window.dilation * (taps.begin + tap) - window.low;
      if (at % window.base != 0) continue;
      sweep.first_tap = tap;
      sweep.taps = (taps.size() - tap + tap_step - 1) / tap_step;
      sweep.first = at / window.base - operand.begin;
    }
    sweeps.push_back(sweep);
  }
  return sweeps;
}

/// A dimension without a window, and its stride in each tensor.
struct Axis {
  int64_t extent = 1;
  int64_t x = 0, w = 0, y = 0;
};
using Axes = std::vector<Axis>;

/// A window in one sweep: offsets of each place in x and y, and of each tap in x and w.
struct Slide {
  Sweep sweep;
  int64_t x = 0, w = 0, y = 0;  // strides of the whole dimensions
};

/// Everything that all sweeps have in common.
struct Shape {
  const LocalTensor &x, &w, &y;
  Axes groups, batch, out, contracted;

  explicit Shape(const KernelSite& site) : x(site.operands[0]), w(site.operands[1]), y(site.results[0]) {
    const ConvDims dims =
        conv_dims(windows_of(site.attributes), x.local_type().dims, w.local_type().dims, y.local_type().dims);
    groups = axes({&x, &w, &y}, dims.group);
    batch = axes({&x, nullptr, &y}, dims.batch);
    out = axes({nullptr, &w, &y}, dims.out);
    contracted = axes({&x, &w, nullptr}, dims.contracted);
  }

  /// The axes of one class, neighbours joined where every tensor walks them as one.
  static Axes axes(std::vector<const LocalTensor*> tensors, const LocalDims& dims) {
    LoopNest nest;
    nest.strides.resize(tensors.size());
    for (const LocalDim& dim : dims) {
      nest.extents.push_back(dim.size);
      const LocalTensor* holder = nullptr;
      for (size_t t = 0; t < tensors.size(); ++t) {
        nest.strides[t].push_back(tensors[t] ? aligned_stride(*tensors[t], dim.name) : 0);
        if (!tensors[t]) continue;
        check_invariant(!holder || local_interval(*holder, dim.name) == local_interval(*tensors[t], dim.name),
                        "the operands of a convolution are split differently");
        holder = tensors[t];
      }
    }
    nest = collapse(nest);
    Axes axes;
    for (size_t i = 0; i < nest.loops(); ++i)
      axes.push_back({nest.extents[i], nest.strides[0][i], nest.strides[1][i], nest.strides[2][i]});
    return axes;
  }
};

/// Removes and returns the axis that is contiguous in x; an axis of one element if there is none.
Axis take_contiguous(Axes& axes) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].x == 1) {
      const Axis found = axes[i];
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
      return found;
    }
  return {};
}

bool has_contiguous(const Axes& axes) {
  return std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.x == 1; });
}

int64_t positions(const Axes& axes) {
  int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.extent;
  return product;
}

/// Few positions of the group would not fill vectors; with nothing to multiply but them, there is nothing better.
bool has_lanes(const Shape& shape) {
  constexpr int64_t kFewLanes = 8;
  return std::any_of(shape.groups.begin(), shape.groups.end(), [&](const Axis& axis) {
    const bool fills = axis.extent >= kFewLanes || positions(shape.contracted) * positions(shape.out) == 1;
    return fills && axis.x == 1 && axis.w == 1 && axis.y == 1;
  });
}

ConvForm form_of(const Shape& shape) {
  if (has_lanes(shape)) return ConvForm::kLanes;
  return has_contiguous(shape.batch) ? ConvForm::kRows : ConvForm::kRuns;
}

/// A loop over the places or the taps of a window.
ConvStep place_step(const Slide& slide, int number) {
  return {slide.sweep.places, slide.sweep.per_place * slide.x, slide.sweep.place_step * slide.y, number,
          slide.sweep.per_place};
}
ConvStep tap_step(const Slide& slide, int number) {
  return {slide.sweep.taps, slide.sweep.per_tap * slide.x, slide.sweep.tap_step * slide.w, number,
          slide.sweep.per_tap};
}

/// Chooses what a run has, and removes it from the loops that `axes` and `steps` stand for.
class Builder {
 public:
  Builder(const Shape& shape, const std::vector<Slide>& slides) : shape_(shape), slides_(slides) {
    loops_.form = form_of(shape);
    Axes groups = shape.groups, batch = shape.batch, contracted = shape.contracted;
    for (size_t i = 0; i < slides.size(); ++i) {
      places_.push_back(place_step(slides[i], static_cast<int>(i)));
      taps_.push_back(tap_step(slides[i], static_cast<int>(i)));
    }
    if (loops_.form == ConvForm::kLanes) make_lanes(groups);
    if (loops_.form == ConvForm::kRows) make_run(batch, places_, &Axis::y);
    if (loops_.form == ConvForm::kRuns) make_run(contracted, taps_, &Axis::w);
    add_walks(groups, batch, contracted);
    add_slides();
    add_columns();
  }
  ConvLoops take() { return std::move(loops_); }

 private:
  void make_lanes(Axes& groups) { loops_.run = loops_.unit = take_contiguous(groups).extent; }

  void make_run(Axes& axes, std::vector<ConvStep>& steps, int64_t Axis::*other) {
    const Axis axis = take_contiguous(axes);
    loops_.unit = axis.extent;
    const ConvStep* fused = nullptr;
    for (const ConvStep& step : steps)
      if (step.extent > 1 && step.index == 1 && step.x == axis.extent &&
          axis.extent * step.extent <= kLongestRun)
        fused = &step;
    if (fused) loops_.run_places = fused->extent, loops_.run_slide = fused->slide;
    for (int64_t i = 0; i < loops_.run_places; ++i)
      for (int64_t j = 0; j < axis.extent; ++j)
        loops_.of_run.push_back((fused ? i * fused->other : 0) + j * axis.*other);
    loops_.run = loops_.unit * loops_.run_places;
    if (fused) steps.erase(steps.begin() + (fused - steps.data()));
  }

  static void sort(ConvWalk& walk) {
    std::stable_sort(walk.steps.begin(), walk.steps.end(),
                     [](const ConvStep& a, const ConvStep& b) { return a.other > b.other; });
  }

  void add_walks(const Axes& groups, const Axes& batch, const Axes& contracted) {
    for (const Axis& axis : groups) {
      loops_.groups.steps.push_back({axis.extent, axis.x, axis.w});
      group_y_.push_back(axis.y);
    }
    for (const Axis& axis : batch) loops_.rows.steps.push_back({axis.extent, axis.x, axis.y});
    for (const Axis& axis : contracted) loops_.entries.steps.push_back({axis.extent, axis.x, axis.w});
    loops_.rows.steps.insert(loops_.rows.steps.end(), places_.begin(), places_.end());
    loops_.entries.steps.insert(loops_.entries.steps.end(), taps_.begin(), taps_.end());
    sort(loops_.rows);
    sort(loops_.entries);
  }

  void add_slides() {
    for (const Slide& slide : slides_) {
      const Sweep& sweep = slide.sweep;
      loops_.x_first += sweep.first * slide.x;
      loops_.w_first += sweep.first_tap * slide.w;
      loops_.y_first += sweep.first_place * slide.y;
      loops_.first.push_back(sweep.first);
    }
  }

  static bool side_by_side(const std::vector<int64_t>& offsets) {
    for (size_t i = 0; i < offsets.size(); ++i)
      if (offsets[i] != static_cast<int64_t>(i)) return false;
    return true;
  }

  void add_columns() {
    LoopNest nest{{}, {{}, {}}};
    for (const Axis& axis : shape_.out) {
      nest.extents.push_back(axis.extent);
      nest.strides[0].push_back(axis.w);
      nest.strides[1].push_back(axis.y);
    }
    NestCursor at(nest, nest.loops(), 0);
    for (int64_t i = 0, count = nest.count(); i < count; ++i, at.next()) {
      loops_.w_columns.push_back(at.offset(0));
      loops_.y_columns.push_back(at.offset(1));
    }
    loops_.w_side_by_side = side_by_side(loops_.w_columns);
    loops_.y_side_by_side = side_by_side(loops_.y_columns);
    LoopNest groups{{}, {group_y_}};
    for (const ConvStep& step : loops_.groups.steps) groups.extents.push_back(step.extent);
    NestCursor group(groups, groups.loops(), 0);
    for (int64_t i = 0, count = groups.count(); i < count; ++i, group.next())
      loops_.y_of_group.push_back(group.offset(0));
  }

  static constexpr int64_t kLongestRun = 1024;  // that has several places

  const Shape& shape_;
  const std::vector<Slide>& slides_;
  std::vector<ConvStep> places_, taps_;
  std::vector<int64_t> group_y_;
  ConvLoops loops_;
};

}  // namespace

int64_t ConvWalk::count() const {
  int64_t product = 1;
  for (const ConvStep& step : steps) product *= step.extent;
  return product;
}

void ConvPositions::fill(const ConvWalk& walk, int64_t begin, int64_t end) {
  count = end - begin;
  if (count == 0) return;
  const auto number = static_cast<size_t>(count);
  for (size_t first = 0; first < index.size(); first += static_cast<size_t>(most))
    std::fill_n(index.begin() + static_cast<std::ptrdiff_t>(first), number, 0);
  std::fill_n(x.begin(), number, 0);
  std::fill_n(other.begin(), number, 0);
  int64_t inner = 1;  // positions for each step of the loop
  for (size_t s = walk.steps.size(); s-- > 0;) {
    const ConvStep& step = walk.steps[s];
    int64_t* const indices = step.slide < 0 ? nullptr : index.data() + step.slide * most;
    int64_t at = begin / inner % step.extent, left = inner - begin % inner;
    for (int64_t i = 0; i < count;) {
      const int64_t stop = std::min(count, i + left);
      for (; i < stop; ++i) {
        x[static_cast<size_t>(i)] += at * step.x;
        other[static_cast<size_t>(i)] += at * step.other;
        if (indices) indices[i] = at * step.index;
      }
      left = inner;
      if (++at == step.extent) at = 0;
    }
    inner *= step.extent;
  }
}

std::vector<ConvLoops> conv_loops(const KernelSite& site) {
  if (site.results[0].elements() == 0) return {};
  const Shape shape(site);
  std::vector<std::vector<Slide>> combinations = {{}};
  for (const Window& window : windows_of(site.attributes)) {
    const Slide strides = {{},
                           aligned_stride(shape.x, window.dim.name),
                           aligned_stride(shape.w, window.taps.name),
                           aligned_stride(shape.y, window.to.name)};
    std::vector<std::vector<Slide>> longer;
    for (const std::vector<Slide>& before : combinations)
      for (const Sweep& sweep :
           sweeps_of(window, local_interval(shape.x, window.dim.name),
                     local_interval(shape.w, window.taps.name), local_interval(shape.y, window.to.name))) {
        longer.push_back(before);
        longer.back().push_back({sweep, strides.x, strides.w, strides.y});
      }
    combinations = std::move(longer);
  }
  std::vector<ConvLoops> all;
  for (const std::vector<Slide>& slides : combinations) {
    all.push_back(Builder(shape, slides).take());
    for (const Window& window : windows_of(site.attributes))
      all.back().limits.push_back(local_interval(shape.x, window.dim.name).size());
  }
  return all;
}

void ConvNeeds::include(const ConvNeeds& other) {
  slides = std::max(slides, other.slides);
  for (int64_t ConvNeeds::*need : {&ConvNeeds::rows, &ConvNeeds::entries, &ConvNeeds::runs,
                                   &ConvNeeds::length, &ConvNeeds::copied, &ConvNeeds::columns})
    this->*need = std::max(this->*need, other.*need);
}

template <typename T>
RunTable<T>::RunTable(const ConvNeeds& needs)
    : inside_(static_cast<size_t>(needs.rows)),
      lies_inside_(static_cast<size_t>(needs.entries)),
      table_(static_cast<size_t>(needs.runs)),
      zeros_(static_cast<size_t>(needs.length)),
      copies_(static_cast<size_t>(needs.copied)) {}

template <typename T>
const T* RunTable<T>::copied(const T* x, int64_t offset, Interval elements, RunPart part, T* copy) const {
  std::fill_n(copy, part.size, T{0});
  const int64_t begin = std::max(elements.begin, part.begin),
                end = std::min(elements.end, part.begin + part.size);
  std::copy(x + (offset + begin), x + (offset + end), copy + (begin - part.begin));
  return copy;
}

template <typename T>
void RunTable<T>::start(const ConvLoops& loops, const ConvPositions& rows, const ConvPositions& entries) {
  loops_ = &loops;
  rows_ = &rows;
  entries_ = &entries;
  std::fill_n(inside_.begin(), static_cast<size_t>(rows.count), true);
  if (entries.count == 0) return;
  for (size_t s = 0; s < loops_->limits.size(); ++s) {
    const int64_t* const of_entries = entries.indices(s);
    const int64_t* const of_rows = rows.indices(s);
    const int64_t least = loops_->first[s] + *std::min_element(of_entries, of_entries + entries.count);
    const int64_t most =
        loops_->first[s] + *std::max_element(of_entries, of_entries + entries.count) + cover(s);
    for (int64_t r = 0; r < rows.count; ++r)
      inside_[static_cast<size_t>(r)] &= of_rows[r] + least >= 0 && of_rows[r] + most <= loops_->limits[s];
  }
}

template <typename T>
const T* RunTable<T>::find(const T* x, int64_t row, int64_t entry, RunPart part, T* copy) const {
  Interval elements = {0, loops_->run};
  for (size_t s = 0; s < loops_->limits.size(); ++s) {
    const int64_t at = index(s, row, entry), limit = loops_->limits[s];
    if (static_cast<int>(s) == loops_->run_slide)
      elements = {std::max<int64_t>(0, -at) * loops_->unit,
                  std::min(loops_->run_places, limit - at) * loops_->unit};
    else if (at < 0 || at >= limit)
      return zeros_.data();
  }
  if (elements.begin >= part.begin + part.size || elements.end <= part.begin) return zeros_.data();
  const int64_t offset =
      loops_->x_first + entries_->x[static_cast<size_t>(entry)] + rows_->x[static_cast<size_t>(row)];
  const bool whole = elements.begin <= part.begin && elements.end >= part.begin + part.size;
  return whole ? x + offset + part.begin : copied(x, offset, elements, part, copy);
}

template <typename T>
template <int64_t Rows>
void RunTable<T>::fill_inside(const T* x, int64_t first, int64_t part_begin) {
  int64_t of_row[Rows];
  for (int64_t r = 0; r < Rows; ++r)
    of_row[r] = loops_->x_first + part_begin + rows_->x[static_cast<size_t>(first + r)];
  const T** to = table_.data();
  for (int64_t e = 0; e < entries_->count; ++e, to += Rows) {
    const int64_t offset = entries_->x[static_cast<size_t>(e)];
#pragma GCC unroll 8
    for (int64_t r = 0; r < Rows; ++r) to[r] = x + (offset + of_row[r]);
  }
}

template <typename T>
const T* const* RunTable<T>::fill(const T* x, int64_t first, int64_t count, RunPart part) {
  const char* const inside = inside_.data() + first;
  const bool all_inside = std::all_of(inside, inside + count, [](char is) { return is; });
  const T** to = table_.data();
  if (all_inside && (count == 1 || count == 4 || count == 6)) {
    count == 1 ? fill_inside<1>(x, first, part.begin)
               : (count == 4 ? fill_inside<4>(x, first, part.begin) : fill_inside<6>(x, first, part.begin));
    return to;
  }
  for (int64_t r = 0; r < count; ++r) fill_row(x, first + r, {r, count}, part);
  return to;
}

/// `place`: the place of the row among those of the table.
template <typename T>
void RunTable<T>::fill_row(const T* x, int64_t row, RowPlace place, RunPart part) {
  const int64_t entries = entries_->count;
  std::fill_n(lies_inside_.begin(), static_cast<size_t>(entries), 1);
  for (size_t s = 0; !inside_[static_cast<size_t>(row)] && s < loops_->limits.size(); ++s) {
    const int64_t at = loops_->first[s] + rows_->indices(s)[row], most = loops_->limits[s] - cover(s);
    const int64_t* const indices = entries_->indices(s);
    int64_t* const lies_inside = lies_inside_.data();
    for (int64_t e = 0; e < entries; ++e)
      lies_inside[e] &=
          static_cast<int64_t>(at + indices[e] >= 0) & static_cast<int64_t>(at + indices[e] <= most);
  }
  const int64_t offset = loops_->x_first + part.begin + rows_->x[static_cast<size_t>(row)];
  const bool has_parts = loops_->run_slide >= 0;
  for (int64_t e = 0; e < entries; ++e) {
    const int64_t number = e * place.rows + place.row;
    const T*& to = table_[static_cast<size_t>(number)];
    if (lies_inside_[static_cast<size_t>(e)])
      to = x + (offset + entries_->x[static_cast<size_t>(e)]);
    else
      to = has_parts ? find(x, row, e, part, copies_.data() + number * part.size) : zeros_.data();
  }
}

template class RunTable<float>;
template class RunTable<double>;

}  // namespace mtfc
