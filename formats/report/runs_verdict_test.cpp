#include "formats/report/runs_verdict.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace mtfc::runs_verdict_test {
namespace {

MetricsLog log_of(const std::string& lines, const std::string& file = "a.jsonl") {
  std::vector<Diagnostic> warnings;
  return read_metrics(lines, file, warnings);
}

// Losses as JSON has them, a line each from step `first` on; `more` are other keys of every line.
std::string lines_of(const std::vector<const char*>& losses, const std::string& more = "", int first = 1) {
  std::string lines;
  for (const char* loss : losses)
    lines += fmt::format("{{\"step\":{},\"loss\":{}{}}}\n", first++, loss, more);
  return lines;
}

std::string verdict_of(const std::string& lines) {
  return runs_verdict({{log_of(lines)}, {}});
}

const std::string kMs = ",\"step_time\":0.0019";

// Returns the verdict on two runs, or on three.
std::string compared(const std::string& a, const std::string& b, const std::string& c = "") {
  RunsReport report{{log_of(a, "a.jsonl"), log_of(b, "b.jsonl")}, {}};
  if (!c.empty()) report.logs.push_back(log_of(c, "c.jsonl"));
  return runs_verdict(report);
}

}  // namespace

TEST_CASE("one run: how the loss changed, in how many steps, and how long each took") {
  CHECK(verdict_of(lines_of({"2.3", "1", "0.25"}, kMs)) ==
        "The loss fell from 2.3 to 0.25 in 3 steps, 1.90 ms each.");
  // The first step of each process is left out, as a run does at its end: it takes longer than others.
  CHECK(verdict_of("{\"step\":1,\"loss\":2,\"step_time\":9,\"wall_time\":9}\n"
                   "{\"step\":2,\"loss\":1.5,\"step_time\":0.25,\"wall_time\":9.25}\n"
                   "{\"step\":3,\"loss\":1.25,\"step_time\":9,\"wall_time\":9}\n"
                   "{\"step\":4,\"loss\":1,\"step_time\":0.75,\"wall_time\":9.75}\n") ==
        "The loss fell from 2 to 1 in 4 steps, 500 ms each.");
  CHECK(verdict_of(lines_of({"2.3", "0.25"})) == "The loss fell from 2.3 to 0.25 in 2 steps.");
  CHECK(verdict_of(lines_of({"2.3", "0.25"}, "", 101)) ==
        "The loss fell from 2.3 to 0.25 in the steps 101 to 102.");
  // Digits tell numbers apart.
  CHECK(verdict_of(lines_of({"1.00001", "1"})) == "The loss fell from 1.00001 to 1 in 2 steps.");
}

TEST_CASE("a loss that rose, stayed or is no number is said to") {
  CHECK(verdict_of(lines_of({"2", "1.5", "3"})) ==
        "The loss rose from 2 to 3 in 3 steps; it was least at step 2 (1.5).");
  CHECK(verdict_of(lines_of({"2", "3"})) == "The loss rose from 2 to 3 in 2 steps.");
  CHECK(verdict_of(lines_of({"2", "1", "2"})) == "The loss was 2 at first and at last, in 3 steps.");
  CHECK(verdict_of(lines_of({"4", "2", "null", "null"})) ==
        "The loss fell from 4 to 2 in 4 steps; from step 3 on it is no finite number.");
  CHECK(verdict_of(lines_of({"4", "null", "2"})) ==
        "The loss fell from 4 to 2 in 3 steps; in 1 step it is no finite number.");
  CHECK(verdict_of(lines_of({"null", "null"})) == "The loss is no finite number in 2 steps.");
  CHECK(verdict_of(lines_of({"4", "null"})) ==
        "The loss was 4 at step 1, in 2 steps; from step 2 on it is no finite number.");
  CHECK(verdict_of(lines_of({"4"}, kMs)) == "The loss was 4 at step 1, which took 1.90 ms.");
  CHECK(verdict_of("{\"step\":1,\"y\":1}\n{\"step\":2,\"y\":2}\n") == "The run logged no loss in 2 steps.");
  CHECK(verdict_of("{\"step\":0,\"loss\":0.5}\n") == "The loss of the evaluation is 0.5.");
  CHECK(verdict_of("{\"step\":0,\"accuracy\":0.5}\n") == "The evaluation has no loss.");
}

TEST_CASE("the least validation loss is named with its step") {
  const std::string first = "{\"step\":1,\"loss\":4}\n{\"step\":2,\"loss\":3,\"valid/loss\":2}\n",
                    second = first + "{\"step\":3,\"loss\":2}\n{\"step\":4,\"loss\":1,\"valid/loss\":";
  CHECK(verdict_of(first) == "The loss fell from 4 to 3 in 2 steps; the validation loss was 2 at step 2.");
  CHECK(verdict_of(second + "1.5}\n") ==
        "The loss fell from 4 to 1 in 4 steps; the validation loss was least at the end (1.5).");
  CHECK(verdict_of(second + "2.5}\n") ==
        "The loss fell from 4 to 1 in 4 steps; the validation loss was least at step 2 (2), and 2.5 at the "
        "end.");
  const std::string on = "\n{\"step\":5,\"loss\":1}\n";
  CHECK(verdict_of(second + "1.5}" + on) ==
        "The loss fell from 4 to 1 in 5 steps; the validation loss was least at step 4 (1.5), where it was "
        "last "
        "measured.");
  CHECK(verdict_of(second + "2.5}" + on) ==
        "The loss fell from 4 to 1 in 5 steps; the validation loss was least at step 2 (2), and 2.5 at step "
        "4.");
}

TEST_CASE("several runs: which ends with the least loss, and which is faster") {
  const std::string slow = ",\"step_time\":0.004";
  CHECK(compared(lines_of({"2", "0.5"}, kMs), lines_of({"2", "1"}, slow)) ==
        "a.jsonl ends with the lower loss, 0.5 against 1, after 2 steps each; it is also faster, 1.90 ms a "
        "step against 4.00 ms.");
  CHECK(
      compared(lines_of({"2", "1"}, kMs), lines_of({"2", "1.5", "0.5"}, slow)) ==
      "b.jsonl ends with the lower loss, 0.5 after 3 steps against 1 after 2 steps; a.jsonl is faster, 1.90 "
      "ms a step against 4.00 ms.");
  CHECK(compared(lines_of({"2", "1"}, kMs), lines_of({"2", "1"}, kMs)) ==
        "a.jsonl and b.jsonl end with the same loss, 1 after 2 steps each; a step of both takes 1.90 ms.");
  CHECK(compared(lines_of({"2", "null"}, kMs), lines_of({"2", "1"})) ==
        "Only b.jsonl ends with a finite loss, 1 after 2 steps.");
  CHECK(compared(lines_of({"null"}), lines_of({"null"})) == "Neither run ends with a finite loss.");
  CHECK(compared("{\"step\":1,\"y\":1}\n", "{\"step\":1,\"y\":1}\n") == "The logs have no loss.");
  CHECK(compared(lines_of({"2"}, slow), lines_of({"1"}, kMs), lines_of({"3"}, slow)) ==
        "b.jsonl ends with the lowest loss of the 3 runs, 1 after 1 step; it is also the fastest, 1.90 ms a "
        "step against at most 4.00 ms.");
}

}  // namespace mtfc::runs_verdict_test
