#include "runtime/compute/attention_plan.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/compute/dropout_draws.h"
#include "runtime/compute/loop_nest.h"

namespace mtfc {
namespace {

std::vector<TensorType> types_of(const std::vector<LocalTensor>& tensors) {
  std::vector<TensorType> types;
  for (const LocalTensor& tensor : tensors) types.push_back(tensor.type);
  return types;
}

std::vector<int64_t> local_extents(const std::vector<const LocalTensor*>& tensors, const Dims& dims) {
  std::vector<int64_t> extents;
  for (const Dim& dim : dims) {
    const auto has = std::find_if(tensors.begin(), tensors.end(), [&](const LocalTensor* tensor) {
      return contains(tensor->type.dims, dim.name);
    });
    extents.push_back(local_extent(**has, dim.name));
  }
  return extents;
}

int64_t product_of(const std::vector<int64_t>& extents) {
  int64_t product = 1;
  for (const int64_t extent : extents) product *= extent;
  return product;
}

/// The offsets of all combinations of indices, in row-major order.
std::vector<int64_t> offsets(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides) {
  std::vector<int64_t> found = {0};
  for (size_t d = 0; d < extents.size(); ++d) {
    std::vector<int64_t> longer;
    longer.reserve(found.size() * static_cast<size_t>(extents[d]));
    for (const int64_t base : found)
      for (int64_t i = 0; i < extents[d]; ++i) longer.push_back(base + i * strides[d]);
    found = std::move(longer);
  }
  return found;
}

// The part of a dimension that the device holds.
Interval held(const LocalTensor& tensor, const Dim& dim) {
  return tensor.box[static_cast<size_t>(position(tensor.type.dims, dim.name))];
}

std::vector<int64_t> sizes_of(const std::vector<Interval>& intervals) {
  std::vector<int64_t> sizes;
  for (const Interval& interval : intervals) sizes.push_back(interval.size());
  return sizes;
}

// BLAS reads rows whose elements lie side by side and whose distance is the same everywhere.
int64_t leading_of(const VectorPlaces& places) {
  if (places.step != 1 && places.width > 1) return 0;
  if (places.rows.size() < 2) return std::max<int64_t>(1, places.width);
  const int64_t distance = places.rows[1] - places.rows[0];
  for (size_t r = 1; r < places.rows.size(); ++r)
    if (places.rows[r] - places.rows[r - 1] != distance) return 0;
  return distance >= places.width ? distance : 0;
}

}  // namespace

AttentionPlan::AttentionPlan(const KernelSite& site, size_t extras)
    : dims_(attention_dims({site.attributes, types_of(site.operands)})),
      extras_(attention_extras({site.attributes, types_of(site.operands)}, extras)),
      rate_(dropout_rate(site.attributes)),
      bend_{score_scale(site.attributes), score_cap(site.attributes)} {
  const LocalTensor &q = site.operands[0], &k = site.operands[1];
  batch_extents_ = local_extents({&q}, dims_.batch);
  batch = product_of(batch_extents_);
  for (const Dim& dim : dims_.queries) held_queries_.push_back(held(q, dim));
  queries = product_of(sizes_of(held_queries_));
  positions = local_extent(k, dims_.memory.name);
  origin_ = held(k, dims_.memory).begin;
  causal_ = site.attributes.get_or("causal", false);
  window_ = site.attributes.get_or("window", int64_t{0});
  if (causal_ || window_ > 0) {
    const std::string& name = site.attributes.get<Dim>("positions").name;
    std::vector<int64_t> strides;
    int64_t first = 0;
    for (size_t d = 0; d < dims_.queries.size(); ++d) {
      strides.push_back(dims_.queries[d].name == name ? 1 : 0);
      if (strides[d] == 1) first = held_queries_[d].begin;
    }
    along_ = offsets(sizes_of(held_queries_), strides);
    for (int64_t& at : along_) at += first;
  }
  if (extras_.bias) bias_places_ = of_scores(site.operands[*extras_.bias]);
  if (extras_.mask) mask_places_ = of_scores(site.operands[*extras_.mask]);
  if (extras_.draws) draws_places_ = of_queries(site.operands[*extras_.draws], {});
}

std::vector<int64_t> AttentionPlan::queries_in(const LocalTensor& result) const {
  std::vector<int64_t> found = {0};
  for (size_t d = 0; d < dims_.queries.size(); ++d) {
    const Interval own = held(result, dims_.queries[d]);
    std::vector<int64_t> longer;
    for (const int64_t before : found)
      for (int64_t at = held_queries_[d].begin; at < held_queries_[d].end; ++at)
        longer.push_back(
            before < 0 || at < own.begin || at >= own.end ? -1 : before * own.size() + at - own.begin);
    found = std::move(longer);
  }
  return found;
}

Interval AttentionPlan::memory_in(const LocalTensor& result) const {
  const Interval own = held(result, dims_.memory);
  return {own.begin - origin_, own.end - origin_};
}

VectorPlaces AttentionPlan::of_scores(const LocalTensor& tensor) const {
  return {offsets(batch_extents_, aligned_strides(tensor, dims_.batch)),
          offsets(sizes_of(held_queries_), aligned_strides(tensor, dims_.queries)),
          aligned_strides(tensor, {dims_.memory})[0], positions, 0};
}

VectorPlaces AttentionPlan::vectors_of(const LocalTensor& tensor, const Dims& rows, const Dims& last) const {
  VectorPlaces places;
  places.batch = offsets(local_extents({&tensor}, dims_.batch), aligned_strides(tensor, dims_.batch));
  places.rows = offsets(local_extents({&tensor}, rows), aligned_strides(tensor, rows));
  if (!last.empty()) {
    places.step = aligned_strides(tensor, last)[0];
    places.width = local_extent(tensor, last[0].name);
  }
  places.leading = leading_of(places);
  return places;
}

Interval AttentionPlan::seen_by(int64_t query) const {
  if (along_.empty()) return {0, positions};
  const int64_t at = along_[static_cast<size_t>(query)] - origin_;
  int64_t begin = 0, end = positions;
  if (causal_) end = std::min(end, at + 1);
  if (window_ > 0 && window_ <= std::numeric_limits<int64_t>::max() / 2) {
    begin = std::max(begin, at - window_ + 1);
    end = std::min(end, at + window_);
  }
  return begin < end ? Interval{begin, end} : Interval{0, 0};
}

Interval AttentionPlan::seen_by(Interval range) const {
  if (along_.empty()) return {0, positions};
  Interval all = {positions, 0};
  for (int64_t query = range.begin; query < range.end; ++query) {
    const Interval seen = seen_by(query);
    if (seen.size() == 0) continue;
    all = {std::min(all.begin, seen.begin), std::max(all.end, seen.end)};
  }
  return all.begin < all.end ? all : Interval{0, 0};
}

Interval AttentionPlan::seen_by(const KernelRun& run, int64_t b, Interval range) const {
  const Interval may = seen_by(range);
  if (!mask_places_ || may.size() == 0) return may;
  Interval seen = {may.end, may.begin};
  for (int64_t query = range.begin; query < range.end; ++query) {
    const bool* const mask =
        reinterpret_cast<const bool*>(run.operands[*extras_.mask]) + mask_places_->at(b, query);
    const int64_t step = mask_places_->step;
    if (step == 1) {  // a cache of thousands of places may have few that are seen
      const void* const last = memrchr(mask + may.begin, 1, static_cast<size_t>(may.size()));
      if (!last) continue;
      const void* const first = std::memchr(mask + may.begin, 1, static_cast<size_t>(may.size()));
      seen.begin = std::min(seen.begin, static_cast<const bool*>(first) - mask);
      seen.end = std::max(seen.end, static_cast<const bool*>(last) - mask + 1);
      continue;
    }
    Interval own = may;
    while (own.begin < own.end && !mask[(own.end - 1) * step]) --own.end;
    while (own.begin < own.end && !mask[own.begin * step]) ++own.begin;
    if (own.size() == 0) continue;
    seen = {std::min(seen.begin, own.begin), std::max(seen.end, own.end)};
  }
  return seen.begin < seen.end ? seen : Interval{0, 0};
}

template <typename T>
void AttentionPlan::add_bias(const KernelRun& run, int64_t b, Interval range, Interval columns,
                             T* scores) const {
  const T* const bias = reinterpret_cast<const T*>(run.operands[*extras_.bias]);
  const int64_t step = bias_places_->step;
  for (int64_t query = range.begin; query < range.end; ++query, scores += kTilePositions) {
    const T* const row = bias + bias_places_->at(b, query) + columns.begin * step;
    for (int64_t c = 0; c < columns.size(); ++c) scores[c] += row[c * step];
  }
}

template <typename T>
void AttentionPlan::finish_scores(const KernelRun& run, int64_t b, Interval range, Interval columns,
                                  T* scores) const {
  constexpr T kNever = -std::numeric_limits<T>::infinity();
  if (bias_places_) add_bias(run, b, range, columns, scores);
  if (along_.empty() && !mask_places_) return;
  const auto* mask = mask_places_ ? reinterpret_cast<const bool*>(run.operands[*extras_.mask]) : nullptr;
  for (int64_t query = range.begin; query < range.end; ++query, scores += kTilePositions) {
    const Interval seen = seen_by(query);
    const int64_t begin = std::clamp(seen.begin, columns.begin, columns.end),
                  end = std::clamp(seen.end, begin, columns.end);
    std::fill(scores, scores + (begin - columns.begin), kNever);
    std::fill(scores + (end - columns.begin), scores + columns.size(), kNever);
    if (!mask) continue;
    const bool* row = mask + mask_places_->at(b, query);
    for (int64_t c = begin; c < end; ++c)
      if (!row[c * mask_places_->step]) scores[c - columns.begin] = kNever;
  }
}

template <typename T>
void AttentionPlan::fill_dropout(const KernelRun& run, int64_t b, Interval range, Interval columns,
                                 T* factors) const {
  const auto* numbers = reinterpret_cast<const int64_t*>(run.operands[*extras_.draws]);
  for (int64_t query = range.begin; query < range.end; ++query, factors += kTilePositions)
    dropout_factors(numbers[draws_places_->at(b, query)], rate_,
                    {origin_ + columns.begin, origin_ + columns.end}, factors);
}

template <typename T>
void copy_rows(const VectorPlaces& places, const T* tensor, int64_t b, Interval rows, T* copy) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const T* from = tensor + places.at(b, row);
    for (int64_t i = 0; i < places.width; ++i) *copy++ = from[i * places.step];
  }
}

template <typename T>
RowMatrix<T> rows_of(const VectorPlaces& places, const T* tensor, int64_t b, Interval rows, T* copy) {
  if (places.leading > 0) return {tensor + places.at(b, rows.begin), places.leading};
  copy_rows(places, tensor, b, rows, copy);
  return {copy, places.width};
}

template <typename T>
RowMatrix<T> AttentionPlan::scaled_rows(const VectorPlaces& places, const T* q, int64_t b, Interval rows,
                                        T* copy) const {
  if (scale() == 1) return rows_of(places, q, b, rows, copy);
  copy_rows(places, q, b, rows, copy);
  for (int64_t i = 0; i < rows.size() * places.width; ++i) copy[i] *= static_cast<T>(scale());
  return {copy, places.width};
}

template <typename T>
void put_rows(const VectorPlaces& places, const T* rows_side_by_side, int64_t b, Interval rows, T* tensor) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    T* to = tensor + places.at(b, row);
    for (int64_t i = 0; i < places.width; ++i) to[i * places.step] = *rows_side_by_side++;
  }
}

template void AttentionPlan::finish_scores(const KernelRun&, int64_t, Interval, Interval, float*) const;
template void AttentionPlan::finish_scores(const KernelRun&, int64_t, Interval, Interval, double*) const;
template void AttentionPlan::fill_dropout(const KernelRun&, int64_t, Interval, Interval, float*) const;
template void AttentionPlan::fill_dropout(const KernelRun&, int64_t, Interval, Interval, double*) const;
template RowMatrix<float> AttentionPlan::scaled_rows(const VectorPlaces&, const float*, int64_t, Interval,
                                                     float*) const;
template RowMatrix<double> AttentionPlan::scaled_rows(const VectorPlaces&, const double*, int64_t, Interval,
                                                      double*) const;
template void copy_rows(const VectorPlaces&, const float*, int64_t, Interval, float*);
template void copy_rows(const VectorPlaces&, const double*, int64_t, Interval, double*);
template RowMatrix<float> rows_of(const VectorPlaces&, const float*, int64_t, Interval, float*);
template RowMatrix<double> rows_of(const VectorPlaces&, const double*, int64_t, Interval, double*);
template void put_rows(const VectorPlaces&, const float*, int64_t, Interval, float*);
template void put_rows(const VectorPlaces&, const double*, int64_t, Interval, double*);

}  // namespace mtfc
