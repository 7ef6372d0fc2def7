#include "core/model/size_limits.h"

#include <algorithm>

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

// The elements of all dimensions of the operands together, which may be more than an int64_t counts.
double products_of(const Graph& graph, const Node& node) {
  double products = 1;
  Dims known;
  for (const TensorId id : node.operands)
    for (const Dim& dim : graph.type(id).dims) {
      if (contains(known, dim.name)) continue;
      known.push_back(dim);
      products *= static_cast<double>(dim.size);
    }
  return products;
}

// The flops of operations on whole tensors. Keeps its lists from one operation to the next: graphs have hundreds
// of thousands of them.
class WholeFlops {
 public:
  int64_t of(const Graph& graph, const Node& node) {
    hold(graph, node.operands, operands_);
    hold(graph, node.results, results_);
    return node.op->flops({node.attributes, operands_}, results_);
  }

 private:
  static void hold(const Graph& graph, const std::vector<TensorId>& ids, std::vector<LocalType>& types) {
    types.resize(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      const TensorType& type = graph.type(ids[i]);
      types[i].dtype = type.dtype;
      types[i].dims.resize(type.dims.size());
      for (size_t k = 0; k < type.dims.size(); ++k) {
        types[i].dims[k].name = type.dims[k].name;
        types[i].dims[k].size = type.dims[k].size;
      }
    }
  }

  std::vector<LocalType> operands_, results_;
};

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
  WholeFlops whole_flops;
  for (const Node& node : entry.graph.nodes()) {
    for (const TensorId id : node.results) bytes += kCopies * bytes_of(entry.graph.type(id));
    const auto refuse = [&](const char* what, const char* limit) {
      throw UserError("the " + std::string(what) + " up to '" + entry.graph.tensor(node.results[0]).name +
                          "' add up to more " + limit,
                      kHint, node.origin->location);
    };
    if (bytes > kMost) refuse("tensors", "bytes than can be counted, 2^58");
    if (node.kind == NodeKind::kLoop)
      for (const LoopPart* part : {&node.loop->condition, &node.loop->body})
        require_countable({entry.name, part->graph, {}, {}, 0});
    if (node.kind == NodeKind::kOp) flops += static_cast<double>(whole_flops.of(entry.graph, node));
    if (flops > kMost) refuse("operations", "flops than can be counted, 2^62");
  }
}

bool is_far_from_limits(const EntryGraph& entry) {
  double bytes = 0, flops = 0;
  WholeFlops whole_flops;
  for (const Node& node : entry.graph.nodes()) {
    for (const TensorId id : node.results) bytes += kCopies * bytes_of(entry.graph.type(id));
    if (bytes > kMost) return false;
    if (node.kind != NodeKind::kOp) continue;
    if (node.op->family == Family::kContraction) {
      // A contraction of n operands becomes at most n sums, each no larger than its operand, and n - 1 contractions of
      // two, each over some of the same dimensions.
      const double operands = static_cast<double>(node.operands.size());
      const double products = products_of(entry.graph, node);
      flops += (3 * operands - 2) * products;
      for (const TensorId id : node.operands) bytes += kCopies * bytes_of(entry.graph.type(id));
      if (operands > 2) bytes += operands * kCopies * static_cast<double>(size_of(DType::kF64)) * products;
    } else {
      flops += static_cast<double>(whole_flops.of(entry.graph, node));
    }
    if (std::max(bytes, flops) > kMost) return false;
  }
  return true;
}

}  // namespace mtfc
