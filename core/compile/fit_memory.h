#pragma once
// Makes a training step fit into the memory of a device: the backward pass computes tensors again that would take too
// much memory until it needs them.
//
// Which ones is decided by predicted seconds, and compiled programs are the judge of memory. The corners of the convex
// hull of memory and time (core/compile/remat_graph.h) are tried first; then the step between the last corner that does
// not fit and the first that does is cut into pieces, such as those of one layer each, of which as few as possible are
// made again. With at most kFewChoices tensors, every choice is considered.
//
// Where the layout splits gradients (ZeRO) and training runs in microbatches, terms of whole gradients are added up
// over the microbatches if they fit, and reduced once. If they do not, each microbatch may scatter its gradients: this
// and recomputation are compared by predicted seconds.
//
// If nothing of that fits, products run in turns besides (core/program/ring.h), wherever this takes less memory: last,
// since sums are then added up in another order.

#include <cstdint>
#include <optional>

#include "core/compile/pipeline.h"
#include "core/cost/hardware.h"
#include "core/program/recomputation_figures.h"

namespace mtfc {

/// The number of tensors up to which the best choice is found for sure.
inline constexpr size_t kFewChoices = 8;

/// The training step does not fit whatever it computes again.
struct TooLarge {
  int64_t smallest = 0;      // the least peak of all choices that were tried
  int64_t least_memory = 0;  // no choice needs less
};

/// How hard to try where the two choices that should need least memory do not fit: not at all, which is for searches
/// over many layouts; or by all other corners, and by products in turns.
enum class FitEffort { kLittle, kFull };

struct FittedProgram {
  Program program;
  std::optional<Recomputation> recomputation = {};
  std::optional<TooLarge> too_large = {};  // `program` is then as compile() makes it
  int64_t turned = 0;                      // products that run in turns because they have to
  int64_t scattered_from = 0;  // the peak that made each microbatch scatter its gradients; 0: none does
};

/// Compiles the model as compile() does, and where its training step needs more than `limit` bytes a device, again by a
/// plan in which microbatches scatter their gradients, or the backward pass computes tensors again; `limit` 0 stands
/// for none, but with `options.hardware`, microbatches scatter gradients that do not fit into its memory. If an entry
/// point then needs more, products run in turns besides. Entry points other than the training step may need more even
/// so. The result does not depend on the time that the search takes.
FittedProgram compile_within(const Model& model, const Layout& layout, const CompileOptions& options,
                             int64_t limit, const Hardware& hardware, FitEffort effort = FitEffort::kFull);

/// A training step that is to fit, of a model that is prepared already.
struct FitTask {
  const PreparedModel& model;
  const Layout& layout;  // as ResolvedLayout makes it, with the annotations of which `model` knows
  int64_t limit;         // bytes a device; 0 for none
  const Hardware& hardware;
  FitEffort effort = FitEffort::kFull;
  std::optional<Program> whole = {};  // the program without a limit, if it is known
};

/// The same. Nobody is told of the way to the program.
FittedProgram compile_within(const FitTask& task);

}  // namespace mtfc
