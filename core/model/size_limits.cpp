#include "core/model/size_limits.h"

namespace mtfc {
namespace {

// Sums of doubles are precise enough for a limit, and never overflow.
constexpr double kMost = 0x1p62;
constexpr const char* kHint = "is a dimension larger than it was meant to be?";
// A tensor's bytes may count up to this many times: for its own sharding, for partial and gathered ones, and for
// buffers of collectives.
constexpr double kCopies = 16;

double bytes_of(const TensorType& type) {
  double bytes = static_cast<double>(size_of(type.dtype));
  for (const Dim& dim : type.dims) bytes *= static_cast<double>(dim.size);
  return bytes;
}

}  // namespace

void require_countable(const std::vector<VariableDecl>& variables) {
  double total = 0;
  for (const VariableDecl& variable : variables) {
    total += kCopies * bytes_of(variable.type);
    if (total > kMost)
      throw UserError(
          "the variables up to '" + variable.name + "' add up to more bytes than can be counted, 2^58", kHint,
          variable.location);
  }
}

void require_countable(const EntryGraph& entry) {
  double bytes = 0, flops = 0;
  for (const Node& node : entry.graph.nodes()) {
    const std::vector<TensorType> results = entry.graph.result_types(node);
    const std::string last = "'" + entry.graph.tensor(node.results[0]).name + "'";
    for (const TensorType& type : results) bytes += kCopies * bytes_of(type);
    if (bytes > kMost)
      throw UserError("the tensors up to " + last + " add up to more bytes than can be counted, 2^58", kHint,
                      node.origin.location);
    if (node.kind == NodeKind::kLoop)
      for (const LoopPart* part : {&node.loop->condition, &node.loop->body})
        require_countable({entry.name, part->graph, {}, {}, 0});
    if (node.kind == NodeKind::kOp)
      flops += static_cast<double>(node.op->flops(
          {node.attributes, held_whole(entry.graph.operand_types(node))}, held_whole(results)));
    if (flops > kMost)
      throw UserError("the operations up to " + last + " add up to more flops than can be counted, 2^62",
                      kHint, node.origin.location);
  }
}

}  // namespace mtfc
