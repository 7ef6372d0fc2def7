// Blocks whose gradients other blocks compute (`backward`): straight-through, reversed and clipped gradients, and those of
// layers, written out by hand. They equal those of an independent computation (scripts/make_custom_gradients.py) under
// layouts, in repeated calls, in rounds that share weights, with calls that are computed again, and with microbatches.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "cmd/testing/reference_model.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"

namespace mtfc::custom_gradients_test {
namespace {

const std::vector<ReferenceLayout> kLayouts = {
    {"a:1", ""},
    {"a:1", "", false, {"again=1"}},
    {"a:2", "batch:a"},
    {"a:4", "batch:a", false, {"again=1"}},
    {"a:2,b:2", "from:a,to:b"},
    {"a:2,b:2", "batch:a,to:b", true, {"again=1"}},
    {"a:3", "to:a"},
    {"a:1", "", false, {}, 4},
    {"a:2", "batch:a", false, {"again=1"}, 2},
    {"a:2", "to:a", false, {}, 2},
};

Outcome outcome_on(const std::string& options) {
  return outcome_of(fmt::format("'{}' verify '{}/testdata/custom_gradients/model.json' {} 2>&1",
                                kTestedProgram, kSourceFolder, options));
}

}  // namespace

TEST_CASE("gradients that blocks state equal NumPy under layouts, computed again and in microbatches") {
  for (const ReferenceLayout& layout : kLayouts)
    for (const DType dtype : {DType::kF64, DType::kF32})
      for (const auto& [name, worst] : reference_differences("custom_gradients", layout, dtype)) {
        INFO(fmt::format("{} {} microbatches={} {} {}", layout.mesh, layout.rules,
                         layout.microbatches.value_or(1), to_string(dtype), name));
        CHECK(worst < (dtype == DType::kF64 ? 1e-12 : 1e-5));
      }
}

TEST_CASE("steps with gradients that blocks state are the same on devices, also in bf16") {
  for (const char* options :
       {"--mesh a:2 --layout batch:a --set again=1", "--mesh a:3 --layout to:a",
        "--mesh a:2 --layout batch:a --dtype bf16", "--mesh a:2 --layout batch:a --microbatches 2"}) {
    const Outcome found = outcome_on(options);
    CAPTURE(found.text);
    CHECK(found.code == 0);
    CHECK(found.text.starts_with("the same as on one device"));
  }
}

TEST_CASE("a gradient that takes the whole batch at once is refused with microbatches") {
  const std::string model =
      "{\"mtfc\": 1, \"dims\": {\"batch\": 4, \"io\": 3}, \"inputs\": {\"x\": {\"dims\": [\"batch\", "
      "\"io\"]}},"
      "\"variables\": {\"w\": {\"dims\": [\"io\"], \"init\": \"ones\"}}, \"blocks\": {"
      "\"limited\": {\"in\": \"x\", \"out\": \"y\", \"backward\": \"scaled\", \"ops\": [{\"out\": \"y\", "
      "\"op\": \"identity\", "
      "\"in\": \"x\"}]}, \"scaled\": {\"in\": \"y/grad\", \"out\": \"x/grad\", \"ops\": [{\"out\": "
      "\"x/grad\", \"op\": \"div\", "
      "\"in\": [\"y/grad\", {\"op\": \"reduce_sum\", \"in\": {\"op\": \"abs\", \"in\": \"y/grad\"}}]}]}},"
      "\"ops\": [{\"out\": \"h\", \"op\": \"call\", \"block\": \"limited\", \"in\": {\"op\": \"mul\", "
      "\"in\": [\"x\", \"w\"]}},"
      "{\"out\": \"loss\", \"op\": \"reduce_mean\", \"in\": {\"op\": \"square\", \"in\": \"h\"}}],"
      "\"train\": {\"loss\": \"loss\", \"optimizer\": {\"kind\": \"sgd\", \"lr\": 0.1}}, \"outputs\": "
      "[\"loss\"]}";
  const auto check = [&](const char* options) {
    return outcome_of(fmt::format("echo '{}' | '{}' check - {} 2>&1", model, kTestedProgram, options));
  };
  CHECK(check("").code == 0);
  const Outcome found = check("--microbatches 2");
  CAPTURE(found.text);
  CHECK(found.code == 2);
  CHECK(found.text.find("microbatches") != std::string::npos);
}

}  // namespace mtfc::custom_gradients_test
