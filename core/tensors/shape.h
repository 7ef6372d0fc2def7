#pragma once
// Named dimensions, element types, and tensor types made of both.
//
// A size is global (of a whole tensor) or local (of one device's shard). These are different types, which do not
// convert into each other: `Dims` and `TensorType` are global, `LocalDims` and `LocalType` are local. Local
// sizes come from global ones by local_dims() (core/tensors/sharding.h), or by held_whole() where one device
// holds whole tensors.

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/enum_names.h"

namespace mtfc {

/// i8 is the type of stored weights; a second variable holds their scale (core/rewrite/store_weights.h). Models
/// cannot declare it. It is accepted by gather, cast, products with f32, and operations that only move elements.
enum class DType : uint8_t { kF32, kF64, kBF16, kI32, kI64, kBool, kI8 };
template <>
inline constexpr auto kEnumNames<DType> = std::to_array<EnumName<DType>>({{DType::kF32, "f32"},
                                                                          {DType::kF64, "f64"},
                                                                          {DType::kBF16, "bf16"},
                                                                          {DType::kI32, "i32"},
                                                                          {DType::kI64, "i64"},
                                                                          {DType::kBool, "bool"},
                                                                          {DType::kI8, "i8"}});
/// The names of the dtypes that models may name.
std::vector<std::string> model_dtypes();

/// Bytes of one element; bool takes one.
int64_t size_of(DType dtype);
inline bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kBF16;
}
/// True if `value` stays finite when it is rounded to f32.
inline bool fits_f32(double value) {
  return value < 0x1.ffffffp127 && value > -0x1.ffffffp127;
}
/// The largest finite bf16.
inline constexpr double kLargestBf16 = 0x1.fep127;
/// True if `value` stays finite when it is rounded to bf16.
inline bool fits_bf16(double value) {
  return value < 0x1.fefffffp127 && value > -0x1.fefffffp127;
}
inline bool is_integer(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64;
}

/// The dtype in which elements of `dtype` are computed and added up.
inline DType computed_dtype(DType dtype) {
  return dtype == DType::kBF16 ? DType::kF32 : dtype;
}

/// The dtype in which a product of operands of two dtypes is computed: where they differ, one is f32, and the other is
/// widened to it.
inline DType product_dtype(DType first, DType second) {
  return first == second ? first : DType::kF32;
}

/// A dimension of a whole tensor. Within a model, all dimensions of one name have the same size.
struct Dim {
  std::string name;
  int64_t size = 0;
  bool operator==(const Dim&) const = default;
};
/// The dimensions of a whole tensor, with their global sizes.
using Dims = std::vector<Dim>;

/// The type of a whole tensor.
struct TensorType {
  DType dtype = DType::kF32;
  Dims dims;  // row-major; empty for a scalar
  bool operator==(const TensorType&) const = default;
};

/// A dimension of one device's shard. Two tensors may be split differently, so dimensions of one name may differ
/// in size.
struct LocalDim {
  std::string name;
  int64_t size = 0;
  bool operator==(const LocalDim&) const = default;
};
/// The dimensions of one device's shard, with their local sizes.
using LocalDims = std::vector<LocalDim>;

/// The type of one device's shard.
struct LocalType {
  DType dtype = DType::kF32;
  LocalDims dims;  // row-major; empty for a scalar
  bool operator==(const LocalType&) const = default;
};

/// The types of the shards on a device that holds these tensors whole.
LocalType held_whole(const TensorType& type);
std::vector<LocalType> held_whole(std::span<const TensorType> types);

/// Global or local dimensions. A function of two lists takes two of the same kind. shape.cpp instantiates the
/// functions for both.
template <typename List>
concept DimList = std::same_as<List, Dims> || std::same_as<List, LocalDims>;

template <DimList List>
int64_t elements(const List& dims);
inline int64_t bytes(const TensorType& type) {
  return elements(type.dims) * size_of(type.dtype);
}
inline int64_t bytes(const LocalType& type) {
  return elements(type.dims) * size_of(type.dtype);
}
/// Position of the dimension `name`, or -1.
template <DimList List>
int position(const List& dims, std::string_view name);
template <DimList List>
bool contains(const List& dims, std::string_view name) {
  return position(dims, name) >= 0;
}
/// True if both hold the same dimensions, in any order.
bool same_set(const Dims& a, const Dims& b);
/// `a` without the dimensions of `b`.
template <DimList List>
List without(const List& a, const List& b);
/// All dimensions of `a`, then those of `b` that `a` lacks.
template <DimList List>
List unite(const List& a, const List& b);

/// `batch=100, hidden=1024`.
std::string to_string(const Dims& dims);
std::string to_string(const LocalDims& dims);
/// `f32[batch=100, hidden=1024]`.
std::string to_string(const TensorType& type);

}  // namespace mtfc
