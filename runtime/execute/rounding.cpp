#include "runtime/execute/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace mtfc {
namespace {

// Roundings of one operation, and further ones per root of the number of terms. In f32, terms of random signs reach a
// quarter of this, and 300 equal terms, whose roundings go the same way, two thirds.
constexpr double kRoundings = 16, kRoundingsPerTerm = 2;

// Sums of bf16 are computed in f32, and rounded on each device, on each node where there are several, and at the end: half an
// epsilon each time.
constexpr double kRoundingsOfBf16 = 2, kEpsilonOfBf16 = 0x1p-7;

// The precision in which a dtype is computed.
double epsilon_of(DType dtype) {
  return dtype == DType::kF64 ? std::numeric_limits<double>::epsilon()
                              : static_cast<double>(std::numeric_limits<float>::epsilon());
}

double rounding_of_bf16(DType dtype) {
  return dtype == DType::kBF16 ? kRoundingsOfBf16 * kEpsilonOfBf16 : 0;
}

// True if an element of the result is a sum over elements of an operand.
bool adds_up(const OpDef& op) {
  return !op.linear_in.empty() && (op.family == Family::kContraction || op.family == Family::kReduction ||
                                   op.family == Family::kIndexing || op.family == Family::kConvolution ||
                                   op.family == Family::kPooling);
}

std::vector<TensorType> types_of(std::span<const Operand> operands) {
  std::vector<TensorType> types;
  for (const Operand& operand : operands) types.push_back(operand.value->type);
  return types;
}

// The operand with the magnitudes in place of its elements; integers and bools stay as they are.
WholeValue sized(const Operand& operand) {
  if (!is_float(operand.value->type.dtype)) return *operand.value;
  std::vector<double> numbers = operand.has_magnitudes() ? *operand.magnitudes : numbers_of(*operand.value);
  for (double& number : numbers) number = std::abs(number);
  return value_of(operand.value->type, numbers);
}

void add_magnitudes(const RunKernel& kernel, const std::vector<WholeValue>& operands,
                    std::vector<double>& magnitudes, const TensorType& type) {
  std::vector<const WholeValue*> pointers;
  for (const WholeValue& operand : operands) pointers.push_back(&operand);
  const std::vector<double> numbers = numbers_of(computed(kernel, pointers, {type}, {})[0]);
  magnitudes.resize(numbers.size(), 0);
  for (size_t i = 0; i < numbers.size(); ++i) magnitudes[i] += std::abs(numbers[i]);
}

std::vector<double> largest_terms_of(const RunKernel& kernel, std::span<const Operand> operands) {
  std::vector<double> largest;
  for (const Operand& operand : operands) {
    largest.push_back(0);
    if (!is_float(operand.value->type.dtype)) continue;
    // An element that is no finite number is compared as it is.
    for (const double number : operand.has_magnitudes() ? *operand.magnitudes : numbers_of(*operand.value))
      if (std::isfinite(number)) largest.back() = std::max(largest.back(), std::abs(number));
  }
  const std::vector<TensorType> types = types_of(operands);
  return kernel.op->traits.largest_terms({kernel.attributes, types}, largest);
}

// The number of terms in an element of the result.
double terms_of(const RunKernel& kernel, std::span<const Operand> operands) {
  double terms = 1;
  if (!adds_up(*kernel.op) && !kernel.op->traits.largest_terms) return terms;
  const std::vector<TensorType> types = types_of(operands);
  for (const Factor& factor :
       kernel.op->roles({kernel.attributes, types}, kernel.op->signature.infer({kernel.attributes, types})))
    for (size_t i = 0; factor.kind != Factor::Kind::kPass && i < types.size(); ++i)
      if (factor.operands[i] >= 0) {
        terms *= static_cast<double>(types[i].dims[static_cast<size_t>(factor.operands[i])].size);
        break;
      }
  return terms;
}

}  // namespace

std::vector<double> magnitudes_of(const RunKernel& kernel, std::span<const Operand> operands,
                                  const WholeValue& value, size_t result) {
  const OpDef& op = *kernel.op;
  if (op.traits.largest_terms)
    return std::vector<double>(static_cast<size_t>(elements(value.type.dims)),
                               largest_terms_of(kernel, operands)[result]);
  if (!is_float(value.type.dtype) || op.linear_in.empty()) return {};
  const bool is_known = std::any_of(operands.begin(), operands.end(),
                                    [](const Operand& operand) { return operand.has_magnitudes(); });
  if (!is_known && !adds_up(op)) return {};
  std::vector<WholeValue> sizes;
  for (const Operand& operand : operands) sizes.push_back(sized(operand));
  std::vector<double> magnitudes;
  const std::vector<TensorType> types = types_of(operands);
  const std::vector<std::vector<int>> sets = linear_sets(op, {kernel.attributes, types});
  if (sets.empty()) return {};
  const std::vector<int>& set = sets.front();
  if (!is_elementwise(op) || set.size() < 2) {
    add_magnitudes(kernel, sizes, magnitudes, value.type);
    return magnitudes;
  }
  // One operand of a sum or a difference at a time: the others' signs must not matter.
  for (const int chosen : set) {
    std::vector<WholeValue> alone = sizes;
    for (const int other : set)
      if (other != chosen)
        alone[static_cast<size_t>(other)] = WholeValue(sizes[static_cast<size_t>(other)].type);
    add_magnitudes(kernel, alone, magnitudes, value.type);
  }
  return magnitudes;
}

double rounding_of(const RunKernel& kernel, std::span<const Operand> operands, DType result) {
  double epsilon = epsilon_of(result);
  for (const Operand& operand : operands)
    if (is_float(operand.value->type.dtype))
      epsilon = std::max(epsilon, epsilon_of(operand.value->type.dtype));
  return epsilon * (kRoundings + kRoundingsPerTerm * std::sqrt(terms_of(kernel, operands))) +
         rounding_of_bf16(result);
}

double rounding_of(DType dtype) {
  return kRoundings * epsilon_of(dtype) + rounding_of_bf16(dtype);
}

}  // namespace mtfc
