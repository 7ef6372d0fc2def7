#include <bit>
#include <type_traits>

#include "runtime/compute/elementwise.h"

namespace mtfc::where_kernel {

namespace {

template <typename T>
using Bits =
    std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint8_t>>;

// Uses masks, with the condition as a number: the compiler turns `condition ? a : b` into a branch per
// element, which is mispredicted every other time if signs are random.
struct Choice {
  template <typename T>
  T operator()(uint8_t condition, T a, T b) const {
    const auto mask = static_cast<Bits<T>>(-static_cast<Bits<T>>(condition));
    return std::bit_cast<T>(
        static_cast<Bits<T>>((std::bit_cast<Bits<T>>(a) & mask) | (std::bit_cast<Bits<T>>(b) & ~mask)));
  }
};

}  // namespace

extern const KernelDef kKernel = {
    .tile =
        [](const TileTypes& types) {
          return dispatch(ModelTypes{}, types.result, []<typename T>() -> TileFunction {
            return tile_function<Choice, uint8_t, T, T>();
          });
        },
};

}  // namespace mtfc::where_kernel
