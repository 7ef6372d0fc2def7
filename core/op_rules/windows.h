#pragma once
// Rules shared by the operations of core/ops/ with windows: conv, and the pools. See core/tensors/window.h for what a
// window reads.
//
// The places of a window form a factor of the result's dimension; the operand's dimension is one that this factor reads
// through the window. A filter's taps form a second such factor, which is reduced. So an axis can split either of
// them, and the operand's dimension is then held as a shard with a halo:
//
//   conv of [9] with 3 taps, stride 2, padding 1, over x:3
//   places over x     each device holds what its places read: [0,2), [1,6), [5,9)
//   taps over x       each device holds what its tap reads, and gives a partial sum

#include <algorithm>

#include "core/graph/op_def.h"
#include "core/tensors/window.h"

namespace mtfc {

struct FamilyMember;

/// For an operation with a filter, and for one without.
inline constexpr AttributeSpec kFilterWindows = {
    "windows", AttributeType::kWindows, true,
    "for each spatial dimension an object: 'dim' of the first operand, 'taps' of the filter, 'to' of the "
    "result, and 'stride', 'low' and 'high' (or 'pad': \"same\" or \"valid\"), 'base', 'dilation'"};
inline constexpr AttributeSpec kPoolWindows = {
    "windows", AttributeType::kWindows, true,
    "for each spatial dimension an object: 'dim' of the operand, the number of 'taps', 'to' of the result, "
    "and 'stride', 'low' and 'high' (or 'pad': \"same\" or \"valid\"), 'base', 'dilation'"};

const Windows& windows_of(const Attributes& attributes);
/// The product of the taps of all windows.
int64_t taps_of(const Windows& windows);
/// The window that slides along the dimension `name` of the operand, or nullptr.
const Window* window_along(const Windows& windows, std::string_view name);

/// Throws OpError if a window does not fit the operand `x`, if it takes another number of places than `to` has
/// elements, or if two are along one dimension.
void require_windows(const TensorType& x, const Windows& windows);
/// The same, and throws OpError if the windows of a pool have too many taps together.
void require_pool_windows(const TensorType& x, const Windows& windows);
/// `dims`, those of the operand, with `to` in the place of each `dim`. Throws OpError if a dimension is there twice.
Dims slid_dims(const Dims& dims, const Windows& windows);

/// `dims` without those that windows give as `member`.
template <DimList List>
List without_windows(const List& dims, const Windows& windows, Dim Window::*member) {
  List rest;
  for (const auto& dim : dims)
    if (std::none_of(windows.begin(), windows.end(),
                     [&](const Window& window) { return (window.*member).name == dim.name; }))
      rest.push_back(dim);
  return rest;
}

/// The factor of the places of a window, whose dimension `to` the results have, as has every operand in `operands`. It
/// reads operand 0.
Factor place_factor(const Window& window, const OpCall& call, std::span<const TensorType> results,
                    std::vector<int> operands);

/// A pool. Its windows are its only attribute, and a second operand holds the indices of taps.
OpDef pooling(FamilyMember member);
/// The result of a pool of numbers has their dtype.
std::vector<TensorType> infer_pool(const OpCall& call);
/// The factors of a pool: the places of its windows, which a second operand has too, and all other dimensions, which
/// pass.
std::vector<Factor> pool_factors(const OpCall& call, std::span<const TensorType> results);
/// The elements of the result times the taps. Operands are no measure: shards with their halos differ in size.
int64_t pool_flops(const LocalCall& call, std::span<const LocalType> results);
/// Throws OpError unless `taps`, operand `at`, is of type i32 and has the dimensions `dims`, in any order.
void require_tap_indices(const TensorType& taps, const Dims& dims, int at);

/// For examples: a window along a dimension of an operand to another one, with a filter that has the dimension `taps`,
/// or with `taps` taps; and with other numbers.
Window sliding(std::string_view dim, std::string_view taps, std::string_view to);
Window sliding(std::string_view dim, int64_t taps, std::string_view to);
Window padded(Window window, int64_t low, int64_t high, int64_t stride = 1);
Window dilated(Window window, int64_t base, int64_t dilation);

/// Uses of a pool: of pick_pool and spread_pool with indices of taps besides.
std::vector<Example> pool_examples(ExampleOperand (*operand)(std::string_view dims, DType dtype));
std::vector<Example> picking_examples();
std::vector<Example> spreading_examples();

}  // namespace mtfc
