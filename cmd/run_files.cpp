#include "cmd/run_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cmd/files.h"
#include "cmd/input_data.h"
#include "cmd/launch.h"
#include "core/error.h"
#include "formats/npy.h"
#include "runtime/array_file.h"

namespace mtfc {
namespace {

constexpr const char* kStandardOutput = "-";

// The options whose files are standard output.
std::vector<std::string> on_standard_output(const RunOptions& options) {
  std::vector<std::string> found;
  if (options.metrics == kStandardOutput) found.emplace_back("--metrics");
  if (options.report == kStandardOutput) found.emplace_back("--report");
  if (options.trace == kStandardOutput) found.emplace_back("--trace");
  for (const std::string& output : options.outputs)
    if (split_assignment(output, "--output").second == kStandardOutput) found.push_back("--output " + output);
  return found;
}

// A folder that is gone with this object; of no path, none.
struct ScratchFolder {
  std::string path;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
};

// Makes a folder below `parent`; what went wrong, or "".
std::string make_folder(const std::filesystem::path& parent, ScratchFolder& folder) {
  std::string path = (parent / "mtfc_XXXXXX").string();
  if (!mkdtemp(path.data()))
    return fmt::format("cannot make a folder in '{}': {}", parent.string(), std::strerror(errno));
  folder.path = path;
  return "";
}

// All ranks write their slices to a file, which rank 0 then copies: a stream has no places to write to.
void write_npy_to_standard_output(Comm& comm, const std::string& header, const Sharding& sharding,
                                  const std::vector<LocalPart>& parts) {
  Processes& processes = comm.processes();
  std::error_code failed;
  std::filesystem::path parent = std::filesystem::temp_directory_path(failed);
  // Other nodes have other temporary folders; the current one is shared.
  if (failed || processes.ranks_on_node() < processes.size()) parent = ".";
  ScratchFolder folder;
  processes.require_success(processes.speaks() ? make_folder(parent, folder) : "");
  const std::string file = folder.path + "/tensor.npy";
  write_array(comm, file, header, sharding, parts);
  std::string error;
  if (processes.speaks()) try {
      copy_to_standard_output(file);
    } catch (const RunError& problem) {
      error = problem.what();
    }
  processes.require_success(error);
}

}  // namespace

bool uses_standard_output(const RunOptions& options) {
  return !on_standard_output(options).empty();
}

void require_writable_files(const RunOptions& options) {
  const std::vector<std::string> streamed = on_standard_output(options);
  if (streamed.size() > 1)
    throw UserError(
        fmt::format("{} and {} can't both be written to standard output", streamed[0], streamed[1]),
        "name a file for one of them");
  if (!streamed.empty() && streamed[0].starts_with("--output") && is_terminal(1))
    throw UserError(fmt::format("{} is binary, and standard output is a terminal", streamed[0]),
                    "redirect it, or name a file");
  require_writable(options.report);
  require_writable(options.trace);
  for (const std::string& output : options.outputs)
    require_writable(split_assignment(output, "--output").second);
}

MetricsFile::MetricsFile(const std::string& path, bool speaks) : path_(path) {
  if (path.empty() || !speaks) return;
  to_standard_output_ = path == kStandardOutput;
  if (to_standard_output_) return;
  file_.open(path, std::ios::trunc);
  check();
}

void MetricsFile::write(const std::string& line) {
  if (to_standard_output_) return write_text(path_, line + "\n");
  if (!file_.is_open()) return;
  file_ << line << "\n" << std::flush;
  check();
}

void MetricsFile::check() {
  if (!file_) throw RunError(fmt::format("cannot write '{}': {}", path_, std::strerror(errno)));
}

void write_npy(Comm& comm, const std::string& path, const TensorType& type, const Sharding& sharding,
               const std::vector<LocalPart>& parts) {
  if (path == kStandardOutput)
    write_npy_to_standard_output(comm, npy_header(type), sharding, parts);
  else
    write_array(comm, path, npy_header(type), sharding, parts);
}

}  // namespace mtfc
