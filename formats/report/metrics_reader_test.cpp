#include "formats/report/metrics_reader.h"

#include <doctest/doctest.h>

#include <cmath>

namespace mtfc::metrics_reader_test {
namespace {

MetricsLog log_of(const std::string& text) {
  std::vector<Diagnostic> warnings;
  MetricsLog log = read_metrics(text, "log.jsonl", warnings);
  CHECK(warnings.empty());
  return log;
}

std::string error_of(const std::string& text) {
  std::vector<Diagnostic> warnings;
  try {
    read_metrics(text, "log.jsonl", warnings);
  } catch (const UserError& error) {
    return to_string(error.diagnostics().front());
  }
  return "";
}

}  // namespace

TEST_CASE("columns have a number for each step") {
  const MetricsLog log = log_of(
      "{\"step\":1,\"loss\":2.5,\"step_time\":0.5}\n"
      "{\"step\":2,\"loss\":null,\"valid/loss\":3,\"step_time\":0.25}\r\n"
      "\n"
      "{\"step\":7,\"loss\":1}\n");
  CHECK(log.steps == std::vector<int64_t>{1, 2, 7});
  REQUIRE(log.columns.size() == 3);
  CHECK(log.columns[0].name == "loss");
  CHECK(log.columns[1].name == "step_time");
  CHECK(log.columns[2].name == "valid/loss");
  CHECK(log.columns[0].values[0] == 2.5);
  CHECK(std::isnan(log.columns[0].values[1]));
  CHECK(std::isnan(log.columns[1].values[2]));
  CHECK(std::isnan(log.columns[2].values[0]));
  CHECK(log.columns[2].values[1] == 3);
  CHECK(log.find("valid/loss") == &log.columns[2]);
  CHECK(log.find("mfu") == nullptr);
}

TEST_CASE("if steps go back, the later lines count") {
  const MetricsLog log = log_of(
      "{\"step\":1,\"loss\":5,\"wall_time\":1}\n{\"step\":2,\"loss\":4,\"wall_time\":2}\n"
      "{\"step\":3,\"loss\":3,\"wall_time\":3}\n{\"step\":4,\"loss\":2,\"wall_time\":4}\n"
      "{\"step\":3,\"loss\":30,\"wall_time\":0.5}\n");
  CHECK(log.steps == std::vector<int64_t>{1, 2, 3});
  CHECK(log.columns[0].values == std::vector<double>{5, 4, 30});
  CHECK(elapsed_seconds(log) == std::vector<double>{1, 2, 2.5});
}

TEST_CASE("times are known if every line has them") {
  CHECK(elapsed_seconds(log_of("{\"step\":1,\"wall_time\":1}\n{\"step\":2}\n")).empty());
  CHECK(elapsed_seconds(log_of("{\"step\":1,\"loss\":1}\n")).empty());
}

TEST_CASE("an incomplete last line is left out with a warning") {
  const std::string whole = "{\"step\":1,\"loss\":5}\n{\"step\":2,\"loss\":4.25}";
  for (const size_t length : {whole.size() - 1, size_t{22}}) {
    std::vector<Diagnostic> warnings;
    CHECK(read_metrics(whole.substr(0, length), "log.jsonl", warnings).steps.size() == 1);
    REQUIRE(warnings.size() == 1);
    CHECK(to_string(warnings[0]) ==
          "log.jsonl:2:1: warning: the last line is not complete, and is left out: the run was killed, or "
          "still goes on");
  }
  CHECK(log_of(whole).steps.size() == 2);
}

TEST_CASE("other lines are errors") {
  const std::string problem =
      ": error: this line is not one that `mtfc run --metrics` writes (each is an object of numbers, as in "
      "{\"step\": "
      "1, \"loss\": 2.3})";
  CHECK(error_of("{\"step\":1}\n{\"step\":2,\n{\"step\":3}\n") == "log.jsonl:2:1" + problem);
  for (const char* line : {"notes\n", "[1]\n", "{\"loss\":1}\n", "{\"step\":1.5}\n", "{\"step\":-1}\n",
                           "{\"step\":\"1\"}\n", "{\"step\":1,\"step\":2}\n"})
    CHECK(error_of(line) == "log.jsonl:1:1" + problem);
  CHECK(error_of("{\"step\":1,\"loss\":\"low\"}\n") ==
        "log.jsonl:1:1: error: 'loss' is a string, but metrics are numbers");
  CHECK(error_of("") ==
        "log.jsonl: error: the file has no steps (`mtfc run --metrics FILE` writes a line for each)");
  CHECK(error_of("{\"ste") ==
        "log.jsonl: error: the file has no steps (`mtfc run --metrics FILE` writes a line for each)");
}

}  // namespace mtfc::metrics_reader_test
