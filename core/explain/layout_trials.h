#pragma once
// Changes of a layout that a user can make, tried by compiling the model with them.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/model/model.h"
#include "core/passes/pipeline.h"
#include "core/program/reshard_list.h"
#include "core/tensors/layout.h"

namespace mtfc {

/// One change, or an annotation together with propagation.
struct LayoutChange {
  std::optional<Annotation> annotation = {};  // to add, in place of one of the same pattern
  std::string removed = {};                   // the pattern of an annotation to remove, or ""
  bool propagates = false;                    // "propagate": true is to be added
};
Layout with_change(Layout layout, const LayoutChange& change);
/// The splits of an annotation that gives a tensor of these dimensions this sharding.
std::vector<Rule> splits_of(const Dims& dims, const Sharding& sharding);

/// What an entry point costs under a layout.
struct LayoutFigures {
  int64_t cost = 0;  // by the measure of core/program/plan_figures.h
  int64_t bytes = 0;
  int64_t collectives = 0;
  int64_t memory = 0;
  int64_t flops = 0;  // per device, of products and of everything else
};

struct Trial {
  LayoutChange change;
  LayoutFigures figures;
  std::vector<ReshardStep> reshards;
};

class LayoutTrials {
 public:
  /// All of them must outlive it. `progress` is told how many trials were made.
  LayoutTrials(const Model& model, const Layout& layout, const std::string& entry,
               const CompileOptions& options, std::function<void(int)> progress)
      : model_(model), layout_(layout), entry_(entry), options_(options), progress_(std::move(progress)) {}

  /// The layout with the change; nothing where it is not legal for the model.
  std::optional<Trial> attempt(const LayoutChange& change);
  int made() const { return made_; }

 private:
  const Model& model_;
  const Layout& layout_;
  const std::string& entry_;
  const CompileOptions& options_;
  std::function<void(int)> progress_;
  int made_ = 0;
};

LayoutFigures figures_of(const Program& program, const EntryPoint& entry);

}  // namespace mtfc
