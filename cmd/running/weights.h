#pragma once
// Values for a model's variables from files: what --load names, and what checkpoints hold.
//
//   const VariableValues values = read_weights(program, {"ck"}, NameMap(options.maps));
//   executor.run(*program.find("init"), 0);   // for the variables that have no value in the files
//   fill_variables(executor, values);

#include <string>
#include <utility>
#include <vector>

#include "core/program/program.h"
#include "core/tensors/data.h"
#include "formats/data/name_map.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// Positions in Program::variables and the arrays that fill them; mapped, not read.
using VariableValues = std::vector<std::pair<size_t, StoredArray>>;

/// The file of tensors that `path` stands for: itself, that of a checkpoint's folder, or that of the last
/// checkpoint in a folder of them. Throws RunError.
std::string tensors_file(const std::string& path);

/// What the tensors of `paths` (each as tensors_file takes it), renamed by `map`, are for the variables.
/// Every variable must be there and every tensor be for one, but optimizer state: the model's may be missing
/// as a whole, and state that the file's optimizer kept and the model has no use for is passed over.
/// Variables for which `may_lack` holds may be missing too. Throws RunError that names file and tensors.
VariableValues read_weights(const Program& program, const std::vector<std::string>& paths, const NameMap& map,
                            bool (*may_lack)(const VariableDecl&) = nullptr);

/// Every device's part of each of the variables. Every rank calls it. Throws RunError.
void fill_variables(Executor& executor, const VariableValues& values);

}  // namespace mtfc
