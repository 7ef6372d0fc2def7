#include "runtime/comm/node/reduce_across.h"

#include <algorithm>
#include <cstring>

#include "core/diagnostics/error.h"
#include "runtime/compute/nan_aware.h"
#include "runtime/compute/run_widest.h"
#include "runtime/compute/wrapping.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {
namespace {

// A block of every input and output and of the result stays in the first-level cache.
constexpr int64_t kBlockBytes = 4096;

template <ReduceKind kind, typename C>
[[gnu::always_inline]] inline C combined(C a, C b) {
  if constexpr (kind == ReduceKind::kSum) return add_wrapping(a, b);
  if constexpr (kind == ReduceKind::kProd) return mul_wrapping(a, b);
  if constexpr (kind == ReduceKind::kMax) return larger(b, a);
  if constexpr (kind == ReduceKind::kMin) return smaller(b, a);
}

// Two devices are the most common case and need no intermediate result. An output may be an input, but only
// element by element, which `simd` tells the compiler.
template <typename T, ReduceKind kind>
[[gnu::always_inline]] inline void of_two(const T* a, const T* b, T* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) assign(to[i], combined<kind, Computed<T>>(a[i], b[i]));
}

template <typename T, ReduceKind kind>
[[gnu::always_inline]] inline void of_two(const T* a, const T* b, T* to, T* also, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const Computed<T> value = combined<kind, Computed<T>>(a[i], b[i]);
    assign(to[i], value);
    assign(also[i], value);
  }
}

template <typename T, ReduceKind kind>
[[gnu::always_inline]] inline void of_many(std::span<const std::byte* const> inputs,
                                           std::span<std::byte* const> outputs, int64_t first,
                                           int64_t count) {
  using C = Computed<T>;
  alignas(64) C result[kBlockBytes / sizeof(T)];
  const T* values = reinterpret_cast<const T*>(inputs[0]) + first;
  for (int64_t i = 0; i < count; ++i) result[i] = C(values[i]);
  for (const std::byte* input : inputs.subspan(1)) {
    values = reinterpret_cast<const T*>(input) + first;
    for (int64_t i = 0; i < count; ++i) result[i] = combined<kind, C>(result[i], C(values[i]));
  }
  const auto bytes = static_cast<size_t>(count) * sizeof(T);
  if constexpr (std::is_same_v<T, C>) {
    for (std::byte* output : outputs) std::memcpy(reinterpret_cast<T*>(output) + first, result, bytes);
  } else {
    alignas(64) T rounded[kBlockBytes / sizeof(T)];
    for (int64_t i = 0; i < count; ++i) assign(rounded[i], result[i]);
    for (std::byte* output : outputs) std::memcpy(reinterpret_cast<T*>(output) + first, rounded, bytes);
  }
}

template <typename T, ReduceKind kind>
struct Across {
  MTFC_INLINE void run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                       int64_t count) {
    if (inputs.size() == 2 && (outputs.size() == 1 || outputs.size() == 2)) {
      const auto *a = reinterpret_cast<const T*>(inputs[0]), *b = reinterpret_cast<const T*>(inputs[1]);
      T* to = reinterpret_cast<T*>(outputs[0]);
      if (outputs.size() == 1)
        of_two<T, kind>(a, b, to, count);
      else
        of_two<T, kind>(a, b, to, reinterpret_cast<T*>(outputs[1]), count);
      return;
    }
    constexpr auto kBlock = static_cast<int64_t>(kBlockBytes / sizeof(T));
    for (int64_t first = 0; first < count; first += kBlock)
      of_many<T, kind>(inputs, outputs, first, std::min(kBlock, count - first));
  }
};

template <typename T>
ReduceAcross chosen(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return widest_function<Across<T, ReduceKind::kSum>>();
    case ReduceKind::kProd:
      return widest_function<Across<T, ReduceKind::kProd>>();
    case ReduceKind::kMax:
      return widest_function<Across<T, ReduceKind::kMax>>();
    case ReduceKind::kMin:
      return widest_function<Across<T, ReduceKind::kMin>>();
  }
  throw InternalError("a reduction of an unknown kind");
}

}  // namespace

ReduceAcross reduce_across(ReduceKind kind, DType dtype) {
  check_invariant(dtype != DType::kBool || kind == ReduceKind::kMax || kind == ReduceKind::kMin,
                  "bool is not summed or multiplied");
  return dispatch(StoredTypes{}, dtype, [&]<typename T>() -> ReduceAcross { return chosen<T>(kind); });
}

}  // namespace mtfc
