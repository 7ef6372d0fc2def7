#include "runtime/data/scaled_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/data/array_file.h"

namespace mtfc {
namespace {

// Whole rows of a weight in f32, and their scales.
struct Rows {
  Box box;                      // of the weight; whole along the dimensions that the scales lack
  std::vector<int64_t> stride;  // between scales, along each dimension of the weight; 0 within a row
  std::vector<float> values, scales;
};

// Visits the elements of `box`, which lies in `rows`, along the last dimension: the indices of the first one among the
// values and among the scales, how many there are, and the step between their scales.
template <typename Visit>
void visit_runs(const Rows& rows, const Box& box, Visit visit) {
  const size_t rank = box.size();
  const int64_t count = rank == 0 ? 1 : box[rank - 1].size();
  int64_t runs = 1;
  for (size_t i = 0; i + 1 < rank; ++i) runs *= box[i].size();
  if (count == 0) return;
  std::vector<int64_t> at;
  for (const Interval& interval : box) at.push_back(interval.begin);
  for (int64_t run = 0; run < runs; ++run) {
    int64_t value = 0, scale = 0;
    for (size_t i = 0; i < rank; ++i) {
      value = value * rows.box[i].size() + at[i] - rows.box[i].begin;
      scale += (at[i] - rows.box[i].begin) * rows.stride[i];
    }
    visit(value, scale, count, rank == 0 ? 0 : rows.stride[rank - 1]);
    for (size_t i = rank == 0 ? 0 : rank - 1; i-- > 0;) {
      if (++at[i] < box[i].end) break;
      at[i] = box[i].begin;
    }
  }
}

// `own` gives the rows: a part of the weight or of its scales.
Rows read_rows(const StoredArray& array, const std::string& name, const TensorType& weight,
               const Dims& scale_dims, const LocalShard& own) {
  Rows rows;
  rows.stride.resize(weight.dims.size());
  int64_t stride = 1;
  for (size_t i = weight.dims.size(); i-- > 0;) {
    const Dim& dim = weight.dims[i];
    const bool tells_rows = contains(scale_dims, dim.name);
    const int in_own = position(own.type.dims, dim.name);
    const Interval held = tells_rows ? own.box[static_cast<size_t>(in_own)] : Interval{0, dim.size};
    rows.box.insert(rows.box.begin(), held);
    rows.stride[i] = tells_rows ? stride : 0;
    if (tells_rows) stride *= held.size();
  }
  rows.values.resize(static_cast<size_t>(elements(rows.box)));
  load_array(array, name,
             {{DType::kF32, weight.dims}, rows.box, reinterpret_cast<std::byte*>(rows.values.data())});
  rows.scales.assign(static_cast<size_t>(stride), 0);
  visit_runs(rows, rows.box, [&](int64_t value, int64_t scale, int64_t count, int64_t step) {
    for (int64_t i = 0; i < count; ++i) {
      float& largest = rows.scales[static_cast<size_t>(scale + i * step)];
      const float magnitude = std::abs(rows.values[static_cast<size_t>(value + i)]);
      if (magnitude > largest || magnitude != magnitude) largest = magnitude;  // once NaN, it stays
    }
  });
  constexpr auto kLargest = static_cast<float>(1.0 / kLargestStored);
  for (float& scale : rows.scales) scale = std::max(scale * kLargest, static_cast<float>(kLeastScale));
  return rows;
}

int8_t multiple(float value, float scale) {
  const float nearest = std::nearbyint(value / scale);
  constexpr auto kMost = static_cast<float>(kLargestStored);
  return nearest == nearest ? static_cast<int8_t>(std::clamp(nearest, -kMost, kMost)) : int8_t{0};
}

}  // namespace

void load_scaled(const StoredArray& array, const std::string& name, const LocalShard& stored,
                 const LocalShard& scales) {
  const Dims& row_dims = scales.type.dims;
  const Rows own = read_rows(array, name, stored.type, row_dims, stored);
  auto* to = reinterpret_cast<int8_t*>(stored.data);
  visit_runs(own, stored.box, [&](int64_t value, int64_t scale, int64_t count, int64_t step) {
    for (int64_t i = 0; i < count; ++i)
      *to++ = multiple(own.values[static_cast<size_t>(value + i)],
                       own.scales[static_cast<size_t>(scale + i * step)]);
  });
  const auto put = [&](const Rows& rows) {
    std::copy(rows.scales.begin(), rows.scales.end(), reinterpret_cast<float*>(scales.data));
  };
  bool has_them = true;  // the rows of which this device has the scales
  for (size_t i = 0; i < row_dims.size(); ++i) {
    const auto at = static_cast<size_t>(position(stored.type.dims, row_dims[i].name));
    has_them = has_them && stored.box[at] == scales.box[i];
  }
  if (has_them)
    put(own);
  else
    put(read_rows(array, name, stored.type, row_dims, scales));
}

}  // namespace mtfc
