#pragma once
// Element-wise kernels: an operation gives a function of one element, this does the rest, once: dtypes,
// alignment by name, broadcasting in any order of dimensions, tiles and threads.
//
// The result is worked through in tiles of consecutive elements. An operand that lies in the same order is
// read in place; others are first gathered or repeated into a tile-sized buffer on the stack, so that the
// function always meets consecutive elements. The result may be in the place of an operand of the same shape
// and order.

#include "runtime/compute/kernel.h"
#include "runtime/compute/tile.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {

/// Operands and results as in the step; counts one flop per element of the result.
Kernel prepare_elementwise(const KernelSite& site, TileFunction function);
/// The same with chosen names and places, for kernels of which a part is element-wise. At most three
/// operands.
Kernel prepare_elementwise(const std::vector<LocalTensor>& operands, const LocalTensor& result,
                           TileFunction function);

TileTypes tile_types(const KernelSite& site);

/// The loop over F{}(operands...) of dtypes Ts, compiled for this machine's vectors.
template <typename F, typename... Ts>
TileFunction tile_function() {
  switch (vector_level()) {
    case VectorLevel::kAvx512:
      return Tile<F, Ts...>::run_avx512;
    case VectorLevel::kAvx2:
      return Tile<F, Ts...>::run_avx2;
    case VectorLevel::kPlain:
      break;
  }
  return Tile<F, Ts...>::run_plain;
}

/// Of `function(x)`, for the dtypes of `types`.
template <typename List, typename F>
TileFunction unary_tile(const TileTypes& types, List list, F) {
  return dispatch(list, types.operands[0],
                  []<typename T>() -> TileFunction { return tile_function<F, T>(); });
}

/// Of `function(x, y)`, both of one dtype of `types`.
template <typename List, typename F>
TileFunction binary_tile(const TileTypes& types, List list, F) {
  return dispatch(list, types.operands[0],
                  []<typename T>() -> TileFunction { return tile_function<F, T, T>(); });
}

}  // namespace mtfc
