#pragma once
// Makes products run in turns (core/program/ring.h), where that is wanted: a product of an operand that was gathered
// for it alone, or one whose partial result is reduced and scattered. The collective and the whole tensor go.
//
//   start all_gather(w) over p        y = ring einsum(x, w), w turns over p
//   wait
//   y = einsum(x, w@whole)

#include <functional>

#include "core/program/partitioned_entry.h"

namespace mtfc {

struct RingCandidate {
  const EntryPoint& entry;
  const Step& product;
  const Step& collective;  // the start of the all_gather or the reduce_scatter
  const Step& ring;        // the step that would take the place of both; it has no workspace yet
  size_t readers = 1;      // products and other steps that read what is gathered
};

/// Asks `wants` of each product that could run in turns, at most once for each of its tensors, the largest first.
PartitionedEntry form_rings(PartitionedEntry partitioned,
                            const std::function<bool(const RingCandidate&)>& wants, const Mesh& mesh);

}  // namespace mtfc
