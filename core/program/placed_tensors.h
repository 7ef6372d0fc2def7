#pragma once
// The tensors of an entry point that people know by name, each with its sharding: inputs, variables, and what the
// model's operations compute.

#include <string>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "core/program/program.h"

namespace mtfc {

enum class TensorRole { kInput, kVariable, kState, kCache, kOutput, kComputed };
template <>
inline constexpr auto kEnumNames<TensorRole> =
    std::to_array<EnumName<TensorRole>>({{TensorRole::kInput, "input"},
                                         {TensorRole::kVariable, "variable"},
                                         {TensorRole::kState, "optimizer state"},
                                         {TensorRole::kCache, "cache"},
                                         {TensorRole::kOutput, "output"},
                                         {TensorRole::kComputed, "computed"}});

struct PlacedTensor {
  std::string name;
  TensorRole role = TensorRole::kComputed;
  TensorType type;  // of the whole tensor
  Sharding sharding;
};

/// In the order of the roles, and within a role in that of the program. A name occurs once.
std::vector<PlacedTensor> placed_tensors(const Program& program, const EntryPoint& entry);

/// The name of the variable for which the optimizer keeps the state `tensor`: `w` for `w/adam_m`.
std::string state_owner(const PlacedTensor& tensor);

}  // namespace mtfc
