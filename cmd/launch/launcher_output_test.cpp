#include "cmd/launch/launcher_output.h"

#include <doctest/doctest.h>

namespace mtfc::launcher_output_test {
namespace {

const std::string kRule(83, '=');
const std::string kBanner =
    "\n" + kRule +
    "\n"
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
    "=   PID 9390 RUNNING AT vm\n"
    "=   EXIT CODE: 11\n"
    "=   CLEANING UP REMAINING PROCESSES\n"
    "=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n" +
    kRule +
    "\n"
    "[mpiexec@vm] Exit codes: [vm] 0,11,9,256\n"
    "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)\n"
    "This typically refers to a problem with your application.\n"
    "Please see the FAQ page for debugging suggestions\n";

// Returns all that is passed on of `text`, given in pieces of `size` bytes.
std::string passed(LauncherOutput& output, const std::string& text, size_t size) {
  std::string result;
  for (size_t i = 0; i < text.size(); i += size) result += output.pass(text.substr(i, size));
  return result + output.flush();
}

TEST_CASE("the launcher's banner is dropped and understood, however it arrives") {
  for (const size_t size : {1, 2, 7, 64, 100000}) {
    LauncherOutput output;
    CHECK(passed(output, "step 1\n\nloss = 3\n" + kBanner, size) == "step 1\n\nloss = 3\n");
    CHECK(output.word().signal == 11);
    CHECK(output.word().host == "vm");
    CHECK(output.word().statuses == std::vector<int>{0, 11, 9, 256});
  }
}

TEST_CASE("a rank's output passes unchanged") {
  const std::string text = "== loss ==\n\n\n[mpi] a\n= x\nAbort(1) mission\n[====>   ] 40%\rno end";
  for (const size_t size : {1, 3, 100000}) {
    LauncherOutput output;
    CHECK(passed(output, text, size) == text);
    CHECK(output.word().signal == 0);
  }
}

TEST_CASE("a line without an end is passed on at once, and the launcher's after it is dropped") {
  LauncherOutput output;
  CHECK(output.pass("\rstep 5") == "\rstep 5");
  CHECK_FALSE(output.holds());
  CHECK(output.pass("[mpiexec@vm] Exit codes: [vm] 0,0\n") == "");
  CHECK(output.flush() == "");
  CHECK(output.word().statuses == std::vector<int>{0, 0});
}

TEST_CASE("what ranks on several nodes ended with is read in order") {
  LauncherOutput output;
  output.pass("[mpiexec@a] Exit codes: [a] 0,0 [b2] 0,9\n");
  CHECK(output.word().statuses == std::vector<int>{0, 0, 0, 9});
  for (const size_t size : {1, 7, 1000}) {
    LauncherOutput lines;
    CHECK(passed(lines, "[mpiexec@a] Exit codes: [a] 0,0\n[b2] 0,9\n[more]\n", size) == "[more]\n");
    CHECK(lines.word().statuses == std::vector<int>{0, 0, 0, 9});
  }
}

TEST_CASE("the signal that has killed a rank of another host is in the banner alone") {
  LauncherOutput output;
  CHECK(passed(output, kBanner.substr(0, kBanner.find("[mpiexec@")), 7) == "");
  CHECK(output.word().signal == 11);
  LauncherOutput failed;
  std::string banner = kBanner.substr(0, kBanner.find("[mpiexec@"));
  banner.replace(banner.find("CODE: 11"), 8, "CODE: 1");
  CHECK(passed(failed, banner, 7) == "");
  CHECK(failed.word().signal == 0);
}

TEST_CASE("the exit code that a rank of another host tells is read, and not shown") {
  for (const size_t size : {1, 5, 1000}) {
    LauncherOutput output;
    CHECK(passed(output, "last line\n[mtfc] exit code 2\n[mtfc] exit code 0\n", size) == "last line\n");
    CHECK(output.word().code == 2);
  }
}

TEST_CASE("MPI's word on a rank that ended the job is dropped") {
  LauncherOutput output;
  CHECK(passed(output,
               "mtfc: error: no\nAbort(1) on node 1 (rank 1 in comm 0): application called "
               "MPI_Abort(MPI_COMM_WORLD, 1) "
               "- process 1\n",
               5) == "mtfc: error: no\n");
}

}  // namespace
}  // namespace mtfc::launcher_output_test
