#include "cmd/batch/batch_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace mtfc {
namespace {

// The rest of the script, after what differs from job to job.
constexpr const char* kScript = R"sh(
last_checkpoint() {
  ls -- "$checkpoints" 2>/dev/null | grep -xE 'step_[0-9]+' | sort -V | tail -n 1
}

# Slurm sends USR1 to this script shortly before the time limit, and TERM to script and ranks when it ends the job for
# another reason. On TERM the ranks save a checkpoint and end with exit code 143, for which the script waits.
signaled='' out_of_time=''
trap 'signaled=1' TERM
trap 'signaled=1 out_of_time=1; scancel --signal=TERM "$SLURM_JOB_ID"' USR1

begin=$(last_checkpoint)
"${launcher[@]}" "${run[@]}" &
while signaled=''; wait $!; code=$?; [ -n "$signaled" ]; do :; done

# Slurm itself requeues a job that it has ended, because of a lost node, say. Only a job that still runs, and whose ranks
# have ended because of the time limit or at the beginning of a time of grace before a preemption, is left to this script.
job=$(scontrol show job "$SLURM_JOB_ID")
if [ $code -eq 143 ] && [[ $job == *JobState=RUNNING* ]]; then
  if [ -n "$out_of_time" ] && [ "$(last_checkpoint)" = "$begin" ]; then
    echo "the time limit was reached before a checkpoint was saved, so the job is not requeued" >&2
  elif [ -n "$out_of_time" ] || [[ $job == *\ PreemptTime=[0-9]* ]]; then
    echo "requeueing job $SLURM_JOB_ID, which goes on from '$checkpoints/$(last_checkpoint)'" >&2
    scontrol requeue "$SLURM_JOB_ID" && exit 0
  fi
fi
exit $code
)sh";

bool is_plain(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) ||
         std::string_view("@%+=:,./_-").find(letter) != std::string::npos;
}

std::string directives(const BatchJob& job) {
  std::string text;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) text += fmt::format("#SBATCH --{}={}\n", option, value);
  };
  const auto number = [](int64_t value) { return value > 0 ? std::to_string(value) : ""; };
  add("job-name", job.name);
  add("nodes", number(job.nodes));
  add("ntasks-per-node", number(job.ranks_per_node));
  add("cpus-per-task", number(job.cores_per_rank));
  add("time", job.time);
  add("partition", job.partition);
  add("account", job.account);
  text += "#SBATCH --requeue\n#SBATCH --open-mode=append\n";
  add("signal", fmt::format("B:USR1@{}", job.stop_before));
  return text;
}

// The words of the run, an option and its value to a line.
std::string array_text(const BatchRun& run) {
  std::string text = shell_word(run.program);
  for (const std::string& word : run.words)
    text += (word.starts_with("-") ? "\n     " : " ") + shell_word(word);
  return text;
}

std::string setup_text(const BatchJob& job) {
  std::string text;
  for (const std::string& line : job.setup) text += line + "\n";
  return text;
}

std::string plural(int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

std::string shell_word(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

std::string job_name(const std::string& name) {
  std::string known = name;
  for (char& letter : known)
    if (!std::isalnum(static_cast<unsigned char>(letter)) &&
        std::string_view("._+-").find(letter) == std::string::npos)
      letter = '_';
  return known.empty() || known.front() == '-' ? "mtfc" + known : known;
}

std::string batch_text(const BatchJob& job, const BatchRun& run) {
  // Since version 22.05, srun does not take over the number of cores from sbatch.
  const std::string cores =
      job.cores_per_rank > 0 ? fmt::format(" --cpus-per-task={}", job.cores_per_rank) : "";
  return fmt::format(
      "#!/bin/bash\n"
      "# A training run on {} with {} each, written by `mtfc slurm`. Submit it with sbatch.\n"
      "{}\ncd {} || exit\n{}checkpoints={}\nlauncher=(srun --mpi=pmi2{})\nrun=({})\n{}",
      plural(job.nodes, "node"), plural(job.ranks_per_node, "rank"), directives(job), shell_word(run.folder),
      setup_text(job), shell_word(run.checkpoint), cores, array_text(run), kScript);
}

}  // namespace mtfc
