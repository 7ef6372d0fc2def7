#include "runtime/testing/example_data.h"

#include <cmath>

#include "runtime/compute/random.h"
#include "runtime/testing/elements.h"

namespace mtfc {
namespace {

double draw(const ExampleOperand& operand, const RandomNumbers& numbers, uint64_t index) {
  const double uniform = numbers.uniform(index);
  switch (operand.fill) {
    case Fill::kNormal:
      return numbers.normal(index);
    case Fill::kPositive:
      return is_float(operand.type.dtype) ? 0.5 + 1.5 * uniform : std::floor(1 + 2 * uniform);
    case Fill::kSteps:
      return std::floor(5 * uniform) - 2;
    case Fill::kIndex:
      return std::floor(static_cast<double>(operand.limit) * uniform);
    case Fill::kBool:
      return uniform < 0.5 ? 0 : 1;
  }
  return 0;
}

}  // namespace

double element(const HostTensor& tensor, int64_t index) {
  return load_element(tensor.data.data(), tensor.type.dtype, index);
}

void set_element(HostTensor& tensor, int64_t index, double value) {
  store_element(tensor.data.data(), tensor.type.dtype, index, value);
}

HostTensor example_tensor(const ExampleOperand& operand, uint64_t seed) {
  HostTensor tensor(operand.type);
  const RandomNumbers numbers(stable_hash("example"), seed, 0);
  for (int64_t i = 0; i < elements(operand.type.dims); ++i)
    set_element(tensor, i, draw(operand, numbers, static_cast<uint64_t>(i)));
  return tensor;
}

Example with_floats(Example example, DType dtype) {
  for (ExampleOperand& operand : example.operands)
    if (is_float(operand.type.dtype)) operand.type.dtype = dtype;
  const Attributes given = example.attributes;
  for (const auto& [name, value] : given.entries())
    if (const auto* stated = std::get_if<DType>(&value); stated && is_float(*stated))
      example.attributes.set(name, dtype);
  return example;
}

}  // namespace mtfc
