#include "runtime/comm/reduce.h"

#include "core/diagnostics/error.h"
#include "runtime/compute/nan_aware.h"
#include "runtime/compute/wrapping.h"

namespace mtfc {
namespace {

template <typename T>
void combine_as(ReduceKind kind, const T* operand, T* result, int64_t count) {
  // `x != x` holds only for NaN; for integers the compiler drops it.
  switch (kind) {
    case ReduceKind::kSum:
      for (int64_t i = 0; i < count; ++i) result[i] = add_wrapping(result[i], operand[i]);
      return;
    case ReduceKind::kProd:
      for (int64_t i = 0; i < count; ++i) result[i] = mul_wrapping(result[i], operand[i]);
      return;
    case ReduceKind::kMax:
      for (int64_t i = 0; i < count; ++i) result[i] = larger(operand[i], result[i]);
      return;
    case ReduceKind::kMin:
      for (int64_t i = 0; i < count; ++i) result[i] = smaller(operand[i], result[i]);
      return;
  }
}

template <typename T>
void combine_bytes(ReduceKind kind, const std::byte* operand, std::byte* result, int64_t count) {
  combine_as<T>(kind, reinterpret_cast<const T*>(operand), reinterpret_cast<T*>(result), count);
}

}  // namespace

void combine(ReduceKind kind, DType dtype, const std::byte* operand, std::byte* result, int64_t count) {
  switch (dtype) {
    case DType::kF32:
      return combine_bytes<float>(kind, operand, result, count);
    case DType::kF64:
      return combine_bytes<double>(kind, operand, result, count);
    case DType::kI32:
      return combine_bytes<int32_t>(kind, operand, result, count);
    case DType::kI64:
      return combine_bytes<int64_t>(kind, operand, result, count);
    case DType::kBool:
      check_invariant(kind == ReduceKind::kMax || kind == ReduceKind::kMin,
                      "bool is not summed or multiplied");
      return combine_bytes<uint8_t>(kind, operand, result, count);
  }
}

}  // namespace mtfc
