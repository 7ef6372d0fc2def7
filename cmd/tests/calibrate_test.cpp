// `mtfc calibrate` as people use it: the profile that it writes can be used for reports.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/testing/running_command.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"
#include "formats/hardware/hardware_reader.h"

namespace mtfc::calibrate_test {
namespace {

using Json = nlohmann::json;

// Returns `exit N: ` and the standard error of the shell's `command`; $MTFC is the program.
std::string said(const ScratchFolder& folder, const std::string& command) {
  const int status = std::system(
      fmt::format("cd '{}'; MTFC='{}'; ({}) 2>err </dev/null", folder.path.string(), kTestedProgram, command)
          .c_str());
  return fmt::format("exit {}: {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("err"));
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The rates that plain loops of this process reach, the best of three times. Measured rates are neither much lower, nor
// thousands of times as high.
struct PlainRates {
  double flops = 0, bytes = 0;
};

PlainRates plain_rates() {
  PlainRates best;
  std::vector<float> from(1 << 22, 1), to(from.size());
  for (int round = 0; round < 3; ++round) {
    const auto begin = Clock::now();
    float sum = 0;
    for (const float x : from) sum = sum * 0.5F + x;
    volatile float kept = sum;
    (void)kept;
    best.flops = std::max(best.flops, 2 * static_cast<double>(from.size()) / seconds_since(begin));
    const auto copied = Clock::now();
    std::memcpy(to.data(), from.data(), from.size() * sizeof(float));
    from[0] = to[1];
    best.bytes =
        std::max(best.bytes, static_cast<double>(from.size()) * sizeof(float) / seconds_since(copied));
  }
  return best;
}

void check_between(double found, double least, double most) {
  CHECK(found >= least);
  CHECK(found <= most);
}

// Bytes move about as fast as a core copies them, and much faster in caches. Where other work keeps the cores busy, single
// measurements are far slower, and plain loops too.
void check_bytes(const Curve& bytes_per_s, const PlainRates& plain, double threads) {
  for (const auto& [bytes, rate] : bytes_per_s.points())
    check_between(rate, plain.bytes / 1e6, plain.bytes * 1e4 * threads);
  CHECK(bytes_per_s.most() >= plain.bytes / 1000);
}

// A message takes more than a nanosecond and less than ten seconds, however busy the machine is.
void check_rate(const Rate& rate, const PlainRates& plain) {
  check_between(rate.latency_s + 1 / rate.bytes_per_s.at(1), 1e-9, 10);
  check_bytes(rate.bytes_per_s, plain, 1);
}

// Everything a profile is to have, in its units, with bounds that busy machines keep.
void check_profile(const Hardware& found, int64_t ranks) {
  const double physical =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  CHECK(found.memory_bytes == doctest::Approx(physical / static_cast<double>(ranks)).epsilon(1e-3));
  const PlainRates plain = plain_rates();
  const auto threads = static_cast<double>(std::max<int64_t>(1, found.threads_per_rank));
  for (const char* dtype : {"f32", "f64", "bf16"}) {
    CAPTURE(dtype);
    REQUIRE(found.flops.count(dtype) == 1);
    check_between(found.flops.at(dtype), plain.flops / 100, plain.flops * 4000 * threads);
  }
  check_bytes(found.memory_bandwidth, plain, threads);
  // The last is of more than the caches hold.
  CHECK(found.memory_bandwidth.points().back().second <= plain.bytes * 100 * threads);
  check_between(found.step_overhead_s, 0, 0.1);
  check_between(found.overlap, 0, 1);
  for (const auto& [kernel, shares] : found.efficiency) {
    CAPTURE(kernel);
    for (const auto& [operations, share] : shares.points()) check_between(share, 1e-9, 1);
  }
  for (const std::string kernel : {"einsum", "batched_einsum", "conv", "grouped_conv", "elementwise",
                                   "reduction", "pooling", "spread_pool", "indexing", "movement"})
    CHECK_MESSAGE(found.efficiency.count(kernel) + found.tables.count(kernel) == 1, kernel);
  for (const auto& [kernel, table] : found.tables) {
    CAPTURE(kernel);
    for (const double share : table.shares) check_between(share, 1e-9, 1);
  }
  for (const auto& [axis, link] : found.axes) {
    CAPTURE(axis);
    check_rate(link, plain);
    for (const auto& collective : link.collectives) check_rate(collective.second, plain);
  }
}

}  // namespace

TEST_CASE("calibration writes a profile that cost-report takes, of one rank and of two") {
  const ScratchFolder folder;
  const std::string alone = said(folder, "$MTFC calibrate --quick -o one.json --name box");
  CHECK(alone.starts_with("exit 0: measured in "));
  CHECK(alone.ends_with(
      "mtfc: warning: one rank cannot measure the links between ranks, so use this profile for one device "
      "only (for several, measure on their mesh, as in mtfc calibrate --mesh all:2 -o one.json)\n"));
  // The axis of size 1 has no collectives to measure, and still has a name that layouts may use.
  const std::string both = said(folder, "$MTFC calibrate --quick --mesh rows:2,cols:1 -o two.json");
  CHECK(both.starts_with("exit 0: measured in "));
  CHECK_FALSE(has(both, "links between ranks"));
  const Hardware one = read_hardware(folder.read("one.json"), "one.json");
  const Hardware two = read_hardware(folder.read("two.json"), "two.json");
  CHECK(one.name == "box");
  CHECK(two.name == "calibrated");
  CHECK(one.ranks == 1);
  CHECK(two.ranks == 2);
  CHECK(two.threads_per_rank >= 1);
  check_profile(one, 1);
  check_profile(two, 2);
  CHECK(hardware_json(one) == folder.read("one.json"));
  CHECK(hardware_json(two) == folder.read("two.json"));
  const std::string report =
      fmt::format("$MTFC cost-report '{}/models/mnist.json' --format json -o report ", kSourceFolder);
  for (const char* use :
       {"--hardware one.json", "--hardware two.json --mesh rows:2,cols:1 --layout batch:rows",
        "--hardware two.json --mesh all:4 --layout hidden:all"}) {
    CAPTURE(use);
    CHECK(said(folder, report + use) == "exit 0: ");
    const Json time = Json::parse(folder.read("report"))["layouts"][0]["time"];
    CHECK(time["step_s"].get<double>() > 0);
    CHECK(time["step_s"].get<double>() < 60);
  }
}

TEST_CASE("tables that others have measured change a profile, and only what they say") {
  const ScratchFolder folder;
  std::string table = "# a benchmark of 2026\nbatch,seq,heads,us\n";
  for (const int length : {512, 1024, 2048, 4096, 8192})
    for (const int heads : {8, 16, 32}) {
      // 125 TFLOP/s, which is a share of 0.4
      const double seconds = 4.0 * 128 * heads * length * (length + 1) / 2 / 124.8e12 + 2e-6;
      table += fmt::format("1,{},{},{:.4f}\n", length, heads, 1e6 * seconds);
    }
  folder.write("attention.csv", table);
  CHECK(said(folder, "$MTFC calibrate --import attention.csv --onto a100-80g --name mine -o mine.json")
            .starts_with("exit 0: attention: 15 rows in "));
  const Hardware mine = read_hardware(folder.read("mine.json"), "mine.json");
  CHECK(mine.name == "mine");
  CHECK(mine.tables.at("attention").at(std::vector{3000.0, 12.0, 1.0}) == doctest::Approx(0.4).epsilon(0.01));
  CHECK(mine.memory_bytes == 85e9);
  CHECK(mine.sources.at("efficiency/attention").starts_with("a benchmark of 2026 (15 rows"));
  CHECK(has(said(folder, "$MTFC help hardware mine.json"), "exit 0: "));
  CHECK(said(folder, "$MTFC calibrate --import attention.csv -o x.json") ==
        "exit 2: mtfc: error: tables of rates say neither the memory of a device nor its peak (--onto "
        "PROFILE takes all "
        "that they don't say from a profile)\n");
  folder.write("wrong.csv", "m,n,k,us\n1,2,3\n");
  CHECK(said(folder, "$MTFC calibrate --import wrong.csv --onto local -o x.json") ==
        "exit 2: wrong.csv:2:1: error: the row has 3 fields, but there are 4 columns\n");
}

TEST_CASE("commands warn of a profile that was measured by one rank, or with other threads") {
  const ScratchFolder folder;
  folder.write("one.json", R"({"name": "one", "ranks": 1, "threads_per_rank": 3, "flops": {"f32": 1e11},
    "memory_bytes": 8e9, "memory_bandwidth": 1e10, "axes": {"*": {"latency_s": 1e-6, "bytes_per_s": 1e10}}})");
  const std::string mnist = fmt::format("'{}/models/mnist.json' --hardware one.json ", kSourceFolder);
  const auto warning = [](const std::string& mesh) {
    return fmt::format(
        "mtfc: warning: the profile 'one' was measured with one rank and has no links between ranks, so the "
        "predicted communication is far too short (mtfc calibrate --mesh {} -o FILE.json measures the "
        "links)\n",
        mesh);
  };
  CHECK(said(folder, "$MTFC cost-report " + mnist + ">out") == "exit 0: ");
  CHECK(
      said(folder, "$MTFC cost-report " + mnist +
                       "--mesh all:4 --layout batch:all --layout hidden:all --format json -o report.json") ==
      "exit 0: " + warning("all:4"));
  const Json report = Json::parse(folder.read("report.json"));
  for (const Json& layout : report["layouts"])
    CHECK(has(layout["warnings"].dump(), "was measured with one rank"));
  CHECK(said(folder, "$MTFC search " + mnist + "--devices 2 >out") == "exit 0: " + warning("all:2"));
  CHECK(said(folder, "$MTFC search " + mnist + "--mesh x:2 --annotations >out") ==
        "exit 0: " + warning("x:2"));
  CHECK(said(folder, "$MTFC search " + mnist + "--devices 2 --fit >out") == "exit 0: " + warning("all:2"));
  CHECK(said(folder, "$MTFC diff " + mnist + "--mesh x:2 batch:x hidden:x >out") ==
        "exit 0: " + warning("x:2"));
  const std::string run = "$MTFC run " + mnist + "--steps 1 ";
  const std::string threads =
      "mtfc: warning: the profile 'one' was measured with 3 threads per rank, but each rank of this run has "
      "1, "
      "so predicted times and the MFU are wrong (give --threads 3, or measure with mtfc calibrate{} "
      "--threads "
      "1 -o FILE.json)\n";
  const std::string two = said(folder, run + "--threads 1 --mesh x:2 --layout batch:x");
  CHECK(two.starts_with("exit 0: " + warning("x:2")));
  CHECK(has(two, fmt::format(fmt::runtime(threads), " --mesh x:2")));
  CHECK(has(said(folder, run + "--threads 1"), fmt::format(fmt::runtime(threads), "")));
  CHECK_FALSE(has(said(folder, run + "--threads 3"), "warning"));
}

TEST_CASE("calibration starts its ranks on the hosts that it is given") {
  const ScratchFolder folder;
  REQUIRE(said(folder, "$MTFC calibrate --quick -q --hosts $(hostname):2 -o box.json") == "exit 0: ");
  const Hardware found = read_hardware(folder.read("box.json"), "box.json");
  CHECK(found.axes.count("all") == 1);
  check_profile(found, 2);
}

TEST_CASE("calibration that is interrupted, or can't begin, leaves no file") {
  const ScratchFolder folder;
  for (const char* mesh : {"", "--mesh a:2"}) {
    CAPTURE(mesh);
    RunningCommand run(folder,
                       fmt::format("env MTFC_TERMINAL=2 NO_COLOR=1 $MTFC calibrate {} -o box.json", mesh));
    REQUIRE(eventually([&] { return run.ended() || has(folder.read("err"), "measuring "); }));
    run.interrupt();
    CHECK(run.exit_code() == 130);
    const std::string err = folder.read("err");
    CAPTURE(err);
    CHECK(err.ends_with("mtfc: interrupted by SIGINT\n"));
  }
  CHECK(said(folder, "$MTFC calibrate -q -o nowhere/box.json")
            .starts_with("exit 1: mtfc: error: cannot write "));
  CHECK(said(folder, "mpiexec.mpich -n 2 $MTFC calibrate --mesh a:3 -o box.json") ==
        "exit 2: mtfc: error: the mesh a:3 has 3 devices, but there are 2 ranks (start it with mpiexec -n "
        "3)\n");
  CHECK(said(folder, "mpiexec.mpich -n 2 $MTFC calibrate --hosts a,b -o box.json") ==
        "exit 2: mtfc: error: --hosts is for ranks that mtfc starts, but a PMI launcher has started this one "
        "(start "
        "mtfc without a launcher)\n");
  CHECK(said(folder, "$MTFC calibrate --hosts a:1,b:1 --mesh a:3 -o box.json") ==
        "exit 2: mtfc: error: the mesh has 3 devices, but --hosts has room for 2 ranks (name more hosts, or "
        "give them more ranks, as in a:4,b:4)\n");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 2);  // out, err
}

}  // namespace mtfc::calibrate_test
