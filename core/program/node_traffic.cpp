#include "core/program/node_traffic.h"

#include <algorithm>
#include <functional>
#include <map>

#include "core/program/piece_map.h"
#include "core/program/ring.h"
#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

// What a step sends between nodes is added to `sent`.
struct Traffic {
  const EntryPoint& entry;
  const Mesh& mesh;
  const NodesOfRanks& nodes;
  std::vector<int64_t>& sent;  // bytes, by node
};

// The devices of a group over some axes, by index, and their nodes.
struct Group {
  std::vector<Coordinates> members;
  std::vector<int> nodes;
  std::vector<int> different;  // nodes, ascending

  size_t size() const { return members.size(); }
};

void for_each_group(const Mesh& mesh, const AxisList& axes, const NodesOfRanks& nodes,
                    const std::function<void(const Group&)>& visit) {
  for (int64_t rank = 0; rank < mesh.devices(); ++rank) {
    const Coordinates first = mesh.coordinates(rank);
    if (mesh.index(first, axes) != 0) continue;
    Group group;
    for (int64_t index = 0; index < mesh.size(axes); ++index) {
      group.members.push_back(mesh.moved(first, axes, index));
      group.nodes.push_back(nodes[static_cast<size_t>(mesh.rank(group.members.back()))]);
    }
    group.different = group.nodes;
    std::sort(group.different.begin(), group.different.end());
    group.different.erase(std::unique(group.different.begin(), group.different.end()), group.different.end());
    if (group.different.size() > 1) visit(group);
  }
}

// The axes in `axes` that split the value: devices that differ on another axis hold the same elements.
AxisList splitting(const AxisList& axes, const Sharding& sharding) {
  const AxisList split = split_axes(sharding);
  AxisList kept;
  for (const int axis : axes)
    if (contains(split, axis)) kept.push_back(axis);
  return kept;
}

Box box_of(const Value& value, const Mesh& mesh, const Coordinates& at) {
  return local_box(value.type.dims, value.sharding, mesh, at);
}

// A sum of `count` elements that all nodes of the group end with. Each node adds up one piece of it.
void add_all_reduce(const Traffic& traffic, const Group& group, int64_t count, int64_t size) {
  const auto all = static_cast<int64_t>(group.different.size());
  for (int64_t i = 0; i < all; ++i) {
    const int64_t piece = count / all + (i < count % all ? 1 : 0);
    traffic.sent[static_cast<size_t>(group.different[static_cast<size_t>(i)])] +=
        (count - piece + (all - 1) * piece) * size;
  }
}

void add_reduce_scatter(const Traffic& traffic, const Group& group, const Value& result, int64_t size) {
  for (size_t m = 0; m < group.size(); ++m) {
    const int64_t piece = elements(box_of(result, traffic.mesh, group.members[m]));
    for (const int node : group.different)
      if (node != group.nodes[m]) traffic.sent[static_cast<size_t>(node)] += piece * size;
  }
}

void add_all_gather(const Traffic& traffic, const Group& group, const Value& operand, int64_t size) {
  for (size_t m = 0; m < group.size(); ++m)
    traffic.sent[static_cast<size_t>(group.nodes[m])] +=
        elements(box_of(operand, traffic.mesh, group.members[m])) *
        static_cast<int64_t>(group.different.size() - 1) * size;
}

// `common`: the elements that the second device takes from the first one.
void add_pairs(const Traffic& traffic, const Group& group, int64_t size,
               const std::function<int64_t(const Coordinates&, const Coordinates&)>& common) {
  for (size_t from = 0; from < group.size(); ++from)
    for (size_t to = 0; to < group.size(); ++to)
      if (group.nodes[from] != group.nodes[to])
        traffic.sent[static_cast<size_t>(group.nodes[from])] +=
            common(group.members[from], group.members[to]) * size;
}

void add_exchange(const Traffic& traffic, const Step& step, const Group& group, int64_t size) {
  const Value& result = traffic.entry.values[step.outputs[0]];
  if (!step.op()) {
    const Value& operand = traffic.entry.values[step.inputs[0]];
    return add_pairs(traffic, group, size, [&](const Coordinates& from, const Coordinates& to) {
      return common_elements(operand.type.dims, box_of(operand, traffic.mesh, from), result.type.dims,
                             box_of(result, traffic.mesh, to));
    });
  }
  const PieceMap pieces = piece_map_of(traffic.entry, step);
  add_pairs(traffic, group, size, [&](const Coordinates& from, const Coordinates& to) {
    int64_t count = 0;
    for (size_t k = 0; k < step.inputs.size(); ++k)
      count += pieces.common_elements(k, box_of(traffic.entry.values[step.inputs[k]], traffic.mesh, from),
                                      box_of(result, traffic.mesh, to));
    return count;
  });
}

void add_collective(const Traffic& traffic, const Step& step) {
  const CollectiveKind kind = step.collective().kind;
  const Value &operand = traffic.entry.values[step.inputs[0]],
              &result = traffic.entry.values[step.outputs[0]];
  const int64_t size = size_of(operand.type.dtype);
  const bool adds = reduces(kind);
  const AxisList axes = adds ? step.collective().axes : splitting(step.collective().axes, operand.sharding);
  // Where several devices end with the same piece of a sum, each ends with all of it first.
  const bool sums_all =
      works_in_place(kind) || (adds && splitting(axes, result.sharding).size() != axes.size());
  for_each_group(traffic.mesh, axes, traffic.nodes, [&](const Group& group) {
    if (sums_all)
      add_all_reduce(traffic, group, elements(box_of(operand, traffic.mesh, group.members[0])), size);
    else if (adds)
      add_reduce_scatter(traffic, group, result, size);
    else if (kind == CollectiveKind::kAllGather)
      add_all_gather(traffic, group, operand, size);
    else
      add_exchange(traffic, step, group, size);
  });
}

void add_ring(const Traffic& traffic, const Step& step) {
  const Ring ring(traffic.entry, step, traffic.mesh);
  const int64_t size = size_of(traffic.entry.values[ring.turning()].type.dtype);
  for_each_group(traffic.mesh, ring.action().axes, traffic.nodes, [&](const Group& group) {
    for (size_t m = 0; m < group.size(); ++m) {
      const size_t previous = (m + group.size() - 1) % group.size();
      if (group.nodes[m] == group.nodes[previous]) continue;
      for (size_t turn = 0; turn + 1 < group.size(); ++turn)
        traffic.sent[static_cast<size_t>(group.nodes[m])] +=
            elements(ring.slice(group.members[m], ring.slice_owner(m, turn))) * size;
    }
  });
}

}  // namespace

NodesOfRanks consecutive_nodes(int64_t ranks, int64_t per_node) {
  NodesOfRanks nodes;
  for (int64_t rank = 0; rank < ranks; ++rank) nodes.push_back(static_cast<int>(rank / per_node));
  return nodes;
}

NodesOfRanks numbered_nodes(const std::vector<int>& nodes) {
  std::map<int, int> numbers;
  NodesOfRanks numbered;
  for (const int node : nodes)
    numbered.push_back(numbers.emplace(node, static_cast<int>(numbers.size())).first->second);
  return numbered;
}

std::vector<int64_t> bytes_between_nodes(const EntryPoint& entry, const Mesh& mesh,
                                         const NodesOfRanks& nodes) {
  const size_t count = static_cast<size_t>(*std::max_element(nodes.begin(), nodes.end())) + 1;
  std::vector<int64_t> all(count);
  const std::vector<int64_t> times = repetitions(entry);
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    const Step& step = entry.steps[s];
    std::vector<int64_t> sent(count);
    const Traffic traffic{entry, mesh, nodes, sent};
    if (step.kind() == StepKind::kRing)
      add_ring(traffic, step);
    else if (step.kind() == StepKind::kStart)
      add_collective(traffic, step);
    for (size_t node = 0; node < count; ++node) all[node] += sent[node] * times[s];
  }
  return all;
}

}  // namespace mtfc
