// Compares attention that knows positions by rotations and by biases (models/std/position.json) with an independent
// computation (scripts/make_position_reference.py): results and all gradients, on one device and under layouts; and
// with itself in generation, where one position at a time is computed.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "cmd/testing/reference_model.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"

namespace mtfc::position_reference_test {
namespace {

const std::string kFolder = std::string(kSourceFolder) + "/testdata/position_reference/";

const std::vector<ReferenceLayout> kLayouts = {{"a:1", ""},
                                               {"a:2", "batch:a"},
                                               {"a:2", "heads:a"},
                                               {"a:4", "length:a"},
                                               {"a:3", "memory_length:a"},
                                               {"a:2,b:3", "d_kv:a,length:b"},
                                               {"a:5", "buckets:a"},
                                               {"a:2,b:2", "batch:a,length:b", true},
                                               {"a:2,b:2", "heads:a,buckets:b,memory_length:b", true}};

}  // namespace

TEST_CASE("rotations, slopes and learned biases of attention equal NumPy under layouts, gradients included") {
  for (const ReferenceLayout& layout : kLayouts)
    for (const DType dtype : {DType::kF64, DType::kF32})
      for (const auto& [name, worst] : reference_differences("position_reference", layout, dtype)) {
        INFO(fmt::format("{} {} {} {}", layout.mesh, layout.rules, to_string(dtype), name));
        CHECK(worst < (dtype == DType::kF64 ? 1e-11 : name == "loss" ? 1e-2 : 2e-4));
      }
}

TEST_CASE("a learned bias for each distance gives the model's logits in generation, under layouts") {
  for (const char* layout :
       {"", " --mesh a:2 --layout heads:a", " --mesh a:3 --layout places:a,memory_length:a"}) {
    const Outcome found = outcome_of(
        fmt::format("'{}' verify '{}relative_lm.json' --set beam=2{} 2>&1", kTestedProgram, kFolder, layout));
    CAPTURE(found.text);
    CHECK(found.code == 0);
    CHECK(found.text.find("decode gives the model's logits at 11 positions") != std::string::npos);
  }
}

}  // namespace mtfc::position_reference_test
