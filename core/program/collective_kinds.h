#pragma once
// The kinds of collectives. Each has one row, from which the planning of reshards, the checks and the costs take all
// that they need. Only the transports (runtime/comm/) have code for individual kinds, with one exception: the passes
// refer to the exchange by name.
//
// A permute gives whole shards to other devices: [a/x, b/y] becomes [a/y, b/x] over x:2,y:2, and only the devices at
// (0, 1) and (1, 0) have anything to send. An all_to_all sends every device of a group a part of each shard, an
// exchange any elements to any device.
//
// Example: over p:2, [a/p, b] becomes [a, b/p] by an all_to_all. Its row says that an all_to_all makes this
// change over p, and that a device sends half of its shard.

#include <cstdint>
#include <optional>
#include <span>

#include "core/diagnostics/enum_names.h"
#include "core/tensors/mesh.h"
#include "core/tensors/sharding.h"

namespace mtfc {

enum class CollectiveKind { kAllReduce, kReduceScatter, kAllGather, kPermute, kAllToAll, kExchange };
template <>
inline constexpr auto kEnumNames<CollectiveKind> =
    std::to_array<EnumName<CollectiveKind>>({{CollectiveKind::kAllReduce, "all_reduce"},
                                             {CollectiveKind::kReduceScatter, "reduce_scatter"},
                                             {CollectiveKind::kAllGather, "all_gather"},
                                             {CollectiveKind::kPermute, "permute"},
                                             {CollectiveKind::kAllToAll, "all_to_all"},
                                             {CollectiveKind::kExchange, "exchange"}});

struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  AxisList axes = {};  // the axes of the group, ascending
  ReduceKind reduce = ReduceKind::kSum;
  bool operator==(const Collective&) const = default;
};

/// Sizes on which the cost of a collective depends besides the device's shards of its operand and its result.
enum class CostShare {
  kFlatPart,        // the smallest part of the operand when its flat elements are divided among the members
  kSmallestInput,   // the smallest shard of the operand that any member holds
  kSmallestOutput,  // the smallest shard of the result that any member holds
  kSent,            // what the device sends to the other members
};

/// Amounts of one collective on one device, all in elements or all in another unit.
struct CollectiveAmounts {
  int64_t in = 0, out = 0;  // the device's shards of operand and result
  int64_t share = 0;        // the CostShare that the kind asks for
};

struct CollectiveCost {
  int64_t elements = 0;
  int64_t bytes_sent = 0;

  bool operator==(const CollectiveCost&) const = default;
  CollectiveCost& operator+=(const CollectiveCost& other) {
    elements += other.elements;
    bytes_sent += other.bytes_sent;
    return *this;
  }
};

/// A change of one tensor's sharding.
struct Resharding {
  const Dims& dims;
  const Sharding& from;
  const Sharding& to;
  const Mesh& mesh;
};

struct CollectiveFacts {
  CollectiveKind kind;
  /// It adds up, or otherwise combines, what the devices of a group hold. Other kinds move elements unchanged.
  bool reduces = false;
  /// Each element of the result has the place that it has in the operand: the result may take the operand's place
  /// in memory, and no workspace is needed. Transports and predicted times treat such a kind as an all_reduce.
  bool keeps_places = false;
  /// A member may send different data to every other member, so on a ring messages pass through other devices.
  bool pairwise = false;
  /// It can make any change that reduces nothing, and it can send an element to several members. It also does the work
  /// of operations that move pieces (core/op_rules/pieces.h).
  bool general = false;
  /// How many messages a device sends one after another: to each other member of its group, or in all if
  /// `has_one_partner`.
  int messages = 1;
  /// Each device sends its whole shard to one other member at most.
  bool has_one_partner = false;
  CostShare share;
  /// The cost for these amounts, counting each unit as one byte.
  CollectiveCost (*cost)(const CollectiveAmounts&);
  /// The axes of the group in which the collective makes this change, ascending; nothing if it can't.
  std::optional<AxisList> (*group)(const Resharding&);
};

/// All kinds, in the order of preference: of several that make a change, the first one sends the least.
std::span<const CollectiveFacts> collective_kinds();
const CollectiveFacts& facts_of(CollectiveKind kind);

/// How many messages a device of a group of `members` sends one after another.
int64_t messages_sent(CollectiveKind kind, int64_t members);

bool reduces(CollectiveKind kind);
/// True for a collective that can write its result over its operand, and needs no workspace.
bool works_in_place(CollectiveKind kind);

/// A change of a sharding that is made at once.
struct SingleMove {
  std::optional<Collective> collective;  // nothing if nothing moves between devices
};

/// The single move that makes the change, or nothing if no kind of collective does.
std::optional<SingleMove> single_move(const Resharding& change);

/// The same, where it is known that there is one. Throws InternalError otherwise.
std::optional<Collective> collective_between(const Resharding& change);

}  // namespace mtfc
