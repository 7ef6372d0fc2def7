#pragma once
// Finds the layout of least cost among all annotations of tensors on one mesh: each tensor may be split in its own way.
//
// All axes are offered to all dimensions, and the choice of a plan (core/plan/choose_plan.h) decides. Its cost is
// that of core/program/plan_figures.h, and its bound holds for every layout of rules, annotations and propagation that
// splits no other dimensions. The plan is then written down as a layout: annotations of the inputs and the variables,
// rules that offer axes to the tensors between them, and propagation.
//
// A search that is stopped takes the best plan that was chosen by then, or the best of the plain layouts
// (core/search/plain_layouts.h), which are looked at first.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "core/model/model.h"
#include "core/plan/plan_candidates.h"
#include "core/tensors/layout.h"

namespace mtfc {

struct AnnotatedLayout {
  Layout layout;
  int64_t cost = 0;   // of the layout's own plan
  int64_t bound = 0;  // no layout costs less; 0 if nothing is known of that
  int64_t chosen =
      0;  // the cost of the plan that the layout writes down: less than `cost` if it can't say all of it

  bool is_complete = true;  // false if the search was stopped
  std::shared_ptr<const Program> program =
      {};  // the model under the layout, with the plan that costs as much

  /// By how much the cost exceeds the bound: 0 if the layout is the best.
  double gap() const { return plan_gap({cost, bound, ""}); }
};

/// Says when a search over annotations has to end, and hears of it.
struct AnnotationStop {
  std::function<bool()> stops;
  std::function<bool()> ends_layout;  // the choice of the plan of the layout that is written down has to end
  std::function<bool()> is_late;  // there is no time left to compile it, or the first of the plain layouts
  std::function<void(int64_t cost)> finds = {};  // hears of each plain layout
};

/// `fixed`: the mesh, and rules and annotations to keep. Ends early when `stop` says so; returns nothing if there was
/// no time for a single layout. Throws UserError where the layout is not legal, or leaves too many shardings to choose
/// from.
std::optional<AnnotatedLayout> search_annotations(const Model& model, const Layout& fixed,
                                                  const OfferedAxes& offered, const CompileOptions& options,
                                                  const AnnotationStop& stop);

}  // namespace mtfc
