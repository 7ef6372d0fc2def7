// --time-limit of commands that choose a plan: it is obeyed, what it leaves is legal and right, and it says how good it
// is.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cmd/testing/shell.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::time_limit_option_test {
namespace {

const std::string kModel =
    "transformer_lm.json --set layers=1 --set batch=4 --set length=6 --set d_model=8 --set d_ff=12 --set "
    "heads=2 "
    "--set d_kv=4 --set vocab=18 --mesh rows:2,cols:2 --layout batch:rows,d_ff:cols --propagate ";

}  // namespace

TEST_CASE("every command that chooses a plan for one layout has a time limit for it") {
  for (const char* command :
       {"check", "compile", "cost-report", "diff", "explain", "run", "search", "show", "slurm", "verify"}) {
    CAPTURE(command);
    CHECK(outcome_in_models(fmt::format("$MTFC {} --help", command)).find("--time-limit") !=
          std::string::npos);
  }
}

TEST_CASE("a plan for which there is no time runs, and a warning says how good it is") {
  const std::string text = outcome_in_models("$MTFC check " + kModel + "--time-limit 0");
  CHECK(text.starts_with("exit 0: "));
  CHECK(text.find("the time to choose a plan for train has ended: nothing is known of how much less another "
                  "plan costs") != std::string::npos);
  CHECK(outcome_in_models("$MTFC check " + kModel).find("the time to choose") == std::string::npos);
}

TEST_CASE("a limit that is not reached changes nothing") {
  const std::string compile = "$MTFC compile -q --format json -o - " + kModel;
  CHECK(outcome_in_models(compile) == outcome_in_models(compile + "--time-limit 100000"));
}

TEST_CASE("ranks run the plan that one of them had the time to choose, with the results of any other") {
  const ScratchFolder folder;
  const auto loss = [&](const std::string& options) {
    const std::string metrics = folder / "metrics.jsonl";
    const std::string text = outcome_in_models("$MTFC run -q --steps 2 --dtype f64 --metrics " + metrics +
                                               " " + kModel + options + " && tail -n 1 " + metrics);
    REQUIRE_MESSAGE(text.starts_with("exit 0: "), text);
    return nlohmann::json::parse(text.substr(8))["loss"].get<double>();
  };
  CHECK(loss("--time-limit 0") == doctest::Approx(loss("--simulate")).epsilon(1e-9));
}

}  // namespace mtfc::time_limit_option_test
