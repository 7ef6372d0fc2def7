#pragma once
// What holds for meshes and rules however they were written: each check records what it finds in the sink.

#include <string>
#include <vector>

#include "core/tensors/layout.h"
#include "core/tensors/mesh.h"
#include "formats/json/diagnostics.h"

namespace mtfc {

/// Most devices of a mesh: ranks are counted in `int`.
inline constexpr int64_t kMostDevices = 2147483647;

/// Collects axes and refuses bad and duplicate names, sizes below 1, and too many devices in all.
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
/// `mesh` with the ranks that the list at `at` gives to its positions. Refuses, in its sink, what does not
/// name every rank once.
Mesh with_device_order(const Mesh& mesh, const Cursor& at);

struct LocatedName {
  std::string name;
  Location location;
};

/// Collects rules and refuses unknown axes, an axis twice in a rule, and two rules for a dimension.
class RuleChecker {
 public:
  RuleChecker(const Mesh& mesh, DiagnosticSink& sink) : mesh_(mesh), sink_(sink) {}
  void add(const std::string& dim, const Location& at, const std::vector<LocatedName>& axes);
  std::vector<Rule> rules() && { return std::move(rules_); }

 private:
  const Mesh& mesh_;
  DiagnosticSink& sink_;
  std::vector<Rule> rules_;
};

}  // namespace mtfc
