// `mtfc slurm`: the batch file that it writes, its errors, and jobs on a cluster of Slurm that is this machine.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "cmd/testing/training_folder.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/skip.h"
#include "core/testing/text.h"

namespace mtfc::slurm_test {
namespace {

constexpr int kUnavailable = 77;  // an exit code of the script

std::string with(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// The text of an expected batch file for the job's folder.
std::string expected(const std::string& name, const TrainingFolder& folder) {
  std::ifstream file(fmt::format("{}/testdata/slurm/{}", kSourceFolder, name));
  REQUIRE(file.good());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return with(with(text, "/MTFC", kTestedProgram), "/FOLDER", folder.path.string());
}

const std::string kSlurm = "$MTFC slurm model.json -q --input x=x.npy ";
const std::string kMesh = "--mesh a:2,b:2 --layout batch:a,hidden:b ";

// The command must fail with this message, and leave nothing behind.
void check_mistake(const std::string& arguments, const std::string& message) {
  const TrainingFolder folder;
  CAPTURE(arguments);
  CHECK(folder.said(kSlurm + arguments + " -o job.sh") == mistake(message));
  CHECK(folder.names(".") == std::vector<std::string>{"model.json", "x.npy"});
}

}  // namespace

TEST_CASE("the batch file has the options of the job and of the run, and is a right script") {
  const TrainingFolder folder;
  CHECK(folder.said(kSlurm + kMesh + "--nodes 2 --steps 40 --checkpoint ck --every 10 -o plain.sh") ==
        "exit 0: ");
  CHECK(folder.read("plain.sh") == expected("plain.sh", folder));
  CHECK(folder.said(
            kSlurm + kMesh +
            "--nodes=4 --time 1-12:30 --cpus-per-task 8 --partition long --account physics --job-name try-2 "
            "--stop-before 300 --steps 40 --checkpoint \"my ck's\" --every 10 --metrics '$HOME;log.txt' "
            "--set lr=0.1 --memory-limit 1MiB --seed 3 >all.sh") == "exit 0: ");
  CHECK(folder.read("all.sh") == expected("all.sh", folder));
  // The user's own choices stay.
  CHECK(folder.said(kSlurm + kMesh +
                    "--nodes 1 --cpus-per-task 2 --threads 1 --grace 7 --resume --checkpoint ck -o own.sh") ==
        "exit 0: ");
  CHECK(
      has(folder.read("own.sh"), "     --threads 1\n     --grace 7\n     --resume\n     --checkpoint ck)\n"));
  for (const char* script : {"plain.sh", "all.sh", "own.sh"})
    CHECK(folder.said(fmt::format("bash -n {}", script)) == "exit 0: ");
}

TEST_CASE("lines of set-up stand before the run, and times with units are converted") {
  const TrainingFolder folder;
  CHECK(folder.said(kSlurm + "--nodes 1 --checkpoint ck --every 1 --time 2h30m --setup 'module load mpich' "
                             "--setup '. ./venv' -o job.sh") == "exit 0: ");
  const std::string job = folder.read("job.sh");
  CHECK(has(job, "\n#SBATCH --time=02:30:00\n"));
  CHECK(has(job, " || exit\nmodule load mpich\n. ./venv\ncheckpoints=ck\n"));
  CHECK(!has(job, "--setup"));
}

TEST_CASE(
    "warnings say what a job without --every may lose, and that one without --steps makes a single step") {
  const TrainingFolder folder;
  const std::string write = "$MTFC slurm model.json --input x=x.npy --nodes 1 --checkpoint ck -o job.sh",
                    data = "exit 0: data: x from x.npy\n",
                    every =
                        "mtfc: warning: without --every N, a job that loses a node begins anew at the last "
                        "checkpoint that a signal has made it save\n";
  CHECK(folder.said(write) == data + "mtfc: warning: without --steps N, the job makes one step\n" + every);
  CHECK(folder.said(write + " --steps 9") == data + every);
  CHECK(folder.said(write + " --steps 9 --every 2") == data);
}

TEST_CASE("options that do not fit are one error, and nothing is written") {
  const std::string ck = "--checkpoint ck --nodes ";
  check_mistake(kMesh + ck + "3",
                "the mesh a:2,b:2 has 4 devices, which can't be divided among 3 nodes (give --nodes 2 or 4)");
  check_mistake(kMesh + ck + "8",
                "the mesh a:2,b:2 has 4 devices, which can't be divided among 8 nodes (give --nodes 4)");
  check_mistake(
      ck + "2",
      "there is no mesh, so there is 1 device, which can't be divided among 2 nodes (give --nodes 1)");
  check_mistake(kMesh + "--nodes 2",
                "a job goes on from its last checkpoint, so it needs --checkpoint (give a folder that all "
                "nodes share with --checkpoint DIR)");
  check_mistake(kMesh + "--checkpoint ck", "--nodes is missing (see mtfc slurm --help)");
  check_mistake(
      ck + "2 --mesh a:2 --layout batch:a --simulate",
      "--simulate runs all devices in one process, but a job has a rank for each (leave out --simulate)");
  check_mistake("--nodes 1 --evaluate",
                "mtfc slurm writes jobs that train, but --evaluate trains nothing (leave out --evaluate)");
  check_mistake(ck + "1 --layout -", "a job can't read standard input (name a file instead of -)");
  check_mistake(ck + "1 --time 2",
                "--time 2 leaves no time to the run, which stops 120 s before the limit (give more time, or "
                "fewer seconds with --stop-before)");
  check_mistake(ck + "1 --grace 120",
                "--grace 120 is longer than the 120 s between the signal and the time limit (give more "
                "seconds with --stop-before)");
  check_mistake(ck + "1 --time 12x",
                "--time: expected a time such as 90 (minutes), 2h30m, 12:00:00 or 2-12:00:00 (days first), "
                "found '12x' (see mtfc slurm --help)");
  check_mistake(ck + "1 --partition 'a b'",
                "--partition: expected letters, digits and ._+-, found 'a b' (see mtfc slurm --help)");
}

TEST_CASE("options of the run are checked as run checks them") {
  const std::string ck = "--nodes 1 --checkpoint ck ";
  check_mistake(ck + "--stepz 3", "there is no option '--stepz' (did you mean '--steps'?)");
  check_mistake(ck + "--valid-every 3",
                "--valid-every needs --valid (give the held-out data with --valid NAME=SPEC)");
  for (const std::string& wrong :
       {std::string("--layout batchh:a --mesh a:2"), std::string("--set nothing=1"),
        std::string("--input y=x.npy"), std::string("--metrics log.json")}) {
    const TrainingFolder folder;
    const std::string arguments = "model.json -q --input x=x.npy --checkpoint ck " + wrong;
    const std::string said = folder.said("$MTFC slurm --nodes 1 -o job.sh " + arguments);
    CAPTURE(said);
    CHECK(said.starts_with("exit 2: "));
    CHECK(said == folder.said("$MTFC run --simulate " + arguments));
    CHECK(!std::filesystem::exists(folder / "job.sh"));
  }
}

TEST_CASE("a folder with checkpoints takes --resume, and the job goes on from the last") {
  const TrainingFolder folder;
  CHECK(folder.said("$RUN --steps 3 --checkpoint ck") == "exit 0: ");
  const std::string job = kSlurm + "--nodes 1 --steps 9 --checkpoint ck -o job.sh ";
  CHECK(folder.said(job) ==
        mistake("--checkpoint: there are checkpoints in 'ck' already, the last of step 3 (--resume "
                "continues from it; another run needs a folder of its own)"));
  CHECK(!std::filesystem::exists(folder / "job.sh"));
  CHECK(folder.said(job + "--resume") == "exit 0: ");
  CHECK(folder.said(job + "--resume --seed 5") ==
        "exit 2: mtfc: error: --seed 5 differs from the seed of 'ck/step_00000003', "
        "which is 0 (leave out --seed to continue with the same seed)\n");
}

// The script submits the jobs and compares their checkpoints and metrics.
TEST_CASE("jobs that are preempted end with the bits of one that nobody stops, and those that fail end") {
  const Outcome outcome =
      outcome_of(fmt::format("MTFC='{}' $HANG_GUARD '{}/scripts/slurm_runs.sh' preemption grace failure 2>&1",
                             kTestedProgram, kSourceFolder));
  if (outcome.code == kUnavailable) return skip_without("slurm", outcome.text);
  CAPTURE(outcome.text);
  CHECK(outcome.code == 0);
  CHECK(has(outcome.text, "DUE TO PREEMPTION"));
  CHECK(has(outcome.text, "the same bits as of the undisturbed job"));
}

}  // namespace mtfc::slurm_test
