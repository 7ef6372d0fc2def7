#include "core/op_rules/parts.h"

#include <fmt/format.h>

#include "core/op_rules/operation_rules.h"

namespace mtfc {

Dim parts_dim(int64_t parts) {
  return {fmt::format("parts@{}", parts), parts};
}

Factor parts_factor(const OpCall& call, std::span<const TensorType> results) {
  const std::string& dim = call.attributes.get<Dim>("dim").name;
  Factor own = factor(dim, Factor::Kind::kPass, call, results);
  const Dim& parts = call.attributes.get<Dim>("parts");
  own.parts = parts.size;
  for (size_t i = 0; i < results.size(); ++i)
    if (const int at = position(results[i].dims, parts.name); at >= 0) own.results[i] = at;
  return own;
}

// Part p begins at floor(p*n/P), so element i is in part floor(((i+1)*P - 1) / n).
TensorId spread_parts(GraphBuilder& b, TensorId per_part, const Dim& dim, const Dim& parts) {
  const auto number = [&](int64_t value) { return b.constant(static_cast<double>(value), DType::kI64); };
  const TensorId i = b.op("range", {}, {{"dim", dim}, {"dtype", DType::kI64}});
  // (i+1)*P - 1 = i*P + (P-1)
  const TensorId scaled = b.op("add", {b.op("mul", {i, number(parts.size)}), number(parts.size - 1)});
  const TensorId part_of = b.op("floordiv", {scaled, number(dim.size)});
  return b.op("gather", {per_part, part_of}, {{"dim", parts}});
}

std::vector<int64_t> part_bounds(int64_t size, int64_t parts, const Interval& held,
                                 const Interval& held_parts) {
  std::vector<int64_t> bounds;
  for (int64_t p = held_parts.begin; p < held_parts.end; ++p)
    bounds.push_back(shard_interval(size, parts, p).begin - held.begin);
  bounds.push_back(held.size());
  return bounds;
}

}  // namespace mtfc
