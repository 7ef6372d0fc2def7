#include "core/cost/collective_time.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

namespace mtfc {
namespace {

// The distance in ranks between neighbours along an axis.
int64_t stride_of(int axis, const Mesh& mesh) {
  if (mesh.size(axis) == 1) return 1;
  Coordinates at(mesh.axes().size(), 0);
  const int64_t first = mesh.rank(at);
  at[static_cast<size_t>(axis)] = 1;
  return std::abs(mesh.rank(at) - first);
}

// The factor by which bytes take longer than between neighbours with a link of their own. On a ring of g
// devices, a message to any other one travels g/4 links on average. If all devices form one ring, groups of
// devices that are not neighbours share its links.
double distance(CollectiveKind kind, int axis, const Mesh& mesh, Topology topology) {
  if (topology != Topology::kRing && topology != Topology::kTorus) return 1;
  const double stride = topology == Topology::kRing ? static_cast<double>(stride_of(axis, mesh)) : 1;
  const double hops = facts_of(kind).pairwise ? static_cast<double>(mesh.size(axis)) / 4 : 1;
  return std::max(1.0, hops * stride);
}

const Rate& rate_of(const Link& link, CollectiveKind kind) {
  const auto at = link.collectives.find(to_string(kind));
  return at == link.collectives.end() ? link : at->second;
}

// A collective of a group whose devices one link connects.
struct LinkUse {
  CollectiveKind kind;
  int64_t members;
  double bytes;
  double factor = 1;  // how often a byte uses the link
  double starts = 1;  // the transfers of a ring start one by one
};

void add_link(const LinkUse& use, const Link& link, CollectiveTime& time) {
  const auto [kind, members, bytes, factor, starts] = use;
  const Rate& rate = rate_of(link, kind);
  time.latency_s +=
      starts * rate.fixed_s + static_cast<double>(messages_sent(kind, members)) * rate.latency_s;
  if (bytes > 0) {
    time.transfer_s = std::max(
        time.transfer_s,
        bytes * factor / (rate.bytes_per_s.at(bytes) * rate.members_share.at(static_cast<double>(members))));
    time.ideal_s = std::max(time.ideal_s, bytes / rate.bytes_per_s.most());
  }
  time.overlaps = time.overlaps && link.overlaps;
  time.slows_kernels = std::max(time.slows_kernels, link.slows_kernels);
  time.slowed_by_kernels = std::max(time.slowed_by_kernels, link.slowed_by_kernels);
}

// Returns how many members of a group one node holds: those along the minor axes that fit into a node.
int64_t members_in_a_node(const AxisList& axes, const Mesh& mesh, int64_t devices_per_node) {
  int64_t members = 1;
  for (const int axis : axes) {
    const int64_t room = devices_per_node / stride_of(axis, mesh);
    members *= std::clamp<int64_t>(room, 1, mesh.size(axis));
  }
  return members;
}

// The link of a level, and how many members of a group it connects.
struct LevelLink {
  const Link* link;
  int64_t members;
  size_t level;
};

// The levels over which a group spreads, from that of a node on; the last one connects all members.
std::vector<LevelLink> levels_of(const AxisList& axes, const Mesh& mesh, const Hardware& hardware) {
  const int64_t group = mesh.size(axes);
  std::vector<LevelLink> levels;
  size_t level = 0;
  const auto add = [&](const Link& link, int64_t members) {
    const int64_t before = levels.empty() ? 1 : levels.back().members;
    if (members > before || (members == group && levels.empty())) levels.push_back({&link, members, level});
    ++level;
  };
  const auto add_block = [&](const Link& link, int64_t devices) {
    add(link, std::min(members_in_a_node(axes, mesh, devices), group));
  };
  add_block(hardware.inside ? *hardware.inside : hardware.link(mesh.names(axes)), hardware.devices_per_node);
  for (const Level& wider : hardware.wider) add_block(wider.link, wider.devices);
  if (levels.empty() || levels.back().members < group) add(hardware.link(mesh.names(axes)), group);
  return levels;
}

// A collective of a group in two parts: within its nodes, and across them.
struct TwoParts {
  LinkUse inside, across;
  double reached = 1;  // members that have their parts of an all_to_all after the part inside
};

// `local`: the members of a node. An all_to_all has sent the parts of the nearest `near` members before.
TwoParts parts_of(const LinkUse& use, int64_t group, int64_t local_members, double near) {
  // A node that the group fills only in part is a node too.
  const int64_t all_nodes = (group + local_members - 1) / local_members;
  const auto members = static_cast<double>(group), local = static_cast<double>(local_members),
             nodes = static_cast<double>(all_nodes);
  const double fewest = members - (nodes - 1) * local;  // members on the last node
  TwoParts made{use, use};
  made.inside.members = local_members;
  if (use.kind == CollectiveKind::kAllToAll) {
    // The members of the last node have most to send across.
    made.inside.bytes = use.bytes * (fewest - near) / (members - near);
    made.across.bytes = use.bytes * (members - fewest) / (members - near);
    made.reached = fewest;
    return made;
  }
  made.across.members = all_nodes;
  if (works_in_place(use.kind)) {
    // An all_reduce of n bytes over g devices sends 2n(g-1)/g. As many members of each node as the last one has reduce
    // a share of the n bytes in their node, then across nodes, and give it to their neighbours.
    const double size = use.bytes * members / (2 * (members - 1));
    made.inside.bytes = 2 * size * (local - 1) / fewest;
    made.across.bytes = 2 * size / fewest * (nodes - 1) / nodes;
  } else {
    // Each member exchanges a piece with one member of each other node; one of the last node, with several of them.
    // Neighbours have the other pieces, of a larger node perhaps all.
    const double piece = use.bytes / (members - 1);
    made.inside.bytes = piece * (members - 1 - (nodes - 1) * std::floor(fewest / local));
    made.across.bytes = piece * (nodes - 1) * std::ceil(local / fewest);
  }
  return made;
}

// A collective within nodes, and then across them, where nodes are the members of wider levels.
CollectiveTime over_levels(const LinkUse& use, std::vector<LevelLink> levels, double near = 1) {
  CollectiveTime time, within;
  if (levels.size() == 1 || (facts_of(use.kind).pairwise && use.kind != CollectiveKind::kAllToAll)) {
    add_link(use, *levels.back().link, time);
    time.level = levels.back().level;
    return time;
  }
  const LevelLink node = levels.front();
  const TwoParts parts = parts_of(use, levels.back().members, node.members, near);
  levels.erase(levels.begin());
  if (use.kind != CollectiveKind::kAllToAll)
    for (LevelLink& level : levels) level.members = (level.members + node.members - 1) / node.members;
  add_link(parts.inside, *node.link, within);
  time = over_levels(parts.across, std::move(levels), parts.reached);
  if (within.overlaps) {
    time.latency_s += within.latency_s;
    time.transfer_s += within.transfer_s;
    time.ideal_s += within.ideal_s;
    time.slows_kernels = std::max(time.slows_kernels, within.slows_kernels);
    time.slowed_by_kernels = std::max(time.slowed_by_kernels, within.slowed_by_kernels);
  } else {
    time.own_s += within.seconds();
  }
  return time;
}

// Over the axes one after the other. A profile may list their group as one.
CollectiveTime over_links(const LinkUse& use, const AxisList& axes, const Mesh& mesh,
                          const Hardware& hardware) {
  CollectiveTime time;
  const auto group = hardware.axes.find(mesh.names(axes));
  if (axes.size() > 1 && group != hardware.axes.end()) {
    add_link(use, group->second, time);
    return time;
  }
  for (const int axis : axes) {
    LinkUse along = use;
    along.members = mesh.size(axis);
    along.factor = distance(use.kind, axis, mesh, hardware.topology);
    add_link(along, hardware.link(mesh.names({axis})), time);
  }
  return time;
}

}  // namespace

bool lies_in_a_node(const AxisList& axes, const Mesh& mesh, int64_t devices_per_node) {
  return members_in_a_node(axes, mesh, devices_per_node) >= mesh.size(axes);
}

size_t most_networks(const Mesh& mesh, const Hardware& hardware) {
  if (hardware.topology != Topology::kTwoLevel) return 1;
  AxisList axes;
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis)
    if (mesh.axes()[axis].size > 1) axes.push_back(static_cast<int>(axis));
  if (axes.size() <= 1) return 1;  // all groups are alike
  return levels_of(axes, mesh, hardware).back().level + 1;
}

double packing_seconds(int64_t bytes, const Hardware& hardware) {
  const auto copied = 2 * static_cast<double>(bytes);
  return copied / hardware.memory_bandwidth.at(copied) +
         copied / hardware.write_bandwidth.value_or(hardware.memory_bandwidth).at(copied);
}

CollectiveTime ring_transfers(const AxisList& axes, const Mesh& mesh, double bytes,
                              const Hardware& hardware) {
  const LinkUse use{CollectiveKind::kAllGather, mesh.size(axes), bytes, 1,
                    static_cast<double>(mesh.size(axes) - 1)};
  if (hardware.topology != Topology::kTwoLevel) return over_links(use, axes, mesh, hardware);
  CollectiveTime time;
  const LevelLink widest = levels_of(axes, mesh, hardware).back();
  add_link(use, *widest.link, time);
  time.level = widest.level;
  return time;
}

CollectiveTime collective_time(CollectiveKind kind, const AxisList& axes, const Mesh& mesh, double bytes,
                               const Hardware& hardware) {
  const LinkUse use{kind, mesh.size(axes), bytes};
  return hardware.topology == Topology::kTwoLevel ? over_levels(use, levels_of(axes, mesh, hardware))
                                                  : over_links(use, axes, mesh, hardware);
}

}  // namespace mtfc
