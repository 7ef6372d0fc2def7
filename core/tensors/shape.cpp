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
  static constexpr int64_t kSizes[] = {4, 8, 2, 4, 8, 1, 1};
  return kSizes[static_cast<int>(dtype)];
}

std::vector<std::string> model_dtypes() {
  std::vector<std::string> names = enum_names<DType>();
  std::erase(names, to_string(DType::kI8));
  return names;
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

template <DimList List>
int64_t elements(const List& dims) {
  int64_t count = 1;
  for (const auto& dim : dims) count *= dim.size;
  return count;
}

template <DimList List>
int position(const List& dims, std::string_view name) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].name == name) return static_cast<int>(i);
  return -1;
}

template <DimList List>
List without(const List& a, const List& b) {
  List rest;
  rest.reserve(a.size());
  for (const auto& dim : a)
    if (!contains(b, dim.name)) rest.push_back(dim);
  return rest;
}

template <DimList List>
List unite(const List& a, const List& b) {
  List all;
  all.reserve(a.size() + b.size());
  all = a;
  for (const auto& dim : b)
    if (!contains(a, dim.name)) all.push_back(dim);
  return all;
}

template int64_t elements(const Dims&);
template int64_t elements(const LocalDims&);
template int position(const Dims&, std::string_view);
template int position(const LocalDims&, std::string_view);
template Dims without(const Dims&, const Dims&);
template LocalDims without(const LocalDims&, const LocalDims&);
template Dims unite(const Dims&, const Dims&);
template LocalDims unite(const LocalDims&, const LocalDims&);

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
