#pragma once
// A layout: a mesh and rules from tensor dimensions to its axes (Mesh-TensorFlow, section 3).
//
// Every tensor is split by the rules of its own dimensions. Example: rules batch->rows, hidden->cols give
// x[batch, io] the sharding batch/rows and w[io, hidden] the sharding hidden/cols.

#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/tensors/mesh.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

struct Rule {
  std::string dim;
  AxisList axes;  // major first
  Location location;
};

struct Layout {
  Mesh mesh;
  std::vector<Rule> rules;  // at most one per dimension
};

const Rule* find_rule(const Layout& layout, std::string_view dim);
/// The rules restricted to `dims`; the result may use an axis twice.
Sharding sharding_by_rules(const Layout& layout, const Dims& dims);

/// Throws one UserError that lists every rule whose dimension is not among `declared`.
void check_rules(const Layout& layout, const Dims& declared);

/// `batch:rows,hidden:cols`; several axes as `batch:rows+cols`.
std::string to_string(const Layout& layout);

}  // namespace mtfc
