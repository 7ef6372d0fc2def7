// Layers that the backward pass computes again ("recompute"): the same bits in less memory.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cmd/testing/command_results.h"
#include "cmd/testing/shell.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::recompute_test {
namespace {

using Json = nlohmann::json;

const std::string kModel = "transformer_lm.json";

}  // namespace

TEST_CASE("six layers that are computed again take a third of the memory and 20 % more products") {
  const std::string sizes = "--set layers=6 --set batch=64 --set length=256";
  const Json kept = report_of(kModel, sizes), again = report_of(kModel, sizes + " --set recompute=1");
  const auto peak = [](const Json& report) {
    return report["memory"]["peak_bytes_per_device"].get<double>();
  };
  CHECK(peak(again) < 0.33 * peak(kept));
  const Json& flops = again["flops"];
  CHECK(flops["einsum_useful"] == kept["flops"]["einsum_per_device"]);
  // All products of a layer's forward pass but the last of its feed-forward network, whose result leaves the layer.
  CHECK(flops["einsum_per_device"].get<double>() <= 1.21 * flops["einsum_useful"].get<double>());
}

TEST_CASE("losses are the same to the bit, with random numbers, in microbatches, and under layouts") {
  const std::string small =
      " --set layers=2 --set d_model=32 --set d_ff=48 --set heads=4 --set d_kv=8 --set vocab=50 --set "
      "length=16";
  for (const char* run : {"transformer_lm.json", "transformer_lm.json --set dropout=0.2",
                          "transformer_encdec.json --set dropout=0.2",
                          "moe_lm.json --set experts=4 --set dropout=0.1 --microbatches 2",
                          "transformer_lm.json --set dropout=0.2 --simulate --mesh a:2,b:2 --layout "
                          "batch:a,heads:b,d_ff:b,vocab:b",
                          "transformer_lm.json --simulate --layout layouts/zero_3.json"}) {
    CAPTURE(run);
    const std::vector<double> expected = losses_of(run + small);
    CHECK(losses_of(run + small + " --set recompute=1") == expected);
  }
}

TEST_CASE("six layers fit into 60 % of their memory with 9 % more products, and into 40 % with 15 %") {
  const std::string sizes = "--set layers=6 --set batch=64 --set length=256";
  const Json kept = report_of(kModel, sizes);
  const auto most = kept["memory"]["peak_bytes_per_device"].get<int64_t>();
  const auto flops = kept["flops"]["einsum_per_device"].get<double>();
  for (const auto& [percent, more] : {std::pair(60, 1.09), std::pair(40, 1.15)}) {
    CAPTURE(percent);
    const int64_t limit = most * percent / 100;
    const Json fitted = report_of(kModel, fmt::format("{} --memory-limit {} -q", sizes, limit));
    CHECK(fitted["memory"]["peak_bytes_per_device"].get<int64_t>() <= limit);
    CHECK(fitted["flops"]["einsum_per_device"].get<double>() <= more * flops);
    const Json& made = fitted["recomputation"];
    CHECK(made["peak_before"] == most);
    CHECK(made["tensors"].size() > 20);
    CHECK(made["seconds"].get<double>() > 0);
    CHECK(made["least_seconds"].get<double>() <= made["seconds"].get<double>());
    CHECK(made["least_peak"].get<int64_t>() <= limit);
  }
  CHECK_FALSE(kept.contains("recomputation"));
}

TEST_CASE(
    "within a limit of memory, losses are the same to the bit, and the report of the run says what it took") {
  const std::string small =
      " --set layers=2 --set d_model=32 --set d_ff=48 --set heads=4 --set d_kv=8 --set vocab=50 --set "
      "length=16";
  for (const char* run : {"transformer_lm.json", "transformer_lm.json --set dropout=0.2",
                          "transformer_lm.json --set dropout=0.2 --microbatches 2",
                          "transformer_lm.json --set dropout=0.2 --simulate --mesh a:2,b:2 --layout "
                          "batch:a,heads:b,d_ff:b,vocab:b",
                          "transformer_lm.json --simulate --mesh a:2 --layout batch:a --propagate"}) {
    CAPTURE(run);
    const ScratchFolder folder;
    const auto peak_of = [&](const std::string& options) {
      CHECK(outcome_in_models(fmt::format("$MTFC run {}{} -q --report '{}'", run, options,
                                          folder / "report")) == "exit 0: ");
      const Json report = Json::parse(folder.read("report"));
      return report["predicted"]["memory"]["peak_bytes_per_device"].get<int64_t>();
    };
    const int64_t limit = peak_of(small) * 4 / 5;
    const std::string limited = fmt::format("{} --memory-limit {}", small, limit);
    CHECK(peak_of(limited) <= limit);
    CHECK(losses_of(run + limited) == losses_of(run + small));
  }
}

TEST_CASE("what is computed again is said, and a limit that can't be kept is refused with what is possible") {
  const std::string lm = "$MTFC compile transformer_lm.json --set layers=4 -o /dev/null --memory-limit ";
  const std::string said = outcome_in_models(lm + "88MiB");
  CAPTURE(said);
  CHECK(said.starts_with("exit 0: mtfc: note: to fit into 88 MiB, the backward pass computes "));
  CHECK(said.find(" tensors again: ") != std::string::npos);
  CHECK(said.find("layer_*/") != std::string::npos);
  CHECK(said.find("mtfc: note: recomputation takes ") != std::string::npos);
  CHECK(said.find(" (lower bound: ") != std::string::npos);
  CHECK(outcome_in_models(lm + "88MiB -q") == "exit 0: ");
  const std::string refused = outcome_in_models(lm + "1MiB");
  CAPTURE(refused);
  CHECK(refused.starts_with("exit 2: mtfc: error: the program needs "));
  CHECK(refused.find(" more than the limit of 1 MiB (no choice needs less than ") != std::string::npos);
  CHECK(refused.ends_with("; mtfc search --fit says on how many devices a training step fits)\n"));
}

}  // namespace mtfc::recompute_test
