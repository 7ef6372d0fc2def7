#pragma once
// Why a program is as it is: why a tensor is split as it is and what another sharding of it would cost, and which
// operation causes a collective and which change of the layout removes it. Whatever is proposed has been compiled.
//
// Example: x[batch/rows] is annotated, y = relu(x) is not, and nothing is propagated. Then x is gathered for relu:
//
//   step 3, all_gather of x: [batch/rows, io] -> [batch, io], for relu
//   remove it: add "y": {"batch": "rows"} to "shardings": 0 bytes instead of 4,096

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/choice/provenance.h"
#include "core/explain/layout_trials.h"
#include "core/explain/model_names.h"

namespace mtfc {

/// A program with what it was compiled from. All members must outlive explanations of it.
struct ExplainedProgram {
  const Model& model;
  const Layout& layout;
  const CompileOptions& options;
  const Program& program;
  const EntryPoint& entry;
  /// Told how many layouts have been compiled; may be empty.
  std::function<void(int)> progress;
};

/// What fixes the sharding of a tensor, before anything is propagated or chosen.
struct FixedBy {
  enum class Kind {
    kNothing,     // no rule names its dimensions, and no annotation the tensor
    kRule,        // rules of the layout
    kAnnotation,  // of the tensor, or of the variable that it belongs to
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
                                            {FixedBy::Kind::kOtherEntry, "other_entry"},
                                            {FixedBy::Kind::kChoice, "choice"}});

/// Why one dimension is split.
struct SplitReason {
  std::string dim;
  AxisList axes;
  /// The way of the axes from the tensor whose sharding is fixed, first, to the tensor itself. It has one element where
  /// the tensor's own sharding is fixed.
  std::vector<OriginHop> way;
  FixedBy origin;  // of the first tensor of the way
};

/// Another sharding of a tensor, given to it by an annotation, and what the entry point costs then.
struct Alternative {
  Sharding sharding;
  LayoutFigures figures;
};

struct TensorExplanation {
  std::string tensor;
  TensorType type;
  Sharding sharding;
  Location place;  // of the operation, input or variable
  FixedBy fixed;   // what fixes the sharding as a whole
  std::vector<SplitReason> splits;
  std::vector<Sharding> held;             // other shardings in which devices hold it
  LayoutFigures figures;                  // of the entry point
  std::vector<Alternative> alternatives;  // the cheapest first
  size_t untried = 0;                     // candidates that were too many to compile
  std::vector<ReshardStep> reshards;      // of this tensor, in the order of the program
};

/// Throws UserError where the entry point has no such tensor.
TensorExplanation explain_tensor(const ExplainedProgram& explained, const std::string& tensor);

struct ReshardExplanation {
  ReshardStep reshard;
  LayoutFigures figures;  // of the entry point
  /// The cheapest change that removes the collective, of those under which no device computes more or needs more memory;
  /// of all, if there is none of these.
  std::optional<Trial> removal;
  /// A change that costs less still, but with more arithmetic or memory: a tensor that is held whole is never gathered.
  std::optional<Trial> cheaper;
  /// Collectives of the changed program that are new in it or send more there, the largest first.
  std::vector<ReshardStep> instead;
  int tried = 0;  // layouts that were compiled
};

/// The most layouts that are compiled to answer one question.
inline constexpr size_t kMostTrials = 48;

/// The collective that the step `step` starts or awaits. Throws UserError where it is none.
ReshardExplanation explain_step(const ExplainedProgram& explained, int64_t step);
ReshardExplanation explain_reshard(const ExplainedProgram& explained, const ReshardStep& reshard,
                                   size_t most_trials = kMostTrials);

}  // namespace mtfc
