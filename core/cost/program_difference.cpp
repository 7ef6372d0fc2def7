#include "core/cost/program_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/program/repeated_names.h"
#include "core/program/reshard_list.h"

namespace mtfc {
namespace {

std::string moved_text(const ReshardStep& reshard, const Mesh& mesh) {
  if (!reshard.moves.empty()) return "pieces for " + reshard.moves;
  return to_string(reshard.from, mesh) + " -> " + to_string(reshard.to, mesh);
}

// Adds the collectives of one program to the differences; `sums` says whose they are.
class CollectiveList {
 public:
  void add(const ComparedEntry& compared, CollectiveSums CollectiveDifference::*sums) {
    const Mesh& mesh = compared.program.mesh();
    for (const ReshardStep& reshard : reshard_steps(compared.program, compared.entry)) {
      const std::string kind = to_string(reshard.collective.kind), axes = mesh.names(reshard.collective.axes),
                        moved = moved_text(reshard, mesh);
      const std::string key = fmt::format("{}|{}|{}|{}", kind, axes, unnumbered(reshard.tensor), moved);
      const auto [at, is_new] = known_.emplace(key, differences_.size());
      if (is_new) differences_.push_back({kind, axes, {}, moved, {}, {}});
      CollectiveDifference& difference = differences_[at->second];
      if (std::find(difference.tensors.begin(), difference.tensors.end(), reshard.tensor) ==
          difference.tensors.end())
        difference.tensors.push_back(reshard.tensor);
      (difference.*sums).count += reshard.runs;
      (difference.*sums).bytes += reshard.all_bytes();
    }
  }

  std::vector<CollectiveDifference> sorted() && {
    std::stable_sort(differences_.begin(), differences_.end(),
                     [](const CollectiveDifference& a, const CollectiveDifference& b) {
                       return std::abs(a.more()) > std::abs(b.more());
                     });
    return std::move(differences_);
  }

 private:
  std::vector<CollectiveDifference> differences_;
  std::map<std::string, size_t> known_;
};

}  // namespace

ShardingDifferences sharding_differences(const ComparedEntry& first, const ComparedEntry& second) {
  std::map<std::string, PlacedTensor> others;
  for (PlacedTensor& tensor : placed_tensors(second.program, second.entry))
    others.emplace(tensor.name, std::move(tensor));
  ShardingDifferences differences;
  std::map<std::string, size_t> known;
  std::map<std::string, std::string> variables;  // the forms of those that differ
  for (const PlacedTensor& tensor : placed_tensors(first.program, first.entry)) {
    const auto other = others.find(tensor.name);
    if (other == others.end() || other->second.type.dims != tensor.type.dims) continue;
    ++differences.compared;
    const std::string mine = to_string(TensorForm(tensor.type.dims, tensor.sharding), first.program.mesh());
    const std::string theirs =
        to_string(TensorForm(other->second.type.dims, other->second.sharding), second.program.mesh());
    if (mine == theirs) continue;
    ++differences.differing;
    const std::string forms = mine + '|' + theirs;
    if (tensor.role == TensorRole::kVariable) variables[tensor.name] = forms;
    if (const auto owner = variables.find(state_owner(tensor));
        tensor.role == TensorRole::kState && owner != variables.end() && owner->second == forms)
      continue;
    const std::string key =
        fmt::format("{}|{}|{}", static_cast<int>(tensor.role), unnumbered(tensor.name), forms);
    const auto [at, is_new] = known.emplace(key, differences.tensors.size());
    if (is_new) differences.tensors.push_back({{}, tensor.role, mine, theirs});
    differences.tensors[at->second].tensors.push_back(tensor.name);
  }
  return differences;
}

std::vector<CollectiveDifference> collective_differences(const ComparedEntry& first,
                                                         const ComparedEntry& second) {
  CollectiveList list;
  list.add(first, &CollectiveDifference::first);
  list.add(second, &CollectiveDifference::second);
  return std::move(list).sorted();
}

}  // namespace mtfc
