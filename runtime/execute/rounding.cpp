#include "runtime/execute/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/compute/kernel.h"

namespace mtfc {
namespace {

// Roundings of one operation, and further ones per root of the number of terms. In f32, terms of random signs reach a
// quarter of this, and 300 equal terms, whose roundings go the same way, two thirds.
constexpr double kRoundings = 16, kRoundingsPerTerm = 2;

// A sum of the same n terms in any order has n - 1 roundings, and each term may be a product. Two such sums differ by
// no more than n epsilons and a few.
constexpr double kRoundingsOfSum = 4;

// Sums of bf16 are computed in f32, and rounded on each device, on each node where there are several, and at the end:
// half an epsilon each time.
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

// The operand with the magnitudes in place of its elements; integers and bools stay as they are.
HostTensor sized(const Operand& operand) {
  if (!is_float(operand.value->type.dtype)) return *operand.value;
  std::vector<double> numbers = operand.has_magnitudes() ? *operand.magnitudes : numbers_of(*operand.value);
  for (double& number : numbers) number = std::abs(number);
  return value_of(operand.value->type, numbers);
}

void add_magnitudes(const RunKernel& kernel, const std::vector<HostTensor>& operands,
                    std::vector<double>& magnitudes, const TensorType& type) {
  std::vector<const HostTensor*> pointers;
  for (const HostTensor& operand : operands) pointers.push_back(&operand);
  const std::vector<double> numbers = numbers_of(computed(kernel, pointers, {type}, {})[0]);
  magnitudes.resize(numbers.size(), 0);
  for (size_t i = 0; i < numbers.size(); ++i) magnitudes[i] += std::abs(numbers[i]);
}

// The elements and the magnitudes of operands as f64; integers and bools stay as they are.
struct SizedOperands {
  explicit SizedOperands(std::span<const Operand> operands) {
    for (const Operand& operand : operands) {
      TensorType type = operand.value->type;
      if (!is_float(type.dtype)) {
        values.push_back(*operand.value);
        sizes.push_back(*operand.value);
        continue;
      }
      type.dtype = DType::kF64;
      const std::vector<double> numbers = numbers_of(*operand.value);
      std::vector<double> magnitudes = operand.has_magnitudes() ? *operand.magnitudes : numbers;
      for (double& magnitude : magnitudes) magnitude = std::abs(magnitude);
      values.push_back(value_of(type, numbers));
      sizes.push_back(value_of(type, magnitudes));
    }
  }
  std::vector<HostTensor> values, sizes;
};

std::vector<const std::byte*> pointers_to(const std::vector<HostTensor>& values) {
  std::vector<const std::byte*> pointers;
  for (const HostTensor& value : values) pointers.push_back(value.data.data());
  return pointers;
}

// What the kernel itself knows of its terms.
AddedTerms known_terms(const RunKernel& kernel, std::span<const Operand> operands, size_t result) {
  const SizedOperands sized(operands);
  KernelSite site{kernel.attributes, {}, {}, "", 0};
  std::vector<TensorType> types;
  for (const HostTensor& value : sized.values) {
    types.push_back(value.type);
    site.operands.push_back({value.type, whole_box(value.type.dims)});
  }
  for (const TensorType& type : kernel.op->signature.infer({kernel.attributes, types}))
    site.results.push_back({type, whole_box(type.dims)});
  const std::vector<const std::byte*> values = pointers_to(sized.values), sizes = pointers_to(sized.sizes);
  return kernel_named(kernel.op->signature.name).terms(site, {values, {}}, {sizes, {}})[result];
}

// The number of terms in an element of the result: what an operation that adds up makes of ones. That of a mean or of a
// product is the number of elements that its operand has more than its result.
double terms_of(const RunKernel& kernel, std::span<const Operand> operands, const HostTensor& value) {
  if (!adds_up(*kernel.op) || kernel.op->traits.averages) {
    if (kernel.op->family != Family::kReduction || value.size() == 0) return 1;
    return static_cast<double>(operands[0].value->size()) / static_cast<double>(value.size());
  }
  std::vector<HostTensor> ones;
  for (const Operand& operand : operands)
    ones.push_back(is_float(operand.value->type.dtype)
                       ? value_of(operand.value->type, std::vector<double>(operand.value->size(), 1))
                       : *operand.value);
  std::vector<double> counts;
  add_magnitudes(kernel, ones, counts, value.type);
  return std::max(1.0, *std::max_element(counts.begin(), counts.end()));
}

std::vector<double> magnitudes_of(const RunKernel& kernel, std::span<const Operand> operands,
                                  const TensorType& type) {
  const OpDef& op = *kernel.op;
  if (op.linear_in.empty()) return {};
  const bool is_known = std::any_of(operands.begin(), operands.end(),
                                    [](const Operand& operand) { return operand.has_magnitudes(); });
  if (!is_known && !adds_up(op)) return {};
  std::vector<HostTensor> sizes;
  for (const Operand& operand : operands) sizes.push_back(sized(operand));
  std::vector<double> magnitudes;
  std::vector<TensorType> types;
  for (const Operand& operand : operands) types.push_back(operand.value->type);
  const std::vector<std::vector<int>> sets = linear_sets(op, {kernel.attributes, types});
  if (sets.empty()) return {};
  const std::vector<int>& set = sets.front();
  if (!is_elementwise(op) || set.size() < 2) {
    add_magnitudes(kernel, sizes, magnitudes, type);
    return magnitudes;
  }
  // One operand of a sum or a difference at a time: the others' signs must not matter.
  for (const int chosen : set) {
    std::vector<HostTensor> alone = sizes;
    for (const int other : set)
      if (other != chosen)
        alone[static_cast<size_t>(other)] = HostTensor(sizes[static_cast<size_t>(other)].type);
    add_magnitudes(kernel, alone, magnitudes, type);
  }
  return magnitudes;
}

}  // namespace

Rounding rounding_of(const RunKernel& kernel, std::span<const Operand> operands, const HostTensor& value,
                     size_t result, bool exact) {
  if (!is_float(value.type.dtype) || value.size() == 0) return {};
  double epsilon = epsilon_of(value.type.dtype);
  for (const Operand& operand : operands)
    if (is_float(operand.value->type.dtype))
      epsilon = std::max(epsilon, epsilon_of(operand.value->type.dtype));
  Rounding rounding;
  double terms = 1;
  if (kernel_named(kernel.op->signature.name).terms) {
    AddedTerms known = known_terms(kernel, operands, result);
    rounding.magnitudes = std::move(known.magnitudes);
    terms = known.count;
  } else {
    rounding.magnitudes = magnitudes_of(kernel, operands, value.type);
    terms = terms_of(kernel, operands, value);
  }
  double roundings = kRoundings + kRoundingsPerTerm * std::sqrt(terms);
  if (exact && adds_up(*kernel.op)) roundings = std::min(roundings, kRoundingsOfSum + terms);
  rounding.of_terms = epsilon * roundings;
  double coarse = rounding_of_bf16(value.type.dtype);
  if (exact) {
    rounding.of_result = coarse;
    return rounding;
  }
  // What is known of an operand that the other way holds in parts is their sum, rounded once more.
  for (const Operand& operand : operands)
    coarse = std::max(coarse, rounding_of_bf16(operand.value->type.dtype));
  rounding.of_terms += coarse;
  return rounding;
}

Rounding rounding_of(DType dtype) {
  if (!is_float(dtype)) return {};
  return {{}, kRoundings * epsilon_of(dtype) + rounding_of_bf16(dtype), 0};
}

}  // namespace mtfc
