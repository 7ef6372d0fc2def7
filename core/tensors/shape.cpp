#include "core/tensors/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/error.h"

namespace mtfc {

int64_t size_of(DType dtype) {
  static constexpr int64_t kSizes[] = {4, 8, 4, 8, 1};
  return kSizes[static_cast<int>(dtype)];
}

int64_t elements(const Dims& dims) {
  int64_t count = 1;
  for (const Dim& dim : dims) count *= dim.size;
  return count;
}

int position(const Dims& dims, std::string_view name) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].name == name) return static_cast<int>(i);
  return -1;
}

bool same_set(const Dims& a, const Dims& b) {
  return a.size() == b.size() &&
         std::all_of(a.begin(), a.end(), [&](const Dim& dim) { return contains(b, dim.name); });
}

Dims without(const Dims& a, const Dims& b) {
  Dims rest;
  for (const Dim& dim : a)
    if (!contains(b, dim.name)) rest.push_back(dim);
  return rest;
}

Dims unite(const Dims& a, const Dims& b) {
  Dims all = a;
  for (const Dim& dim : b)
    if (!contains(a, dim.name)) all.push_back(dim);
  return all;
}

std::string to_string(const Dims& dims) {
  std::string text;
  for (const Dim& dim : dims) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", dim.name, dim.size);
  return text;
}

std::string to_string(const TensorType& type) {
  return to_string(type.dtype) + "[" + to_string(type.dims) + "]";
}

}  // namespace mtfc
