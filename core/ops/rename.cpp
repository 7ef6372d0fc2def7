#include <fmt/format.h>

#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc::rename_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  TensorType result = call.operands[0];
  Dims named;
  for (const Renaming& entry : call.attributes.get<std::vector<Renaming>>("map"))
    named.push_back({entry.from, 0});
  require_known(named, result.dims, to_string(result), "map");
  require_distinct(named, "map");
  for (const Renaming& entry : call.attributes.get<std::vector<Renaming>>("map")) {
    const int at = position(call.operands[0].dims, entry.from);
    const Dim& from = call.operands[0].dims[static_cast<size_t>(at)];
    if (from.size != entry.to.size)
      throw OpError{fmt::format("'map' renames '{}' of size {} to '{}' of size {}", from.name, from.size,
                                entry.to.name, entry.to.size),
                    "the sizes must be the same; use reshape to change them", -1, "map"};
    result.dims[static_cast<size_t>(at)] = entry.to;
  }
  for (size_t i = 0; i < result.dims.size(); ++i)
    if (position(result.dims, result.dims[i].name) != static_cast<int>(i))
      throw OpError{fmt::format("'map' leaves two dimensions named '{}'", result.dims[i].name), "", -1,
                    "map"};
  return {result};
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const Dims& dims = b.dims(node.operands[0]);
  std::vector<Renaming> back;
  for (const Renaming& entry : node.attributes.get<std::vector<Renaming>>("map"))
    back.push_back({entry.to.name, dims[static_cast<size_t>(position(dims, entry.from))]});
  return {b.op("rename", {gradients[0]}, {{"map", back}})};
}

}  // namespace

extern const OpDef kOp = relabelling({
    .name = "rename",
    .doc = "The same tensor with its dimensions renamed.",
    .attributes = {{"map", AttributeType::kRenaming, true,
                    "the old and the new names; the sizes must be the same"}},
    .infer = infer,
    .examples = {{.operands = {normal("batch=5 length=7")},
                  .attributes = {{"map", std::vector<Renaming>{{"length", dim_of("memory=7")}}}}},
                 {.operands = {normal("a=5 b=5 c=3")},
                  .attributes = {{"map", std::vector<Renaming>{{"a", dim_of("b=5")}, {"b", dim_of("a=5")}}}}},
                 {.operands = {steps("batch=5", DType::kI32)},
                  .attributes = {{"map", std::vector<Renaming>{{"batch", dim_of("rows=5")}}}}}},
    .gradient = gradient,
});

}  // namespace mtfc::rename_op
