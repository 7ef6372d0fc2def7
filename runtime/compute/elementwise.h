#pragma once
// Element-wise kernels: an operation supplies a function of one element; dtypes, alignment of dimensions by
// name, broadcasting in any order of dimensions, tiles and threads are handled here once for all.
//
// The result is computed in tiles of consecutive elements. An operand stored in the same order is read in
// place; others are first gathered or repeated into a tile-sized buffer on the stack, so the function always
// sees consecutive elements. The result may overwrite an operand of the same shape and order.

#include "runtime/compute/kernel.h"
#include "runtime/compute/run_widest.h"
#include "runtime/compute/tile.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {

/// Takes operands and results from the step; counts one flop per element of the result.
Kernel prepare_elementwise(const KernelSite& site, TileFunction function);
/// The same with explicit operands and result, for kernels that are element-wise only in part. At most three
/// operands.
Kernel prepare_elementwise(const std::vector<LocalTensor>& operands, const LocalTensor& result,
                           TileFunction function);

TileTypes tile_types(const KernelSite& site);

/// The loop over F{}(operands...) of dtypes Ts, compiled for this machine's vectors. F is given bf16 as f32.
template <typename Result, typename F, typename... Ts>
TileFunction tile_function_to() {
  return widest_function<Tile<Result, F, Ts...>>();
}

/// The same where the result has the dtype that F gives it, or that of bf16 operands.
template <typename F, typename... Ts>
TileFunction tile_function() {
  return tile_function_to<ResultOf<F, Ts...>, F, Ts...>();
}

/// The kernel of `function(x)` for the dtypes of the list.
template <typename List, typename F>
constexpr KernelDef unary_kernel(List, F) {
  return {.tile = [](const TileTypes& types) {
    return dispatch(List{}, types.operands[0], []<typename T>() { return tile_function<F, T>(); });
  }};
}

/// The kernel of `function(x, y)`, whose operands have the same dtype, for the dtypes of the list.
template <typename List, typename F>
constexpr KernelDef binary_kernel(List, F) {
  return {.tile = [](const TileTypes& types) {
    return dispatch(List{}, types.operands[0], []<typename T>() { return tile_function<F, T, T>(); });
  }};
}

}  // namespace mtfc
