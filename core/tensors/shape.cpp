#include "core/tensors/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

struct DTypeFacts {
  const char* name;
  int64_t size;
};
constexpr DTypeFacts kDTypes[] = {{"f32", 4}, {"f64", 8}, {"i32", 4}, {"i64", 8}, {"bool", 1}};

}  // namespace

int64_t size_of(DType dtype) {
  return kDTypes[static_cast<int>(dtype)].size;
}

std::string to_string(DType dtype) {
  return kDTypes[static_cast<int>(dtype)].name;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < std::size(kDTypes); ++i)
    if (name == kDTypes[i].name) return static_cast<DType>(i);
  return std::nullopt;
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
