#include "runtime/compute/elementwise.h"

namespace mtfc::logic_kernels {
namespace {

constexpr NamedKernel kRows[] = {
    {"equal", binary_kernel(ModelTypes{}, [](auto a, auto b) { return a == b; })},
    {"not_equal", binary_kernel(ModelTypes{}, [](auto a, auto b) { return a != b; })},
    {"less", binary_kernel(Numbers{}, [](auto a, auto b) { return a < b; })},
    {"less_equal", binary_kernel(Numbers{}, [](auto a, auto b) { return a <= b; })},
    {"greater", binary_kernel(Numbers{}, [](auto a, auto b) { return a > b; })},
    {"greater_equal", binary_kernel(Numbers{}, [](auto a, auto b) { return a >= b; })},
    {"and", binary_kernel(Types<bool>{}, [](bool a, bool b) { return a && b; })},
    {"or", binary_kernel(Types<bool>{}, [](bool a, bool b) { return a || b; })},
    {"not", unary_kernel(Types<bool>{}, [](bool x) { return !x; })},
};

}  // namespace

extern const std::span<const NamedKernel> kKernels = kRows;

}  // namespace mtfc::logic_kernels
