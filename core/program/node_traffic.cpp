#include "core/program/node_traffic.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "core/diagnostics/stop.h"
#include "core/program/ring.h"
#include "core/program/sent_elements.h"

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
    check_stop();
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

// The axes along which the members of a group stay on one node, if these axes alone decide which members share a node.
std::optional<AxisList> axes_inside(const Traffic& traffic, const Group& group, const AxisList& axes) {
  AxisList inside;
  const auto node_of = [&](const Coordinates& at) {
    return traffic.nodes[static_cast<size_t>(traffic.mesh.rank(at))];
  };
  for (const int axis : axes)
    if (traffic.mesh.size(axis) == 1 ||
        node_of(traffic.mesh.moved(group.members[0], {axis}, 1)) == group.nodes[0])
      inside.push_back(axis);
  if (static_cast<int64_t>(group.size()) !=
      traffic.mesh.size(inside) * static_cast<int64_t>(group.different.size()))
    return std::nullopt;
  for (size_t m = 0; m < group.size(); ++m)
    if (node_of(traffic.mesh.moved(group.members[m], inside, 0)) != group.nodes[m]) return std::nullopt;
  return inside;
}

// A node sends what its members hold and any member needs, without what its own members need of it.
void add_exchange(const Traffic& traffic, const SentElements& moved, const Group& group, const AxisList& axes,
                  int64_t size) {
  const auto sent_by = [&](size_t m) -> int64_t& {
    return traffic.sent[static_cast<size_t>(group.nodes[m])];
  };
  if (const std::optional<AxisList> inside = axes_inside(traffic, group, axes)) {
    for (size_t m = 0; m < group.size(); ++m) {
      if (traffic.mesh.index(group.members[m], *inside) != 0) continue;
      const SentElements::Devices node{group.members[m], *inside};
      sent_by(m) += (moved.pairs(node, {group.members[m], axes}) - moved.pairs(node, node)) * size;
    }
    return;
  }
  std::map<int, std::vector<size_t>> members;  // by node
  for (size_t m = 0; m < group.size(); ++m) members[group.nodes[m]].push_back(m);
  for (size_t m = 0; m < group.size(); ++m) {
    const SentElements::Devices from{group.members[m], {}};
    int64_t count = moved.pairs(from, {group.members[m], axes});
    for (const size_t other : members[group.nodes[m]]) count -= moved.pairs(from, {group.members[other], {}});
    sent_by(m) += count * size;
  }
}

// The elements of several values that are added up together, on the device at `at`.
int64_t elements_of(const Traffic& traffic, const std::vector<ValueId>& values, const Coordinates& at) {
  int64_t count = 0;
  for (const ValueId id : values) count += elements(box_of(traffic.entry.values[id], traffic.mesh, at));
  return count;
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
  std::optional<SentElements> moved;
  if (!adds && kind != CollectiveKind::kAllGather)
    moved.emplace(sent_elements(traffic.entry, step, axes, traffic.mesh));
  for_each_group(traffic.mesh, axes, traffic.nodes, [&](const Group& group) {
    if (sums_all)
      add_all_reduce(traffic, group, elements_of(traffic, step.inputs, group.members[0]), size);
    else if (adds)
      add_reduce_scatter(traffic, group, result, size);
    else if (kind == CollectiveKind::kAllGather)
      add_all_gather(traffic, group, operand, size);
    else
      add_exchange(traffic, *moved, group, axes, size);
  });
}

void add_ring(const Traffic& traffic, const Step& step) {
  const Ring ring(traffic.entry, step, traffic.mesh);
  const int64_t size = size_of(traffic.entry.values[ring.turning()].type.dtype);
  for_each_group(traffic.mesh, ring.action().axes, traffic.nodes, [&](const Group& group) {
    std::vector<int64_t> slices;
    for (size_t owner = 0; owner < group.size(); ++owner)
      slices.push_back(elements(ring.slice(group.members[0], owner)));
    const int64_t all = std::accumulate(slices.begin(), slices.end(), int64_t{0});
    for (size_t m = 0; m < group.size(); ++m) {
      const size_t previous = (m + group.size() - 1) % group.size();
      // Every slice is passed on but the one of the last turn.
      if (group.nodes[m] != group.nodes[previous])
        traffic.sent[static_cast<size_t>(group.nodes[m])] +=
            (all - slices[ring.slice_owner(m, group.size() - 1)]) * size;
    }
  });
}

// True if the two steps start the same collective for values of the same types and shardings, as equal layers do.
bool are_alike(const EntryPoint& entry, const Step& a, const Step& b) {
  if (a.op() || b.op()) return false;
  const Collective &x = a.collective(), &y = b.collective();
  const auto is_same = [&](ValueId of_a, ValueId of_b) {
    const Value &v = entry.values[of_a], &w = entry.values[of_b];
    return v.type == w.type && v.sharding == w.sharding;
  };
  return x.kind == y.kind && x.axes == y.axes &&
         std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(), is_same) &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), is_same);
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
  std::vector<std::pair<const Step*, int64_t>> distinct;  // collectives, and how often they run
  const auto add = [&](const std::function<void(const Traffic&)>& count_step, int64_t rounds) {
    std::vector<int64_t> sent(count);
    count_step({entry, mesh, nodes, sent});
    for (size_t node = 0; node < count; ++node) all[node] += sent[node] * rounds;
  };
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    const Step& step = entry.steps[s];
    if (step.kind() == StepKind::kRing) {
      add([&](const Traffic& traffic) { add_ring(traffic, step); }, times[s]);
    } else if (step.kind() == StepKind::kStart) {
      const auto known = std::find_if(distinct.begin(), distinct.end(), [&](const auto& other) {
        return are_alike(entry, step, *other.first);
      });
      if (known == distinct.end())
        distinct.emplace_back(&step, times[s]);
      else
        known->second += times[s];
    }
  }
  for (const auto& [step, rounds] : distinct)
    add([&, &of = *step](const Traffic& traffic) { add_collective(traffic, of); }, rounds);
  return all;
}

}  // namespace mtfc
