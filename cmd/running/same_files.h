#pragma once
// Makes sure that all ranks read the same data. Hosts may have copies of their own, and a run over different ones
// would go on with wrong results.

#include <map>
#include <string>
#include <vector>

#include "cmd/running/run_data.h"
#include "runtime/processes/processes.h"

namespace mtfc {

/// The files of `inputs`, by input.
std::map<std::string, FileSample> input_files(const std::vector<InputData>& inputs);

/// All files that a run reads, or those that inputs or variables are read from; each once.
std::vector<FileSample> files_of(const RunData& data);
std::vector<FileSample> files_of(const std::vector<InputData>& inputs);
std::vector<FileSample> files_of(const VariableValues& values);

/// Compares the files of all ranks. Every rank calls it. Throws AgreedError that names the file, the ranks and their
/// hosts, and what differs.
void require_same_files(Processes& processes, const std::vector<FileSample>& files);

/// Warns of files whose contents were others when the checkpoint was saved from which the run continues, and of inputs
/// that had a file then, but have the model's own data now. `given`: the values of --input.
void warn_of_changed_files(const RunData& data, const std::vector<std::string>& given);

}  // namespace mtfc
