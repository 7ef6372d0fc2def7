#include "core/program/reshard_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/program/repeated_names.h"

namespace mtfc {
namespace {

std::string collective_form(const ReshardStep& reshard, const Mesh& mesh) {
  std::set<std::string> readers;
  for (const OperationPlace& reader : reshard.readers) readers.insert(operation_form(reader));
  std::string form = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", unnumbered(reshard.tensor),
                                 to_string(reshard.collective.kind), mesh.names(reshard.collective.axes),
                                 to_string(reshard.from, mesh), target_text(reshard, mesh),
                                 reshard.all_bytes(), reshard.others, operation_form(reshard.maker));
  for (const std::string& reader : readers) form += "\n" + reader;
  return form;
}

}  // namespace

std::string operation_form(const OperationPlace& operation) {
  return operation.kind + "\n" + unnumbered(operation.name);
}

std::vector<CollectiveGroup> collective_groups(const std::vector<ReshardStep>& reshards, const Mesh& mesh) {
  std::map<std::string, size_t> places;
  std::vector<CollectiveGroup> groups;
  for (const ReshardStep& reshard : reshards) {
    const auto [at, is_new] = places.try_emplace(collective_form(reshard, mesh), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].members.push_back(&reshard);
    groups[at->second].bytes += reshard.all_bytes();
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const CollectiveGroup& a, const CollectiveGroup& b) { return a.bytes > b.bytes; });
  return groups;
}

ReshardStep folded(const CollectiveGroup& group) {
  ReshardStep first = *group.members.front();
  std::vector<std::string> tensors, readers;
  for (const ReshardStep* member : group.members) {
    tensors.push_back(member->tensor);
    for (const OperationPlace& reader : member->readers)
      if (operation_form(reader) == operation_form(first.readers.front())) readers.push_back(reader.name);
  }
  first.tensor = folded(tensors);
  if (!first.readers.empty()) first.readers.front().name = folded(readers);
  return first;
}

}  // namespace mtfc
