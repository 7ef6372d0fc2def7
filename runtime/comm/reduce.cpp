#include "runtime/comm/reduce.h"

#include "core/diagnostics/error.h"
#include "core/tensors/bf16.h"
#include "runtime/compute/nan_aware.h"
#include "runtime/compute/wrapping.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {
namespace {

// S is the type of results: that of operands, or a wider one.
template <typename T, typename S>
void combine_as(ReduceKind kind, const T* operand, S* result, int64_t count) {
  using C = Computed<S>;
  const auto each = [&](auto f) {
    for (int64_t i = 0; i < count; ++i) assign(result[i], f(C(result[i]), C(operand[i])));
  };
  // `x != x` holds only for NaN; for integers the compiler drops it.
  switch (kind) {
    case ReduceKind::kSum:
      return each([](C sum, C x) { return add_wrapping(sum, x); });
    case ReduceKind::kProd:
      return each([](C product, C x) { return mul_wrapping(product, x); });
    case ReduceKind::kMax:
      return each([](C most, C x) { return larger(x, most); });
    case ReduceKind::kMin:
      return each([](C least, C x) { return smaller(x, least); });
  }
}

template <typename T, typename S = T>
void combine_bytes(ReduceKind kind, const std::byte* operand, std::byte* result, int64_t count) {
  combine_as<T>(kind, reinterpret_cast<const T*>(operand), reinterpret_cast<S*>(result), count);
}

}  // namespace

void combine(ReduceKind kind, DType dtype, const std::byte* operand, std::byte* result, int64_t count) {
  check_invariant(dtype != DType::kBool || kind == ReduceKind::kMax || kind == ReduceKind::kMin,
                  "bool is not summed or multiplied");
  dispatch(StoredTypes{}, dtype, [&]<typename T>() { combine_bytes<T>(kind, operand, result, count); });
}

void combine_in_f32(ReduceKind kind, const std::byte* bf16, std::byte* f32, int64_t count) {
  combine_bytes<Bf16, float>(kind, bf16, f32, count);
}

}  // namespace mtfc
