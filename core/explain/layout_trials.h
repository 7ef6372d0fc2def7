#pragma once
// Changes of a layout that a user can make. Each is tried by compiling the model with it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/compile/pipeline.h"
#include "core/model/model.h"
#include "core/program/reshard_list.h"
#include "core/tensors/layout.h"

namespace mtfc {

/// One change of the annotations, propagation, or both.
struct LayoutChange {
  std::optional<Annotation> annotation = {};  // to add; one of the same pattern is replaced where it stands
  std::string removed = {};                   // the pattern of an annotation to remove, or ""
  bool propagates = false;                    // "propagate": true is to be added
};
Layout with_change(Layout layout, const LayoutChange& change);
/// The splits of an annotation that gives a tensor of these dimensions this sharding.
std::vector<Rule> splits_of(const Dims& dims, const Sharding& sharding);

/// The figures of an entry point under a layout.
struct LayoutFigures {
  int64_t cost = 0;               // by the measure of core/program/plan_figures.h
  std::optional<double> seconds;  // of the predicted step, with hardware
  int64_t bytes = 0;              // sent per device
  int64_t collectives = 0;
  int64_t memory = 0;  // at the peak, per device
  int64_t flops = 0;   // per device, of products and of everything else
};
/// `hardware`: nullptr if there is none.
LayoutFigures figures_of(const Program& program, const EntryPoint& entry, const Hardware* hardware);
/// By predicted time if both have one, and by cost otherwise.
bool costs_less(const LayoutFigures& a, const LayoutFigures& b);
/// True if a device computes over 0.1 % more in `a`, or needs over 1 % more memory.
bool needs_more(const LayoutFigures& a, const LayoutFigures& b);

struct Trial {
  LayoutChange change;
  LayoutFigures figures;
  std::vector<ReshardStep> reshards;  // the collectives of the entry point
};

struct ExplainedProgram;

class LayoutTrials {
 public:
  /// `explained` must outlive it.
  explicit LayoutTrials(const ExplainedProgram& explained) : explained_(explained) {}

  /// The entry point under the layout with the change; nothing if that is not legal for the model, or if the time to
  /// choose plans has ended (CompileOptions::ends_choice).
  std::optional<Trial> attempt(const LayoutChange& change);
  /// How many attempts there were.
  size_t made() const { return made_; }
  /// No more attempts can be made.
  bool has_ended() const;

 private:
  const ExplainedProgram& explained_;
  size_t made_ = 0;
};

}  // namespace mtfc
