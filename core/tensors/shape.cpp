#include "core/tensors/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

template <DimList List>
std::string text_of(const List& dims) {
  std::string text;
  for (const auto& dim : dims) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", dim.name, dim.size);
  return text;
}

}  // namespace

int64_t size_of(DType dtype) {
  static constexpr int64_t kSizes[] = {4, 8, 4, 8, 1};
  return kSizes[static_cast<int>(dtype)];
}

LocalType held_whole(const TensorType& type) {
  LocalType local{type.dtype, {}};
  for (const Dim& dim : type.dims) local.dims.push_back({dim.name, dim.size});
  return local;
}

std::vector<LocalType> held_whole(std::span<const TensorType> types) {
  std::vector<LocalType> local;
  for (const TensorType& type : types) local.push_back(held_whole(type));
  return local;
}

bool same_set(const Dims& a, const Dims& b) {
  return a.size() == b.size() &&
         std::all_of(a.begin(), a.end(), [&](const Dim& dim) { return contains(b, dim.name); });
}

std::string to_string(const Dims& dims) {
  return text_of(dims);
}

std::string to_string(const LocalDims& dims) {
  return text_of(dims);
}

std::string to_string(const TensorType& type) {
  return to_string(type.dtype) + "[" + to_string(type.dims) + "]";
}

}  // namespace mtfc
