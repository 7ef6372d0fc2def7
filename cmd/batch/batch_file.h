#pragma once
// The file that `sbatch` takes: a training run as a job of Slurm, which goes on from its last checkpoint whenever it is
// started again.
//
//   the job is preempted, loses a node, or is requeued    Slurm starts it again
//   the time limit is near, or a time of grace begins     the ranks save a checkpoint; the script requeues the job
//   the run is done, fails or is cancelled                the job ends

#include <cstdint>
#include <string>
#include <vector>

namespace mtfc {

/// The job's settings; an empty text or 0 leaves one to the cluster.
struct BatchJob {
  std::string name;
  int64_t nodes = 1;
  int64_t ranks_per_node = 1;
  int64_t cores_per_rank = 0;
  std::string time;  // as sbatch takes it
  std::string partition;
  std::string account;
  int64_t stop_before = 120;            // seconds before the time limit
  std::vector<std::string> setup = {};  // lines of the script before the run
};

/// The run itself.
struct BatchRun {
  std::string program;  // the path of mtfc
  std::string folder;   // where the run's relative paths begin
  std::string checkpoint;
  std::vector<std::string> words;  // of the command line, from `run` on
};

std::string batch_text(const BatchJob& job, const BatchRun& run);

/// The word as a shell reads it back: quoted only if it must be.
std::string shell_word(const std::string& word);
/// The name as Slurm takes it in a line of options: other characters than letters, digits and ._+- become _.
std::string job_name(const std::string& name);

}  // namespace mtfc
