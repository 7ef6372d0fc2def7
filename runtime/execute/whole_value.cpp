#include "runtime/execute/whole_value.h"

#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "core/tensors/relayout.h"
#include "runtime/comm/reduce.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {

std::vector<double> numbers_of(const HostTensor& value) {
  std::vector<double> numbers(value.size());
  dispatch(AllTypes{}, value.type.dtype, [&]<typename T>() {
    const T* elements = value.as<T>();
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(elements[i]);
  });
  return numbers;
}

HostTensor value_of(const TensorType& type, const std::vector<double>& numbers) {
  HostTensor value(type);
  dispatch(AllTypes{}, type.dtype, [&]<typename T>() {
    T* elements = value.as<T>();
    for (size_t i = 0; i < numbers.size(); ++i) elements[i] = static_cast<T>(numbers[i]);
  });
  return value;
}

namespace {

// True for other numbers. Zeros of both signs are equal here, and so are all NaNs.
bool differ(DType dtype, const std::byte* a, const std::byte* b) {
  return dispatch(AllTypes{}, dtype, [&]<typename T>() {
    T x, y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    return x != y && (x == x || y == y);
  });
}

// The shards of devices that hold copies of, or different elements of, one tensor.
Assembled joined(const TensorType& type, const std::vector<PlacedShard>& shards, bool may_have_gaps) {
  Assembled joined{HostTensor(type)};
  const auto size = static_cast<size_t>(size_of(type.dtype));
  std::vector<bool> written(joined.value.size(), false);
  const Box whole = whole_box(type.dims);
  std::optional<size_t> torn;
  for (const auto& [shard, at] : shards)
    for (const Run& run : common_runs(type.dims, shard.box, type.dims, whole))
      for (int64_t k = 0; k < run.length; ++k) {
        const auto element = static_cast<size_t>(run.to + k * run.to_step);
        std::byte* to = joined.value.data.data() + element * size;
        const std::byte* from = shard.data + static_cast<size_t>(run.from + k * run.from_step) * size;
        if (!written[element])
          std::memcpy(to, from, size);
        else if (!torn && std::memcmp(to, from, size) != 0 && differ(type.dtype, to, from))
          torn = element;
        written[element] = true;
      }
  for (size_t i = 0; i < written.size() && !torn && !may_have_gaps; ++i)
    if (!written[i]) torn = i;
  if (torn) joined.torn.push_back(*torn);
  if (may_have_gaps) joined.held = std::move(written);
  return joined;
}

void add_magnitudes(const Assembled& term, std::vector<double>& magnitudes) {
  const std::vector<double> numbers = term.magnitudes.empty() ? numbers_of(term.value) : term.magnitudes;
  magnitudes.resize(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) magnitudes[i] += std::abs(numbers[i]);
}

void combine_numbers(ReduceKind kind, const std::vector<double>& operands, std::vector<double>& results) {
  combine(kind, DType::kF64, reinterpret_cast<const std::byte*>(operands.data()),
          reinterpret_cast<std::byte*>(results.data()), static_cast<int64_t>(results.size()));
}

}  // namespace

Assembled assembled(const TensorType& type, const Sharding& sharding,
                    const std::vector<PlacedShard>& shards) {
  if (sharding.partial.empty()) return joined(type, shards, !sharding.windows.empty());
  const auto [axis, kind] = sharding.partial.back();
  Sharding rest = sharding;
  rest.partial.pop_back();
  std::map<int64_t, std::vector<PlacedShard>> members;
  for (const PlacedShard& placed : shards) members[placed.at[static_cast<size_t>(axis)]].push_back(placed);
  Assembled sum;
  std::vector<double> wide;  // of bf16
  bool is_first = true;
  for (const auto& [position, held] : members) {
    Assembled term = assembled(type, rest, held);
    std::vector<double> magnitudes = std::move(sum.magnitudes);
    if (kind == ReduceKind::kSum && is_float(type.dtype)) add_magnitudes(term, magnitudes);
    if (is_first && type.dtype == DType::kBF16) wide = numbers_of(term.value);
    if (is_first)
      sum = std::move(term);
    else if (type.dtype == DType::kBF16)
      combine_numbers(kind, numbers_of(term.value), wide);
    else
      combine(kind, type.dtype, term.value.data.data(), sum.value.data.data(),
              static_cast<int64_t>(sum.value.size()));
    sum.magnitudes = std::move(magnitudes);
    is_first = false;
  }
  if (type.dtype == DType::kBF16) sum.value = value_of(type, wide);  // rounded once
  sum.is_partial = true;
  sum.torn.clear();  // nothing reads a term twice
  return sum;
}

void fill(const LocalShard& shard, const HostTensor& value) {
  const Dims& dims = value.type.dims;
  const auto size = static_cast<size_t>(size_of(value.type.dtype));
  for (const Run& run : common_runs(dims, whole_box(dims), dims, shard.box))
    for (int64_t k = 0; k < run.length; ++k)
      std::memcpy(shard.data + static_cast<size_t>(run.to + k * run.to_step) * size,
                  value.data.data() + static_cast<size_t>(run.from + k * run.from_step) * size, size);
}

WholeKernel::WholeKernel(const RunKernel& kernel, const std::vector<TensorType>& operands,
                         const std::vector<TensorType>& results, const std::string& name)
    : results_(results) {
  KernelSite site{kernel.attributes, {}, {}, name, 0};
  for (const TensorType& type : operands) site.operands.push_back({type, whole_box(type.dims)});
  for (const TensorType& type : results) site.results.push_back({type, whole_box(type.dims)});
  site.workspace_bytes =
      kernel_workspace(*kernel.op, {kernel.attributes, held_whole(operands)}, held_whole(results)).bytes;
  workspace_.resize(static_cast<size_t>(site.workspace_bytes));
  kernel_ = prepare_kernel(kernel.op->signature.name, site);
}

std::vector<HostTensor> WholeKernel::run(std::span<const HostTensor* const> operands, const WholeCall& call) {
  std::vector<const std::byte*> from;
  for (const HostTensor* operand : operands) from.push_back(operand->data.data());
  std::vector<HostTensor> made;
  for (const TensorType& type : results_) made.emplace_back(type);
  std::vector<std::byte*> to;
  for (HostTensor& value : made) to.push_back(value.data.data());
  kernel_({from, to, workspace_.data(), call.seed, call.step, call.round});
  return made;
}

std::vector<HostTensor> computed(const RunKernel& kernel, std::span<const HostTensor* const> operands,
                                 const std::vector<TensorType>& results, const WholeCall& call) {
  std::vector<TensorType> types;
  for (const HostTensor* operand : operands) types.push_back(operand->type);
  return WholeKernel(kernel, types, results, call.name).run(operands, call);
}

}  // namespace mtfc
