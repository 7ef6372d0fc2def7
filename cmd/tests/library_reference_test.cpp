// Compares blocks of models/std/ with an independent computation (scripts/make_library_reference.py): results, and the
// gradients of all inputs and variables, on one device and under layouts. Some split the length, so that devices
// exchange what is near the ends of their shards for windows and for compressed attention.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "cmd/testing/reference_model.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"

namespace mtfc::library_reference_test {
namespace {

const std::vector<ReferenceLayout> kLayouts = {
    {"a:1", ""},
    {"a:2", "batch:a"},
    {"a:2", "heads:a,query_heads:a"},
    {"a:2,b:3", "value_heads:a,key_heads:b,softmax_input:b"},
    {"a:4", "length:a"},
    {"a:2", "length:a,near_length:a"},
    {"a:4", "length:a,near_length:a,compressed_length:a"},
    {"a:3", "memory_length:a,near_length:a,compressed_length:a,whole_chunks:a"},
    {"a:2,b:2", "length:a,near_length:a,memory_length:b"},
    {"a:2,b:3", "softmaxes:a,d_model:b"},
    {"a:7", "vocab:a"},
    {"a:2,b:2", "length:a,d_ff:b", true},
    {"a:2,b:2", "batch:a,heads:b,query_heads:b,vocab:b", true},
};

// The output of a command on a file of testdata/, which must succeed.
std::string text_of(const std::string& command, const std::string& file, const std::string& options) {
  const Outcome found = outcome_of(
      fmt::format("'{}' {} '{}/testdata/{}' {} 2>&1", kTestedProgram, command, kSourceFolder, file, options));
  CAPTURE(found.text);
  CHECK(found.code == 0);
  return found.text;
}

// The loss of the fourth training step.
double last_loss(const std::string& options) {
  const std::string text = text_of("run", "library_reference/model.json", options + " --steps 4 --dtype f64");
  const std::string before = "\nstep 4  loss ";
  const size_t last = text.find(before);
  REQUIRE(last != std::string::npos);
  return std::stod(text.substr(last + before.size()));
}

}  // namespace

TEST_CASE("blocks of the library equal NumPy under layouts, gradients included") {
  for (const ReferenceLayout& layout : kLayouts)
    for (const DType dtype : {DType::kF64, DType::kF32})
      for (const auto& [name, worst] : reference_differences("library_reference", layout, dtype)) {
        INFO(fmt::format("{} {} {} {}", layout.mesh, layout.rules, to_string(dtype), name));
        // Gradients are differences, in which errors of 1e-9 remain.
        CHECK(worst < (dtype == DType::kF32 ? 2e-3 : name.starts_with("of/") ? 1e-7 : 1e-10));
      }
}

TEST_CASE("training steps with blocks of the library are the same with processes for devices") {
  const double alone = last_loss("");
  for (const int ranks : {2, 4})
    CHECK(last_loss(fmt::format("--mesh a:{} --layout length:a,near_length:a,compressed_length:a", ranks)) ==
          doctest::Approx(alone).epsilon(1e-9));
  for (const char* options : {"--mesh a:2 --layout length:a --propagate",
                              "--mesh a:4 --layout length:a,near_length:a,compressed_length:a"})
    CHECK(
        text_of("verify", "library_reference/model.json", options).starts_with("the same as on one device"));
}

TEST_CASE("what devices send for attention with a window does not grow with the length") {
  const auto exchanged = [](int length) {
    const std::string text =
        text_of("cost-report", "families/mistral",
                fmt::format("--set length={} --mesh context:4 --layout megatron --entry train", length));
    CHECK(text.find("all_gather") == std::string::npos);
    const size_t at = text.find("\n  exchange ");
    REQUIRE(at != std::string::npos);
    return text.substr(at, text.find('\n', at + 1) - at);
  };
  CHECK(exchanged(4096) == exchanged(2048));
}

}  // namespace mtfc::library_reference_test
