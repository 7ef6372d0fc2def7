#include <fmt/format.h>

#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::split_composite {
namespace {

// The dimensions of the parts: those listed, or as many copies of the only one listed as fit.
Dims parts_of(const Attributes& attributes) {
  const Dims& to = attributes.get<Dims>("to");
  const int64_t size = attributes.get<Dim>("dim").size;
  if (to.size() != 1 || size % to[0].size != 0 || size / to[0].size > kMostResults) return to;
  return Dims(static_cast<size_t>(size / to[0].size), to[0]);
}

std::vector<TensorType> infer(const OpCall& call) {
  const TensorType& x = call.operands[0];
  const Dim& dim = call.attributes.get<Dim>("dim");
  require_known({dim}, x.dims, to_string(x), "dim");
  const Dims parts = parts_of(call.attributes);
  if (parts.size() == 1 && dim.size / parts[0].size > kMostResults)
    throw OpError{fmt::format("split would return {} results; at most {} are possible",
                              dim.size / parts[0].size, kMostResults),
                  "", -1, "to"};
  int64_t total = 0;
  for (const Dim& part : parts) {
    require_size(static_cast<double>(total) + static_cast<double>(part.size), "the parts", dim.name, "to");
    total += part.size;
  }
  if (total != dim.size)
    throw OpError{parts.size() == 1
                      ? fmt::format("'{}' of size {} can't be split into parts of {}, the size of '{}'",
                                    dim.name, dim.size, parts[0].size, parts[0].name)
                      : fmt::format("the parts [{}] have {} elements together, but '{}' has {}",
                                    to_string(parts), total, dim.name, dim.size),
                  "", -1, "to"};
  std::vector<TensorType> results;
  for (const Dim& part : parts) {
    if (part.name != dim.name && contains(x.dims, part.name))
      throw OpError{fmt::format("{} has a dimension '{}' already", to_string(x), part.name),
                    "name another dimension as 'to', or rename that one", -1, "to"};
    TensorType type = x;
    type.dims[static_cast<size_t>(position(x.dims, dim.name))] = part;
    results.push_back(std::move(type));
  }
  return results;
}

std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const Dim dim = node.attributes.get<Dim>("dim");
  std::vector<TensorId> results;
  int64_t next = 0;
  for (const Dim& part : parts_of(node.attributes)) {
    results.push_back(b.op("slice", {node.operands[0]},
                           {{"dim", dim}, {"start", next}, {"limit", next + part.size}, {"to", part}}));
    next += part.size;
  }
  return results;
}

}  // namespace

extern const CompositeDef kComposite = {
    .signature =
        {
            .name = "split",
            .doc = "A tensor cut into parts along a dimension; one result for each part.",
            .attributes = {{"dim", AttributeType::kDim, true, "the dimension to cut"},
                           {"to", AttributeType::kParts, true,
                            "the dimension that replaces `dim`: one name for equal parts, or a list of one "
                            "for each part"}},
            .infer = infer,
            .examples = {{{normal("batch=5 length=9")},
                          {{"dim", dim_of("length=9")}, {"to", dims_of("part=3")}}},
                         {{normal("length=11 batch=5", DType::kF32)},
                          {{"dim", dim_of("length=11")}, {"to", dims_of("a=2 b=5 c=4")}}},
                         {{steps("a=3 b=7 c=2", DType::kI32)},
                          {{"dim", dim_of("b=7")}, {"to", dims_of("x=6 y=1")}}},
                         {{normal("length=7")}, {{"dim", dim_of("length=7")}, {"to", dims_of("length=7")}}}},
        },
    .expand = expand,
};

}  // namespace mtfc::split_composite
