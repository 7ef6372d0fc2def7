#pragma once
// Reads values for a model's variables from files: those that --load names, and checkpoints.
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
#include "formats/data/safetensors.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// Positions in Program::variables and the arrays that fill them; the arrays are mapped, not read.
using VariableValues = std::vector<std::pair<size_t, StoredArray>>;

/// The file of tensors that `path` means: the file itself, that of a checkpoint's folder, or that of the last
/// checkpoint in a folder of them. Throws RunError.
std::string tensors_file(const std::string& path);

/// The tensors of a file, or of the files that an index names; only their headers are read. Throws RunError.
std::vector<Safetensors> read_tensor_files(const std::string& path);

/// The names of what files and a model do not have in common.
struct WeightGaps {
  std::vector<std::string> variables;  // without a tensor
  std::vector<std::string> tensors;    // without a variable, apart from the optimizer's state
};

/// `2 variables keep their initial values: 'a' and 'b'; a tensor is left out: 'c'`, or "" if nothing is missing.
std::string gaps_text(const WeightGaps& gaps);

/// Matches the tensors of `paths` (each resolved by tensors_file), renamed by `map`, with the variables.
/// Every variable must have a tensor and every tensor a variable, except for optimizer state: the model's may
/// be missing as a whole, and the file's is ignored if the model has no use for it. With `gaps`, others may be missing,
/// too, and are named there. Throws RunError that names file and tensors.
VariableValues read_weights(const Program& program, const std::vector<std::string>& paths, const NameMap& map,
                            WeightGaps* gaps = nullptr);
/// The same for any variables, by their positions in the list.
VariableValues read_weights(const std::vector<const VariableDecl*>& variables,
                            const std::vector<std::string>& paths, const NameMap& map,
                            WeightGaps* gaps = nullptr);

/// Compares the arrays that have checksums with them; each rank sums an equal part. Every rank calls it. Throws
/// AgreedError that names the file and the tensor.
void require_intact(Processes& processes, const VariableValues& values);

/// Fills every device's shard of each of the variables. Every rank calls it. Throws RunError.
void fill_variables(Executor& executor, const VariableValues& values);

}  // namespace mtfc
