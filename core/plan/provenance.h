#pragma once
// Provenance: where the shardings of a chosen plan come from. Each axis that splits a dimension is traced to the tensor
// whose sharding the layout fixes, through the operations by which the axis came from there.
//
//   x[batch/rows] (rule)  ->  h = einsum(x, w)  ->  y = relu(h): batch/rows of y came from x through h

#include <array>
#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/plan/plan_candidates.h"
#include "core/plan/sharded_entry.h"

namespace mtfc {

/// What decides how a tensor, or one dimension of it, is split.
struct FixedBy {
  enum class Kind {
    kNothing,     // no rule names its dimensions, and no annotation the tensor
    kRule,        // rules of the layout
    kAnnotation,  // of the tensor, or of the variable that it belongs to
    kStateSplit,  // "shard_state_over" of the model
    kOtherEntry,  // a variable whose sharding another entry point has decided
    kChoice,      // the plan chose it
  };
  Kind kind = Kind::kNothing;
  std::string text;   // the rule, as in `batch:rows`, or the pattern of the annotation
  Location location;  // of either, where it is known
};
template <>
inline constexpr auto kEnumNames<FixedBy::Kind> =
    std::to_array<EnumName<FixedBy::Kind>>({{FixedBy::Kind::kNothing, "nothing"},
                                            {FixedBy::Kind::kRule, "rule"},
                                            {FixedBy::Kind::kAnnotation, "annotation"},
                                            {FixedBy::Kind::kStateSplit, "shard_state_over"},
                                            {FixedBy::Kind::kOtherEntry, "other_entry"},
                                            {FixedBy::Kind::kChoice, "choice"}});

/// What is known of how a tensor is split before any choice is made.
struct Stated {
  const Layout& layout;
  const Dims& dims;
  StatedLayout stated;      // of the tensor itself
  bool is_state = false;    // `shard_state_over` splits it
  bool is_decided = false;  // a variable whose sharding another entry point has decided
  bool is_chosen = false;   // the plan chose its sharding
};

/// What splits a dimension of a tensor over `axis`: its annotation, rules for a part of the model, rules for all of it,
/// and then what is known besides. Rules do not count where an annotation takes their place.
FixedBy axis_fixed_by(const Stated& tensor, size_t dim, int axis);
/// The rule among these, if there is one.
FixedBy axis_fixed_by_rule(const Stated& tensor, size_t dim, int axis);
/// What decides for the tensor as a whole.
FixedBy fixed_by(const Stated& tensor);

/// A tensor that an axis passes on its path, and the operation that relates it to the tensor before.
struct OriginHop {
  std::string tensor;
  std::string operation;  // `einsum`, `loop`; "" for the first tensor
  bool operator==(const OriginHop&) const = default;
};

/// Where some axes of a dimension come from.
struct AxisOrigin {
  std::string dim;
  AxisList axes;  // a part of those that split the dimension, with one path
  /// From the tensor whose sharding is fixed, or to which the rules offer the axes, to the tensor itself. Empty if no
  /// such tensor was found.
  std::vector<OriginHop> path;
  FixedBy fixed;  // what splits the first tensor of the path so
};

struct TensorOrigins {
  bool is_known = false;  // the plan has such a tensor
  TensorType type;
  Sharding sharding;
  FixedBy fixed;                     // what decides for the tensor as a whole
  std::vector<AxisOrigin> axes;      // in the order of the dimensions and of their axes
  std::vector<Sharding> candidates;  // what the tensor could be split into, its sharding among them
};

/// The origins of the sharding of a tensor in a plan that was chosen under these conditions.
TensorOrigins origins_of(const ShardedEntry& plan, const PlanConditions& conditions,
                         const std::string& tensor);

}  // namespace mtfc
