#pragma once
// A layout: a mesh, rules from tensor dimensions to its axes (Mesh-TensorFlow, section 3), and annotations of single
// tensors (GShard, section 3).
//
// A tensor is split by the rules of its own dimensions. Example: rules batch->rows, hidden->cols give
// x[batch, io] the sharding batch/rows and w[io, hidden] the sharding hidden/cols. The annotation w: {io: cols} gives w
// the sharding io/cols instead, and the rule hidden->rows, limited to w, gives it hidden/rows. If the layout
// propagates, the compiler chooses the shardings that neither rules nor annotations fix.
//
// A rule between parts yields to all of these: it splits activations over an axis that nothing else uses in them. With
// heads->model, and length->model between parts, q[length, heads] is split heads/model, and x[length, io] length/model
// (sequence parallelism). An operation that reads or makes a tensor like q takes x whole along its length.

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

/// A rule for the tensors that match a pattern (core/tensors/name_pattern.h). For these it takes the place of the rule
/// without a pattern for the same dimension, and other dimensions lose the axes that it uses.
struct LimitedRule {
  Rule rule;
  std::string pattern;
};

/// The complete sharding of the tensors that a pattern names (core/tensors/name_pattern.h). If it splits nothing, the
/// tensors are replicated.
struct Annotation {
  std::string pattern;
  std::vector<Rule> splits;  // at most one per dimension, and no axis twice
  Location location;
};

/// How training spreads what devices would otherwise hold copies of (Rajbhandari et al. 2020, ZeRO;
/// core/model/state_split.h).
struct StateSharding {
  struct Pattern {
    std::string text;  // core/tensors/name_pattern.h
    Location location;
  };

  AxisList axes = {};      // that split optimizer state, gradients and updates; empty: as the model says
  bool gradients = true;   // false: microbatches add up whole gradients, however little memory there is
  bool variables = false;  // trained variables as well
  Location location = {};  // of the axes
  std::vector<Pattern> regather = {};  // variables that are gathered anew for the backward pass

  bool is_stated() const { return !axes.empty() || !regather.empty(); }
};

/// Says of products whether they run in turns (core/program/ring.h).
struct RingRule {
  std::string pattern;  // of the names of their results (core/tensors/name_pattern.h)
  bool turns = true;
  Location location = {};
};

struct Layout {
  Mesh mesh;
  std::vector<Rule> rules;                   // at most one per dimension
  std::vector<Annotation> annotations = {};  // at most one per pattern, in the order of the file
  bool propagate = false;
  std::vector<LimitedRule> limited_rules =
      {};  // at most one per dimension and pattern, in the order of the file
  StateSharding state = {};
  std::vector<RingRule> rings =
      {};                          // a name comes before a pattern, and a later pattern before an earlier one
  std::vector<Rule> between = {};  // rules between parts, at most one per dimension
};

/// The rule for the product that makes the tensor `name`; nullptr if there is none.
const RingRule* find_ring(const Layout& layout, std::string_view name);
/// The rule of the dimension in all tensors; nullptr if there is none.
const Rule* find_rule(const Layout& layout, std::string_view dim);
/// True if a rule splits the dimension, in all tensors or in some.
bool names_dim(const Layout& layout, std::string_view dim);
/// The rules without a pattern, restricted to `dims`; the result may use an axis twice.
Sharding sharding_by_rules(const Layout& layout, const Dims& dims);

/// The same, without axes of size 1, and with no axis twice: only the first dimension keeps it.
Sharding legal_sharding_by_rules(const Layout& layout, const Dims& dims);
/// Splits the dimensions for which there are rules between parts over the axes of these that neither `taken` nor
/// `sharding` has, if each device then has an element.
void split_between(const Layout& layout, const Dims& dims, const AxisList& taken, Sharding& sharding);
/// True if a rule names one of `dims`.
bool has_rule(const Layout& layout, const Dims& dims);
/// True if rules without a pattern are all that the layout has.
bool has_plain_rules_only(const Layout& layout);
/// `batch:rows`, and `batch:rows in moe/**` if it is limited.
std::string to_string(const Rule& rule, const Mesh& mesh);
std::string to_string(const LimitedRule& rule, const Mesh& mesh);

/// Throws one UserError that lists every rule, also between parts, whose dimension is not among `declared`.
void check_rules(const Layout& layout, const Dims& declared);

/// `batch:rows,hidden:rows+cols`, and then what the layout has besides: `batch:rows, experts:cols in moe/**, 3
/// annotations, propagated`.
std::string to_string(const Layout& layout);
/// The same; "no rules" for a layout that has nothing.
std::string described(const Layout& layout);

}  // namespace mtfc
