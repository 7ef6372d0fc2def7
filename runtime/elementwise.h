#pragma once
// Element-wise kernels: an operation gives a function of one element, this does the rest, once: dtypes,
// alignment by name, broadcasting in any order of dimensions, tiles and threads.
//
// The result is worked through in tiles of consecutive elements. An operand that lies in the same order is
// read in place; others are first gathered or repeated into a tile-sized buffer on the stack, so that the
// function always meets consecutive elements. The result may be in the place of an operand of the same shape
// and order.

#include <cstddef>
#include <cstdint>

#include "runtime/dtypes.h"
#include "runtime/kernel.h"

namespace mtfc {

/// Computes `count` consecutive elements.
using TileFunction = void (*)(const std::byte* const* operands, std::byte* result, int64_t count);

/// Operands and results as in the step; counts one flop per element of the result.
Kernel prepare_elementwise(const KernelSite& site, TileFunction function);
/// The same with chosen names and places, for kernels of which a part is element-wise. At most three
/// operands.
Kernel prepare_elementwise(const std::vector<LocalTensor>& operands, const LocalTensor& result,
                           TileFunction function);

template <typename F, typename... Ts>
struct Tile {
  static void run(const std::byte* const* operands, std::byte* result, int64_t count) {
    run(operands, result, count, std::index_sequence_for<Ts...>{});
  }

 private:
  template <size_t... I>
  static void run(const std::byte* const* operands, std::byte* result, int64_t count,
                  std::index_sequence<I...>) {
    using R = decltype(F{}(Ts{}...));
    loop(reinterpret_cast<R*>(result), count, reinterpret_cast<const Ts*>(operands[I])...);
  }
  // Nothing is carried from one element to the next, also where the result takes an operand's place.
  template <typename R>
  static void loop(R* result, int64_t count, const Ts*... operand) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) result[i] = F{}(operand[i]...);
  }
};

/// A kernel of `function(x)`, for the dtypes of `types`.
template <typename List, typename F>
Kernel unary_kernel(const KernelSite& site, List types, F) {
  const DType dtype = site.operands[0].type.dtype;
  return prepare_elementwise(
      site, dispatch(types, dtype, []<typename T>() -> TileFunction { return Tile<F, T>::run; }));
}

/// A kernel of `function(x, y)`, both of one dtype of `types`.
template <typename List, typename F>
Kernel binary_kernel(const KernelSite& site, List types, F) {
  const DType dtype = site.operands[0].type.dtype;
  return prepare_elementwise(
      site, dispatch(types, dtype, []<typename T>() -> TileFunction { return Tile<F, T, T>::run; }));
}

}  // namespace mtfc
