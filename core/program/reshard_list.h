#pragma once
// The collectives of an entry point as reshards: which tensor each of them moves from which sharding to which, which
// operation gives the tensor and which operations wait for it. Reports and explanations list them.
//
//   h = einsum(x, w)   gives h partial over cols
//   y = relu(h)        needs h whole:  all_reduce of h, from einsum (/ops/0), for relu (/ops/1)

#include <cstdint>
#include <string>
#include <vector>

#include "core/program/program.h"
#include "core/tensors/tensor_form.h"

namespace mtfc {

/// An operation as a program runs it.
struct OperationPlace {
  std::string name;                  // of what it makes
  std::string kind;                  // `einsum`, or `input`, `variable`, `output`
  std::string source;                // JSON pointer of the operation in the model, or ""
  std::vector<std::string> tensors;  // those that it reads and makes, for an operation
  bool operator==(const OperationPlace&) const = default;
};

/// One collective, as often as the entry point runs it. An all_reduce of several tensors counts as one for each of
/// them.
struct ReshardStep {
  StepIndex step = {};  // its start
  std::string tensor;
  Collective collective;
  /// The forms of the tensor before and after it. They have different dimensions if the collective does the work of a
  /// reshape or a rename.
  TensorForm from, to;
  /// The operation whose pieces are exchanged (core/op_rules/pieces.h). `from` is then the form of its operand, the
  /// tensor, and `to` that of its result.
  std::string moves;
  OperationPlace maker;  // of the tensor
  std::vector<OperationPlace>
      readers;        // of what the collective gives, after further moves of the same tensor too
  int64_t bytes = 0;  // sent by the busiest device in one run
  int64_t runs = 1;
  size_t others = 0;  // tensors that a combined all_reduce moves together with it

  int64_t all_bytes() const { return bytes * runs; }
};

/// The collectives of the entry point, in the order of its steps.
std::vector<ReshardStep> reshard_steps(const Program& program, const EntryPoint& entry);

/// At most `count` of them, those that send most, the largest first.
std::vector<ReshardStep> largest(std::vector<ReshardStep> reshards, size_t count);

/// Returns what a collective makes of the tensor: its new form, or the operation whose pieces are exchanged, because
/// the result of such an operation has dimensions of its own.
std::string target_text(const ReshardStep& reshard, const Mesh& mesh);

}  // namespace mtfc
