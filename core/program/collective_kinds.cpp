#include "core/program/collective_kinds.h"

#include <algorithm>

#include "core/diagnostics/error.h"
#include "core/program/sent_elements.h"
#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

// The axes over which the operand is partial and the result is not; none if reductions of several kinds are pending
// over them.
AxisList reduced_axes(const Resharding& change) {
  AxisList axes;
  ReduceKind kind = ReduceKind::kSum;
  for (const Partial& p : change.from.partial) {
    if (change.to.is_partial(p.axis)) continue;
    if (!axes.empty() && p.kind != kind) return {};
    axes.push_back(p.axis);
    kind = p.kind;
  }
  return axes;
}

// The axes that `longer` adds to those of `shorter`, over all dimensions, ascending. Returns nothing unless, in every
// dimension, the axes of `shorter` are a prefix of those of `longer`.
std::optional<AxisList> minor_axes(const Sharding& shorter, const Sharding& longer) {
  AxisList axes;
  for (size_t d = 0; d < longer.dims.size(); ++d) {
    const AxisList &before = shorter.dims[d], &after = longer.dims[d];
    if (before.size() > after.size() || !std::equal(before.begin(), before.end(), after.begin()))
      return std::nullopt;
    axes.insert(axes.end(), after.begin() + static_cast<std::ptrdiff_t>(before.size()), after.end());
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

// True if minor axes move, each from one dimension to another. Every device then sends each member of the group its
// part, and sends no part twice.
bool only_moves_minor_axes(const Sharding& from, const Sharding& to) {
  if (split_axes(from) != split_axes(to)) return false;
  for (size_t d = 0; d < from.dims.size(); ++d) {
    const AxisList &before = from.dims[d], &after = to.dims[d];
    const auto kept = static_cast<size_t>(
        std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first - before.begin());
    for (size_t i = kept; i < before.size(); ++i)
      if (contains(after, before[i])) return false;
  }
  return true;
}

std::optional<AxisList> all_reduce_group(const Resharding& change) {
  const AxisList axes = reduced_axes(change);
  if (axes.empty() || change.from.dims != change.to.dims) return std::nullopt;
  return axes;
}

std::optional<AxisList> reduce_scatter_group(const Resharding& change) {
  const AxisList axes = reduced_axes(change);
  if (axes.empty() || minor_axes(change.from, change.to) != axes) return std::nullopt;
  return axes;
}

std::optional<AxisList> all_gather_group(const Resharding& change) {
  if (change.from.partial != change.to.partial) return std::nullopt;
  return minor_axes(change.to, change.from);
}

std::optional<AxisList> exchange_group(const Resharding& change) {
  if (change.from.partial != change.to.partial) return std::nullopt;
  return moving_axes({change.dims, change.from.whole(), change.dims, change.to.whole()}, change.mesh);
}

// True if the same axes split the tensor into the same shards, and only assign them to other devices.
bool only_swaps_shards(const Resharding& change) {
  if (split_axes(change.from) != split_axes(change.to)) return false;
  for (size_t d = 0; d < change.dims.size(); ++d)
    if (change.mesh.size(change.from.dims[d]) != change.mesh.size(change.to.dims[d])) return false;
  return true;
}

std::optional<AxisList> permute_group(const Resharding& change) {
  if (change.from.dims == change.to.dims || !only_swaps_shards(change)) return std::nullopt;
  return exchange_group(change);
}

std::optional<AxisList> all_to_all_group(const Resharding& change) {
  if (!only_moves_minor_axes(change.from, change.to)) return std::nullopt;
  return exchange_group(change);
}

// True if every device already holds what it needs, as it may where a dimension has fewer elements than devices.
bool moves_nothing(const Resharding& change, const AxisList& axes) {
  return SentElements({change.dims, change.from}, {change.dims, change.to}, axes, change.mesh).none();
}

CollectiveCost cost_of_sent(const CollectiveAmounts& a) {
  return {a.share, a.share};
}

// A row leaves out the facts that are false, and a single message.
constexpr CollectiveFacts kFacts[] = {
    {.kind = CollectiveKind::kAllReduce,
     .reduces = true,
     .keeps_places = true,
     .messages = 2,
     .share = CostShare::kFlatPart,
     .cost = [](const CollectiveAmounts& a) -> CollectiveCost {
       return {a.in, 2 * (a.in - a.share)};
     },
     .group = all_reduce_group},
    {.kind = CollectiveKind::kReduceScatter,
     .reduces = true,
     .share = CostShare::kSmallestOutput,
     .cost = [](const CollectiveAmounts& a) -> CollectiveCost {
       return {a.in, a.in - a.share};
     },
     .group = reduce_scatter_group},
    {.kind = CollectiveKind::kAllGather,
     .share = CostShare::kSmallestInput,
     .cost = [](const CollectiveAmounts& a) -> CollectiveCost {
       return {a.out, a.out - a.share};
     },
     .group = all_gather_group},
    {.kind = CollectiveKind::kPermute,
     .pairwise = true,
     .has_one_partner = true,
     .share = CostShare::kSent,
     .cost = cost_of_sent,
     .group = permute_group},
    {.kind = CollectiveKind::kAllToAll,
     .pairwise = true,
     .share = CostShare::kSent,
     .cost = [](const CollectiveAmounts& a) -> CollectiveCost {
       return {a.in, a.share};
     },
     .group = all_to_all_group},
    {.kind = CollectiveKind::kExchange,
     .pairwise = true,
     .general = true,
     .share = CostShare::kSent,
     .cost = cost_of_sent,
     .group = exchange_group},
};
static_assert(std::size(kFacts) == kEnumNames<CollectiveKind>.size());

}  // namespace

std::span<const CollectiveFacts> collective_kinds() {
  return kFacts;
}

const CollectiveFacts& facts_of(CollectiveKind kind) {
  for (const CollectiveFacts& facts : kFacts)
    if (facts.kind == kind) return facts;
  throw InternalError("a collective of an unknown kind");
}

int64_t messages_sent(CollectiveKind kind, int64_t members) {
  const CollectiveFacts& facts = facts_of(kind);
  return facts.has_one_partner ? facts.messages : facts.messages * (members - 1);
}

bool reduces(CollectiveKind kind) {
  return facts_of(kind).reduces;
}

bool works_in_place(CollectiveKind kind) {
  return facts_of(kind).keeps_places;
}

std::optional<SingleMove> single_move(const Resharding& change) {
  for (const CollectiveFacts& facts : kFacts) {
    // Only an exchange gives devices what windows read: the regions may overlap.
    if (change.from.windows != change.to.windows && !facts.general) continue;
    const std::optional<AxisList> axes = facts.group(change);
    if (!axes) continue;
    if (axes->empty()) return SingleMove{};
    Collective collective{facts.kind, *axes};
    for (const Partial& p : change.from.partial)
      if (facts.reduces && contains(*axes, p.axis)) collective.reduce = p.kind;
    if (!facts.reduces && moves_nothing(change, *axes)) return SingleMove{};
    return SingleMove{collective};
  }
  return std::nullopt;
}

std::optional<Collective> collective_between(const Resharding& change) {
  const std::optional<SingleMove> move = single_move(change);
  check_invariant(move.has_value(), "no kind of collective makes this change of a sharding");
  return move->collective;
}

}  // namespace mtfc
