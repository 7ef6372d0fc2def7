#include "runtime/testing/elements.h"

#include <cstring>

#include "runtime/memory/dtypes.h"

namespace mtfc {

double load_element(const std::byte* data, DType dtype, int64_t index) {
  return dispatch(AllTypes{}, dtype, [&]<typename T>() {
    T value;
    std::memcpy(&value, data + index * static_cast<int64_t>(sizeof value), sizeof value);
    return static_cast<double>(value);
  });
}

void store_element(std::byte* data, DType dtype, int64_t index, double value) {
  dispatch(AllTypes{}, dtype, [&]<typename T>() {
    const T converted = static_cast<T>(value);
    std::memcpy(data + index * static_cast<int64_t>(sizeof converted), &converted, sizeof converted);
  });
}

std::vector<int64_t> global_indices(const Dims& dims, const Box& box) {
  std::vector<int64_t> indices{0};
  for (size_t i = 0; i < dims.size(); ++i) {
    std::vector<int64_t> finer;
    finer.reserve(indices.size() * static_cast<size_t>(box[i].end - box[i].begin));
    for (const int64_t outer : indices)
      for (int64_t k = box[i].begin; k < box[i].end; ++k) finer.push_back(outer * dims[i].size + k);
    indices = std::move(finer);
  }
  return indices;
}

}  // namespace mtfc
