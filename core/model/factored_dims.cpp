#include "core/model/factored_dims.h"

#include <algorithm>
#include <optional>
#include <set>

namespace mtfc {
namespace {

// A variable, perhaps under other names: for each dimension of a tensor, the variable's own name of it.
struct Renamed {
  TensorId variable = kNoTensor;
  std::vector<std::string> names;
};

// Finds the dimensions along which all products that read a variable keep its parts apart.
class Stacks {
 public:
  explicit Stacks(const Graph& graph) : graph_(graph), renamed_(graph.tensors().size()) {
    for (const Node& node : graph.nodes()) {
      if (node.kind == NodeKind::kVariable) start(node.results[0]);
      if (node.kind != NodeKind::kOp) continue;
      if (is_product(*node.op))
        read_product(node);
      else if (node.operands.size() == 1 && node.results.size() == 1)
        follow(node);
    }
  }

  bool has(TensorId variable, const std::string& dim) const {
    const auto found = stacked_.find(variable);
    return found != stacked_.end() && found->second.contains(dim);
  }

 private:
  void start(TensorId variable) {
    Renamed& own = renamed_[variable].emplace();
    own.variable = variable;
    for (const Dim& dim : graph_.type(variable).dims) own.names.push_back(dim.name);
  }

  // Operations whose result has the dimensions of the operand, perhaps in another order or under other names.
  void follow(const Node& node) {
    const std::optional<Renamed>& from = renamed_[node.operands[0]];
    if (!from) return;
    const Dims &old = graph_.type(node.operands[0]).dims, &now = graph_.type(node.results[0]).dims;
    Renamed renamed{from->variable, {}};
    if (node.op->family == Family::kRelabel) {
      if (!std::equal(old.begin(), old.end(), now.begin(), now.end(),
                      [](const Dim& a, const Dim& b) { return a.size == b.size; }))
        return;
      renamed.names = from->names;
    } else if (is_elementwise(*node.op) || node.op->traits.copies == Copies::kReordered) {
      if (old.size() != now.size()) return;
      for (const Dim& dim : now)
        renamed.names.push_back(from->names[static_cast<size_t>(position(old, dim.name))]);
    } else {
      return;
    }
    renamed_[node.results[0]] = std::move(renamed);
  }

  void read_product(const Node& node) {
    const std::vector<TensorType> operands = graph_.operand_types(node), results = graph_.result_types(node);
    std::vector<Factor> factors;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const std::optional<Renamed>& read = renamed_[node.operands[i]];
      if (!read) continue;
      if (factors.empty()) factors = node.op->roles({node.attributes, operands}, results);
      std::set<std::string> apart;
      for (const Factor& factor : factors)
        if (factor.kind == Factor::Kind::kPass && factor.operands[i] >= 0 && is_shared(factor, i))
          apart.insert(read->names[static_cast<size_t>(factor.operands[i])]);
      const auto [known, added] = stacked_.emplace(read->variable, apart);
      if (!added) std::erase_if(known->second, [&](const std::string& dim) { return !apart.contains(dim); });
    }
  }

  static bool is_shared(const Factor& factor, size_t operand) {
    for (size_t i = 0; i < factor.operands.size(); ++i)
      if (i != operand && factor.operands[i] >= 0) return true;
    return false;
  }

  const Graph& graph_;
  PerTensor<std::optional<Renamed>> renamed_;
  std::map<TensorId, std::set<std::string>> stacked_;  // of variables that products read
};

}  // namespace

std::map<std::string, FactoredDims> default_factored_dims(const Graph& graph,
                                                          const std::vector<std::string>& variables,
                                                          double least) {
  const Stacks stacks(graph);
  std::map<std::string, FactoredDims> found;
  for (const std::string& name : variables) {
    const TensorId variable = graph.find(name);
    const Dims& dims = graph.type(variable).dims;
    std::vector<size_t> places;
    for (size_t i = 0; i < dims.size(); ++i)
      if (static_cast<double>(dims[i].size) >= least && !stacks.has(variable, dims[i].name))
        places.push_back(i);
    if (places.size() < 2) continue;
    std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t c) {
      return dims[a].size != dims[c].size ? dims[a].size > dims[c].size : a > c;
    });
    const auto [first, second] = std::minmax(places[0], places[1]);
    found.emplace(name, FactoredDims{dims[first], dims[second]});
  }
  return found;
}

}  // namespace mtfc
