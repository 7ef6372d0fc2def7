#pragma once
// The model and the layout that stand for a row of published runs, with the profile of its hardware: mtfc compiles and
// prices them.

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/options/model_options.h"
#include "cmd/validating/program_figures.h"
#include "core/diagnostics/error.h"
#include "formats/validation/published_rows.h"

namespace mtfc {

/// A row that mtfc cannot express, by the feature that it needs.
class RowRefused : public Error {
 public:
  RowRefused(std::string feature, const std::string& reason) : Error(reason), feature_(std::move(feature)) {}
  const std::string& feature() const { return feature_; }

 private:
  std::string feature_;
};

struct RowPlan {
  ModelOptions model;                // with few microbatches
  LayoutFlags flags;                 // of one stage
  std::string gradients;             // the dtype, if it isn't that of the model
  double layers = 0;                 // that the run has; 0 if the model states no depth
  std::vector<int64_t> depths;       // to compile: two, one that is the run's, or none without a depth
  int64_t rounds = 1;                // microbatches of the compiled step; of a pipeline always 2
  std::vector<double> stage_layers;  // by stage
  Conventions conventions;

  /// Plans with the same key have the same programs.
  std::string key() const;
  /// The options that compile the depth `depths[index]`.
  ModelOptions at_depth(size_t index) const;
};

/// Throws RowRefused, and UserError for a row that contradicts itself.
RowPlan planned(const PublishedRow& row);

/// The model at one depth. Throws RowRefused where it doesn't compile.
Program compiled(const RowPlan& plan, size_t depth);

}  // namespace mtfc
