#pragma once
// Tensors that are gathered whole, for a good part of what a step sends: nearly always an annotation or a rule is
// missing. Other systems gather them without a word.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/explain/reshard_explanation.h"

namespace mtfc {

/// The gathers of a tensor, and of the same tensor of other layers.
struct CostlyGather {
  ReshardStep reshard;  // the largest of them
  std::string tensor =
      {};  // the folded() names of the tensors, and of the first operations that wait for each
  std::string reader = {};
  int64_t count = 1;
  int64_t bytes = 0;  // sent per device by all of them
  double share = 0;   // of all bytes that the entry point sends
  /// A change of the layout that avoids it, costs less, and under which no device needs more (needs_more()).
  std::optional<LayoutChange> removal = {};
  bool is_sought = false;  // all of the nearest changes were tried
};

/// True if costly_gathers() may find any. This takes less time than to make what it needs.
bool may_gather(const Program& program, const EntryPoint& entry);

/// The gathers over every axis that splits the tensor which send at least 1 MiB and 1 % of all bytes, the largest
/// first. Leaves out updates of weights, and tensors that are annotated to be whole. For the first three, a change is
/// sought, for which at most 48 other layouts are compiled. Of large models, one layout is compiled at most, so that
/// advice takes no longer than what it is about, and `is_sought` says of which gathers changes were looked for.
std::vector<CostlyGather> costly_gathers(const ExplainedProgram& explained);

/// The gathers, in every microbatch, of the variables that the layout shards (shard_variables).
struct RepeatedGathers {
  int64_t microbatches = 1;
  int64_t bytes = 0;  // sent per device in all microbatches
  double share = 0;   // of all bytes that the entry point sends
};

/// Nothing if these gathers send less than 1 MiB or 1 % of all bytes.
std::optional<RepeatedGathers> gathers_in_microbatches(const ExplainedProgram& explained);

}  // namespace mtfc
