#include "formats/report/trace_writer.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/testing/steps_by_hand.h"

namespace mtfc::trace_writer_test {
namespace {

using Json = nlohmann::json;

// A program that starts a collective, does another step, and waits.
Program example() {
  Program program;
  program.layout.mesh = Mesh({{"rows", 2}});
  EntryPoint entry;
  entry.name = "train";
  Step start = start_step({}, 0, 0);
  start.name = "h\"1";
  start.source = "/ops/0";
  Step slice;
  slice.action = KeepSlice{};
  slice.name = "part";
  slice.phase = Phase::kUpdate;
  entry.steps = {start, slice, wait_step(start, 0)};
  program.entry_points = {entry};
  return program;
}

Json events_of(const std::vector<DeviceTimeline>& devices, size_t* pieces = nullptr) {
  std::string text;
  write_trace(example(), devices, [&](std::string_view piece) {
    text += piece;
    if (pieces) ++*pieces;
  });
  return Json::parse(text)["traceEvents"];
}

TEST_CASE("a trace has a process per rank, an event per step, and collectives from start to wait") {
  DeviceTimeline device;
  device.runs = {{0, 11, {5000, 9000}, {{5100, 5200}, {5300, 6301}, {7000, 8000}}}};
  device.work = {{{0, 64}, {0, 8}, {}}};
  const Json events = events_of({device, device});
  REQUIRE(events.size() == 2 * (3 + 1 + 3 + 2));
  const size_t second = events.size() / 2;
  CHECK(events[second]["pid"] == 1);
  CHECK(events[second]["args"]["name"] == "rank 1 (rows=1)");
  CHECK(events[3].dump() ==
        R"({"cat":"run","dur":4.0,"name":"train step 12","ph":"X","pid":0,"tid":0,"ts":0.0})");
  CHECK(events[4]["name"] == "start all_reduce h\"1");
  CHECK(events[4]["args"].dump() == R"({"bytes":64,"flops":0,"phase":"forward","source":"/ops/0"})");
  CHECK(events[5]["name"] == "slice part");
  CHECK(events[5]["ts"] == 0.3);
  CHECK(events[5]["dur"] == 1.001);
  CHECK(events[5]["args"]["phase"] == "update");
  CHECK(events[6]["name"] == "wait all_reduce h\"1");
  CHECK(events[7]["ph"] == "b");
  CHECK(events[7]["ts"] == 0.1);
  CHECK(events[7]["name"] == "all_reduce h\"1");
  CHECK(events[7]["args"]["bytes"] == 64);
  CHECK(events[8]["ph"] == "e");
  CHECK(events[8]["ts"] == 3.0);
  CHECK(events[8]["id"] == events[7]["id"]);
  CHECK(events[second + 7]["id"] != events[7]["id"]);
}

TEST_CASE("a step that had no round in a run is left out") {
  DeviceTimeline device;
  device.runs = {{0, 0, {5000, 9000}, {{5100, 5200}, {0, 0}, {7000, 8000}}},
                 {0, 1, {10000, 19000}, {{10100, 10200}, {6300, 6301}, {17000, 18000}}}};
  device.work = {{{0, 64}, {0, 8}, {}}};
  const Json events = events_of({device});
  CHECK(events.size() == 3 + 2 * (1 + 2 + 2));
  for (const Json& event : events) CHECK(event["name"] != "slice part");
}

TEST_CASE("a trace without runs is still one, and a long one comes in pieces") {
  CHECK(events_of({{}, {}}).size() == 6);
  DeviceTimeline device;
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t t = 100 * i;
    device.runs.push_back({0, i, {t, t + 50}, {{t + 1, t + 2}, {t + 2, t + 3}, {t + 3, t + 4}}});
  }
  device.work = {{{}, {}, {}}};
  size_t pieces = 0;
  CHECK(events_of({device, {}}, &pieces).size() == 6 + 6 * 1000);
  CHECK(pieces > 5);
}

}  // namespace
}  // namespace mtfc::trace_writer_test
