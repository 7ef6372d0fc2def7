#pragma once
// Checks of meshes and rules that are independent of the format; each check records its findings in the sink.

#include <string>
#include <vector>

#include "core/tensors/layout.h"
#include "core/tensors/mesh.h"
#include "formats/json/diagnostics.h"

namespace mtfc {

/// The maximum number of devices of a mesh: ranks are counted in `int`.
inline constexpr int64_t kMostDevices = 2147483647;

/// Collects axes and refuses invalid and duplicate names, sizes below 1, and too many devices in all.
class MeshChecker {
 public:
  explicit MeshChecker(DiagnosticSink& sink) : sink_(sink) {}
  void add(const std::string& name, int64_t size, const Location& name_at, const Location& size_at);
  Mesh mesh() && { return Mesh(std::move(axes_)); }

 private:
  DiagnosticSink& sink_;
  std::vector<Axis> axes_;
  int64_t devices_ = 1;
};

class Cursor;
/// Returns `mesh` with the device order from the list at `at`. Records an error in the sink of `at` unless
/// the list names every rank once.
Mesh with_device_order(const Mesh& mesh, const Cursor& at);

struct LocatedName {
  std::string name;
  Location location;
};

/// Collects rules and refuses unknown axes, an axis that appears twice in a rule, and two rules for a
/// dimension, or for a dimension and a pattern.
class RuleChecker {
 public:
  RuleChecker(const Mesh& mesh, DiagnosticSink& sink) : mesh_(mesh), sink_(sink) {}
  void add(const std::string& dim, const Location& at, const std::vector<LocatedName>& axes);
  void add_limited(const std::string& dim, const std::string& pattern, const Location& at,
                   const std::vector<LocatedName>& axes);
  /// Refuses, besides, an axis that several rules name: they split one tensor.
  void check_one_tensor() const;
  std::vector<Rule> rules() && { return std::move(rules_); }
  const std::vector<LimitedRule>& limited_rules() const { return limited_rules_; }

 private:
  Rule checked(const std::string& dim, const Location& at, const std::vector<LocatedName>& axes) const;

  const Mesh& mesh_;
  DiagnosticSink& sink_;
  std::vector<Rule> rules_;
  std::vector<LimitedRule> limited_rules_;
};

/// The name or list of names at `at`, an axis or a list of axes.
std::vector<LocatedName> axis_names(const Cursor& at);

/// Reads rules into `layout`: [dimension, axis or list of axes], or [dimension, axes, {"in": pattern}].
void read_rules(const Cursor& at, Layout& layout);

/// Reads rules between parts, which have the form of rules.
std::vector<Rule> read_between(const Cursor& at, const Mesh& mesh);
/// Reads the keys of the layout `root` that say how training spreads its state: shard_state_over, shard_gradients,
/// shard_variables and regather.
StateSharding read_state_sharding(const Cursor& root, const Mesh& mesh);
/// The key "ring" of a layout or program.
std::vector<RingRule> read_rings(const Cursor& root);

/// Reads annotations, {pattern: {dimension: axis or list of axes}}.
std::vector<Annotation> read_annotations(const Cursor& at, const Mesh& mesh);

}  // namespace mtfc
