#include "formats/report/report_writer.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "core/testing/steps_by_hand.h"
#include "formats/text/quantity.h"

namespace mtfc::report_writer_test {

namespace {

CostReport example(int64_t devices) {
  CostReport report;
  report.model = "two_layer";
  report.entry = "train";
  report.layout.mesh = Mesh({{"rows", devices}, {"cols", 2}});
  report.layout.rules = {{"batch", {0}, {}}, {"hidden", {1, 0}, {}}};
  report.parameters.count = 813056;
  report.parameters.bytes = 3252224;
  report.arithmetic.einsum_per_device = 327270400;
  report.communication.total = {3, 1000, 8000};
  report.communication.by_kind["all_reduce"] = {3, 1000, 8000};
  report.communication.by_axis["rows+cols"] = {3, 1000, 8000};
  report.memory.peak = 5 << 20;
  report.tensors = {
      {"h", {{"batch", 5}, {"hidden", 8}}, {{{0}, {}}, {{1, ReduceKind::kSum}}}, {3, 8}, {2, 8}}};
  report.steps = {{"h", "einsum", "/ops/0", Phase::kBackward, {0, 1}, {10, 20, 30, 40}}};
  return report;
}

}  // namespace

TEST_CASE("a report says what nodes send to each other where it knows the nodes") {
  ComparedLayout layout{"two_layer", example(2).layout, example(2), {}, {}};
  CHECK(report_table({layout}, {}).find("sent to others") == std::string::npos);
  layout.report->communication.between_nodes = NodeTotals{{2048, 1024}};
  const auto json = nlohmann::ordered_json::parse(report_json({*layout.report}))["layouts"][0];
  CHECK(json["communication"]["between_nodes"].dump() ==
        R"({"nodes":2,"bytes_sent_per_node":2048,"bytes_sent":3072,"by_node":[2048,1024]})");
  const auto rows = [](const std::string& table) {  // without repeated spaces
    std::string text;
    for (const char c : table)
      if (c != ' ' || text.empty() || text.back() != ' ') text += c;
    return text;
  };
  CHECK(rows(report_table({layout}, {}))
            .find("nodes 2\n sent to others, per node 2.00 KiB\n by all nodes 3.00 KiB\n") !=
        std::string::npos);
  CHECK(report_csv({layout}, {}).find("bytes_sent_per_node") != std::string::npos);
}

TEST_CASE("a report as JSON has the documented keys") {
  const auto json = nlohmann::ordered_json::parse(report_json({example(2)}))["layouts"][0];
  std::string keys;
  for (const auto& item : json.items()) keys += item.key() + " ";
  CHECK(keys ==
        "model entry mesh devices layout parameters flops communication memory tensors steps warnings ");
  CHECK(json["mesh"].dump() == R"([["rows",2],["cols",2]])");
  CHECK(json["devices"] == 4);
  CHECK(json["layout"].dump() == R"({"batch":["rows"],"hidden":["cols","rows"]})");
  CHECK(json["parameters"]["count"] == 813056);
  CHECK(json["flops"]["duplication"] == 1.0);
  CHECK(json["communication"]["by_kind"].dump() ==
        R"({"all_reduce":{"count":3,"elements":1000,"bytes_sent":8000}})");
  CHECK(json["communication"]["by_axis"]["rows+cols"]["count"] == 3);
  CHECK_FALSE(json["communication"].contains("between_nodes"));
  CHECK(json["communication"]["elements_per_device"] == 1000);
  CHECK(json["memory"]["peak_bytes_per_device"] == 5 << 20);
  CHECK(json["tensors"][0].dump() ==
        R"({"name":"h","dims":{"batch":5,"hidden":8},"sharding":{"batch":["rows"]},"local_shape":[3,8],)"
        R"("local_shape_min":[2,8],"partial":{"cols":"sum"}})");
  CHECK(json["steps"][0].dump() ==
        R"({"name":"h","kind":"einsum","source":"/ops/0","phase":"backward","axes":["rows","cols"],)"
        R"("elements":30,"bytes_sent":40,"flops":10})");
  CHECK(nlohmann::json::parse(report_json({example(2), example(4)}))["layouts"].size() == 2);
}

TEST_CASE("quantities") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1.00 KiB");
  CHECK(bytes_text(1024 * 1024 - 1) == "1.00 MiB");
  CHECK(count_text(999, "FLOP") == "999 FLOP");
  CHECK(count_text(12345, "") == "12.3 k");
  CHECK(count_text(999999, "FLOP") == "1.00 MFLOP");
  CHECK(grouped(813056) == "813,056");
  CHECK(grouped(-1000) == "-1,000");
  CHECK(grouped(100) == "100");
}

TEST_CASE("bytes as people write them") {
  CHECK(parse_bytes("4096") == 4096);
  CHECK(parse_bytes("10GB") == 10'000'000'000);
  CHECK(parse_bytes("512MiB") == 512 << 20);
  CHECK(parse_bytes("1.5 kib") == 1536);
  for (const char* text : {"", "0", "-1GB", "10G", "GB", "1e3", "1 GB GB", "100000000EB", "nan", "inf"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_bytes(text).has_value());
  }
}

TEST_CASE("a run's report has the time of each kind of step, collectives with their start and wait apart") {
  EntryPoint entry;
  Step slice, start = start_step({}, 0, 0);
  slice.action = KeepSlice{};
  slice.name = "part";
  start.name = "sum";
  start.source = "/ops/0";
  entry.steps = {slice, start, slice, wait_step(start, 1)};
  RunFacts facts;
  facts.threads_per_rank = 3;
  facts.runs = 7;
  facts.seconds_per_step = 0.25;
  facts.mean_seconds = {1, 2, 4, 8};
  facts.max_seconds = {2, 2, 4, 16};
  const auto run =
      nlohmann::ordered_json::parse(run_report_json(entry, example(2), example(2), facts))["run"];
  CHECK(run["threads_per_rank"] == 3);
  CHECK(run["time"]["runs"] == 7);
  CHECK(run["time"]["steps_per_second"] == 4.0);
  CHECK(
      run["time"]["by_kind"].dump() ==
      R"({"all_reduce":{"steps":1,"seconds":10.0,"seconds_max":18.0,"start_seconds":2.0,"wait_seconds":8.0},)"
      R"("slice":{"steps":2,"seconds":5.0,"seconds_max":6.0}})");
  REQUIRE(run["time"]["steps"].size() == 3);
  CHECK(run["time"]["steps"][1].dump() ==
        R"({"name":"sum","kind":"all_reduce","source":"/ops/0","phase":"forward","seconds":10.0,)"
        R"("seconds_max":18.0,"start_seconds":2.0,"wait_seconds":8.0})");
}

}  // namespace mtfc::report_writer_test
