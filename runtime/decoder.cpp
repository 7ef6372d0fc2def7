#include "runtime/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/entry_points.h"
#include "core/error.h"

namespace mtfc {
namespace {

const Binding* find(const std::vector<Binding>& bindings, std::string_view name) {
  const auto at = std::find_if(bindings.begin(), bindings.end(),
                               [&](const Binding& binding) { return binding.name == name; });
  return at == bindings.end() ? nullptr : &*at;
}

const Dims& dims_of(const EntryPoint& entry, const Binding& binding) {
  return entry.values[static_cast<size_t>(binding.value)].type.dims;
}

// The elements of `part` that lie side by side, in the part and in the whole tensor: (there, here, how many).
template <typename Visit>
void for_each_run(const LocalPart& part, Visit visit) {
  const size_t rank = part.box.size();
  if (rank == 0) return visit(0, 0, 1);
  const int64_t count = part.box[rank - 1].size();
  std::vector<int64_t> at;
  for (const Interval& interval : part.box) at.push_back(interval.begin);
  for (int64_t local = 0; local < part.elements(); local += count) {
    int64_t global = 0;
    for (size_t i = 0; i < rank; ++i) global = global * part.type.dims[i].size + at[i];
    visit(global, local, count);
    for (size_t i = rank - 1; i-- > 0;) {
      if (++at[i] < part.box[i].end) break;
      at[i] = part.box[i].begin;
    }
  }
}

}  // namespace

Decoder::Decoder(Executor& executor, const EntryPoint& decode) : executor_(executor), decode_(decode) {
  const Binding* token = find(decode.inputs, kTokenInput);
  const Binding* seen = find(decode.inputs, kSeenInput);
  check_invariant(!decode.outputs.empty(), "decode has no logits");
  if (token && !dims_of(decode, *token).empty()) sequences_ = dims_of(decode, *token)[0].size;
  if (token && dims_of(decode, *token).size() > 1) beams_ = dims_of(decode, *token)[1].size;
  if (seen) places_ = dims_of(decode, *seen).back().size;
  vocabulary_ = dims_of(decode, decode.outputs[0]).back().size;
  executor.load(decode);
  executor.clear_caches(decode);
}

template <typename Value>
void Decoder::fill(std::string_view input, std::span<const Value> values) {
  const Binding* binding = find(decode_.inputs, input);
  if (!binding) return;
  for (size_t device = 0; device < executor_.devices(); ++device) {
    const LocalPart part = executor_.part(decode_, binding->value, device);
    const auto put = [&](auto* data) {
      for_each_run(part, [&](int64_t from, int64_t to, int64_t count) {
        std::transform(values.data() + from, values.data() + from + count, data + to,
                       [](Value value) { return static_cast<std::remove_pointer_t<decltype(data)>>(value); });
      });
    };
    if (part.type.dtype == DType::kI32)
      put(reinterpret_cast<int32_t*>(part.data));
    else if (part.type.dtype == DType::kI64)
      put(reinterpret_cast<int64_t*>(part.data));
    else
      put(reinterpret_cast<uint8_t*>(part.data));
  }
}

void Decoder::step(int64_t position, std::span<const int64_t> tokens, std::span<const uint8_t> seen) {
  position_ = position;
  fill(kTokenInput, tokens);
  fill(kPositionInput, std::span<const int64_t>(&position, 1));
  fill(kSeenInput, seen);
  executor_.run(decode_, position);
}

std::vector<double> Decoder::logits(int64_t sequence) const {
  const LocalPart part = executor_.part(decode_, decode_.outputs[0].value, 0);
  const int64_t count = beams_ * vocabulary_;
  std::vector<double> found(static_cast<size_t>(count));
  const auto copy = [&](const auto* data) { std::copy_n(data + sequence * count, count, found.begin()); };
  if (part.type.dtype == DType::kF64)
    copy(reinterpret_cast<const double*>(part.data));
  else
    copy(reinterpret_cast<const float*>(part.data));
  for (const double logit : found)
    if (std::isnan(logit) || logit == INFINITY)
      throw RunError(fmt::format("decode, position {}: a logit is {}", position_, logit));
  return found;
}

}  // namespace mtfc
