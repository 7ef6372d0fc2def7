#pragma once
// Checks that the steps of an entry point are well-formed. The checks hold from `partition` on, since they do not
// need buffers.
//
// Values are split in ways that their mesh allows, every step is a legal use of its operation or collective,
// every start has its wait, loops nest, and a step reads only what an input, a variable or an earlier step has
// given. core/program/program_check.h adds what must hold of buffers and of the whole program.

#include <map>
#include <optional>
#include <string>

#include "core/diagnostics/error.h"
#include "core/program/partitioned_entry.h"
#include "core/program/program.h"

namespace mtfc {

/// A fault of a program; what() describes it.
struct ProgramFault : Error {
  ProgramFault(std::string at, const std::string& message) : Error(message), pointer(std::move(at)) {}
  std::string pointer;  // of the part to blame, as in `/entry_points/0/steps/12`
};

/// The fault that the checks find, or nothing.
template <typename Checks>
std::optional<ProgramFault> fault_of(Checks checks) {
  try {
    checks();
  } catch (const ProgramFault& fault) {
    return fault;
  }
  return std::nullopt;
}

/// The checks one by one, each of which throws a ProgramFault for the first thing that is wrong. `at` is the
/// entry point's own pointer.
class StructureCheck {
 public:
  StructureCheck(const EntryPoint& entry, const Mesh& mesh, std::string at)
      : entry_(entry), mesh_(mesh), at_(std::move(at)) {}

  /// Dimensions and sharding of a tensor, wherever it is declared.
  static void check_tensor(const TensorType& type, const Sharding& sharding, const std::string& pointer);

  /// A value's type and sharding, and those of the value that it is an alias of.
  void check_value(size_t value) const;
  /// Every value that step `step` names exists, and so does its workspace.
  void check_references(size_t step) const;
  void check_pairs() const;
  void check_loops() const;
  /// Every step is a legal use of its operation or collective. Loops that stand beside the entry (`beside`, of
  /// PartitionedEntry) are compared with what their steps take and give.
  void check_steps(bool has_buffers, const Loops* beside = nullptr) const;
  /// Steps read only what there is. `given`: values that hold something from the start. Says of each value if it
  /// holds something at the end; of aliases, their roots do.
  PerValue<bool> check_order(const PerValue<bool>& given) const;

 private:
  std::string pointer_of(size_t step) const;
  void check_named(const Step& step, const std::string& pointer) const;
  void check_sizes(const Step& step, const std::string& pointer, std::map<std::string, int64_t>& sizes) const;
  void check_loop_beside(const Step& step, const std::string& pointer, const Loops& loops) const;
  void check_ends() const;

  const EntryPoint& entry_;
  const Mesh& mesh_;
  std::string at_;
};

/// The first fault of an entry point that has no buffers yet, or nothing.
std::optional<ProgramFault> find_structure_fault(const PartitionedEntry& partitioned, const Mesh& mesh);

}  // namespace mtfc
