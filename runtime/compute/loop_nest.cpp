#include "runtime/compute/loop_nest.h"

#include <algorithm>
#include <cstring>

#include "runtime/memory/dtypes.h"

namespace mtfc {
namespace {

template <typename T>
void copy_run(const T* from, int64_t stride, int64_t count, T* to) {
  if (stride == 1)
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  else if (stride == 0)
    std::fill_n(to, count, *from);
  else
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
}

template <typename T>
void copy_elements(const LoopNest& nest, int64_t start, int64_t count, const std::byte* source,
                   std::byte* target) {
  const T* from = reinterpret_cast<const T*>(source);
  T* to = reinterpret_cast<T*>(target);
  if (count <= 0) return;
  if (nest.loops() == 0) {
    *to = *from;
    return;
  }
  const size_t inner = nest.loops() - 1;
  const int64_t length = nest.extents[inner], stride = nest.strides[0][inner];
  int64_t column = start % length;
  for (NestCursor row(nest, inner, start / length); count > 0; row.next(), column = 0) {
    const int64_t run = std::min(length - column, count);
    copy_run(from + row.offset(0) + column * stride, stride, run, to);
    to += run;
    count -= run;
  }
}

}  // namespace

int64_t LoopNest::count() const {
  int64_t product = 1;
  for (const int64_t extent : extents) product *= extent;
  return product;
}

std::vector<int64_t> dense_strides(const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  return strides;
}

std::vector<int64_t> aligned_strides(const LocalTensor& tensor, const Dims& dims) {
  const std::vector<int64_t> own = dense_strides(tensor.stored_extents());
  std::vector<int64_t> strides;
  for (const Dim& dim : dims) {
    const int at = position(tensor.type.dims, dim.name);
    strides.push_back(at < 0 ? 0 : own[static_cast<size_t>(at)]);
  }
  return strides;
}

int64_t aligned_stride(const LocalTensor& tensor, std::string_view name) {
  return aligned_strides(tensor, {{std::string(name), 0}})[0];
}

Interval local_interval(const LocalTensor& tensor, std::string_view name) {
  return tensor.box[static_cast<size_t>(position(tensor.type.dims, name))];
}

int64_t local_extent(const LocalTensor& tensor, std::string_view name) {
  const int at = position(tensor.type.dims, name);
  return at < 0 ? 1 : tensor.box[static_cast<size_t>(at)].size();
}

LoopNest collapse(const LoopNest& nest) {
  LoopNest result;
  result.strides.resize(nest.strides.size());
  if (nest.count() == 0) {
    result.extents = {0};
    for (auto& strides : result.strides) strides = {0};
    return result;
  }
  for (size_t loop = 0; loop < nest.loops(); ++loop) {
    const int64_t extent = nest.extents[loop];
    if (extent == 1) continue;
    bool joins = result.loops() > 0;
    for (size_t t = 0; joins && t < nest.strides.size(); ++t)
      joins = result.strides[t].back() == nest.strides[t][loop] * extent;
    if (joins)
      result.extents.back() *= extent;
    else
      result.extents.push_back(extent);
    for (size_t t = 0; t < nest.strides.size(); ++t) {
      if (joins) result.strides[t].pop_back();
      result.strides[t].push_back(nest.strides[t][loop]);
    }
  }
  return result;
}

NestCursor::NestCursor(const LoopNest& nest, size_t loops, int64_t start) : nest_(nest), loops_(loops) {
  for (size_t loop = loops; loop-- > 0;) {
    index_[loop] = start % nest.extents[loop];
    start /= nest.extents[loop];
    for (size_t t = 0; t < nest.strides.size(); ++t) offsets_[t] += index_[loop] * nest.strides[t][loop];
  }
}

void NestCursor::next() {
  for (size_t loop = loops_; loop-- > 0;) {
    const bool wraps = ++index_[loop] == nest_.extents[loop];
    const int64_t steps = wraps ? 1 - nest_.extents[loop] : 1;
    for (size_t t = 0; t < nest_.strides.size(); ++t) offsets_[t] += steps * nest_.strides[t][loop];
    if (!wraps) return;
    index_[loop] = 0;
  }
}

NestCopy nest_copy(DType dtype) {
  return dispatch(AllTypes{}, dtype, []<typename T>() -> NestCopy { return copy_elements<T>; });
}

}  // namespace mtfc
