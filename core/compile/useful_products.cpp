#include "core/compile/useful_products.h"

#include <cmath>

#include "core/cost/kernel_time.h"
#include "core/graph/op_def.h"

namespace mtfc {

UsefulProducts useful_products(const Graph& graph) {
  UsefulProducts found;
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::kOp || !is_product(*node.op)) continue;
    const std::vector<LocalType> operands = held_whole(graph.operand_types(node)),
                                 results = held_whole(graph.result_types(node));
    const int64_t flops = node.op->flops({node.attributes, operands}, results);
    found.flops += flops;
    found.needed[rated_dtype(*node.op, operands, results[0])] +=
        std::llround(static_cast<double>(flops) * share_useful(*node.op, node.attributes));
  }
  return found;
}

void add(UsefulProducts& whole, const UsefulProducts& part, int64_t times) {
  whole.flops += part.flops * times;
  for (const auto& [dtype, flops] : part.needed) whole.needed[dtype] += flops * times;
}

}  // namespace mtfc
