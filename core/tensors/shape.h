#pragma once
// Named dimensions, element types, and tensor types made of both.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/enum_names.h"

namespace mtfc {

enum class DType : uint8_t { kF32, kF64, kI32, kI64, kBool };
template <>
inline constexpr auto kEnumNames<DType> = std::to_array<EnumName<DType>>({{DType::kF32, "f32"},
                                                                          {DType::kF64, "f64"},
                                                                          {DType::kI32, "i32"},
                                                                          {DType::kI64, "i64"},
                                                                          {DType::kBool, "bool"}});

/// Bytes of one element; bool takes one.
int64_t size_of(DType dtype);
inline bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64;
}
/// True if `value` stays finite when it is rounded to f32.
inline bool fits_f32(double value) {
  return value < 0x1.ffffffp127 && value > -0x1.ffffffp127;
}
inline bool is_integer(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64;
}

/// A tensor dimension. Within a model, all dimensions of one name have the same size.
struct Dim {
  std::string name;
  int64_t size = 0;
  bool operator==(const Dim&) const = default;
};
using Dims = std::vector<Dim>;

struct TensorType {
  DType dtype = DType::kF32;
  Dims dims;  // row-major; empty for a scalar
  bool operator==(const TensorType&) const = default;
};

int64_t elements(const Dims& dims);
inline int64_t bytes(const TensorType& type) {
  return elements(type.dims) * size_of(type.dtype);
}
/// Position of the dimension `name`, or -1.
int position(const Dims& dims, std::string_view name);
inline bool contains(const Dims& dims, std::string_view name) {
  return position(dims, name) >= 0;
}
/// True if both hold the same dimensions, in any order.
bool same_set(const Dims& a, const Dims& b);
/// `a` without the dimensions of `b`.
Dims without(const Dims& a, const Dims& b);
/// All dimensions of `a`, then those of `b` that `a` lacks.
Dims unite(const Dims& a, const Dims& b);

/// `batch=100, hidden=1024`.
std::string to_string(const Dims& dims);
/// `f32[batch=100, hidden=1024]`.
std::string to_string(const TensorType& type);

}  // namespace mtfc
