// The lines at the beginning of a run, the figures of each step, and TensorBoard's event files.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "cmd/testing/training_folder.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::run_log_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kModels = std::string(kSourceFolder) + "/models/";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<Json> log_of(const ScratchFolder& folder, const std::string& name) {
  std::vector<Json> lines;
  for (const std::string& line : lines_of(folder.read(name))) lines.push_back(Json::parse(line));
  return lines;
}

// What scripts/read_events.py, which shares no code with mtfc, finds in the event files of a folder.
std::vector<std::string> events_of(const ScratchFolder& folder, const std::string& name) {
  REQUIRE(std::system(fmt::format("cd '{}'; python3 '{}/scripts/read_events.py' '{}' >events",
                                  folder.path.string(), kSourceFolder, name)
                          .c_str()) == 0);
  return lines_of(folder.read("events"));
}

// The flops of mnist's products in a training step, by hand: each matrix is used forward and for its gradient, and the
// second one for the gradient of what it multiplies as well.
double mnist_flops(double batch, double hidden) {
  return 2 * batch * 784 * hidden * 2 + 2 * batch * hidden * 10 * 3;
}

double local_peak() {
  std::ifstream file(kModels + "hardware/local.json");
  return Json::parse(file)["flops"]["f32"].get<double>();
}

}  // namespace

TEST_CASE("tokens per second and MFU follow from the time of a step") {
  const TrainingFolder folder;
  std::string box = contents(kModels + "hardware/local.json");
  Json profile = Json::parse(box);
  profile["flops"]["f32"] = 4 * local_peak();
  folder.write("box.json", profile.dump());
  struct Case {
    std::string options;
    double devices, peak;
  };
  for (const Case& c :
       {Case{"--hardware local", 1, local_peak()},
        Case{"--hardware local --mesh a:2 --layout batch:a", 2, local_peak()},
        Case{"--hardware local --mesh a:2,b:2 --layout batch:a,hidden:b --simulate", 4, local_peak()},
        Case{"--hardware box.json", 1, 4 * local_peak()}}) {
    CAPTURE(c.options);
    CHECK(folder.said(
              fmt::format("$MTFC run {}mnist.json --set batch=40 --set hidden=64 --set lr=0.125 -q --steps 5 "
                          "--metrics log {}",
                          kModels, c.options)) == "exit 0: ");
    double before = 0;
    const std::vector<Json> log = log_of(folder, "log");
    REQUIRE(log.size() == 5);
    for (const Json& line : log) {
      const double seconds = line["step_time"];
      CHECK(line["samples_per_second"].get<double>() == doctest::Approx(40 / seconds));
      CHECK(line["tokens_per_second"].get<double>() == doctest::Approx(40 / seconds));  // labels
      CHECK(line["mfu"].get<double>() ==
            doctest::Approx(mnist_flops(40, 64) / (seconds * c.devices * c.peak)));
      CHECK(line["learning_rate"] == 0.125);
      CHECK(line["wall_time"].get<double>() > before + 0.9 * seconds);
      before = line["wall_time"];
    }
  }
}

TEST_CASE("without a profile, the MFU is of a peak rate that the run measures") {
  const TrainingFolder folder;
  for (const char* options : {"", "--dtype f64", "--dtype bf16", "--mesh a:2 --layout batch:a",
                              "--mesh a:2 --layout batch:a --simulate"}) {
    CAPTURE(options);
    CHECK(folder.said(fmt::format("$MTFC run {}mnist.json --set batch=4 --set hidden=8 -q --steps 2 "
                                  "--metrics log {}",
                                  kModels, options)) == "exit 0: ");
    // The peak is the same for both steps, and no machine that mtfc runs on is slower than 0.1 or faster than 1e5
    // GFLOP/s.
    std::vector<double> peaks;
    const std::vector<Json> log = log_of(folder, "log");
    REQUIRE(log.size() == 2);
    if (!log[0].contains("mfu") || !log[1].contains("mfu")) {
      MESSAGE("other work keeps the cores so busy that the peak is unknown: nothing is compared");
      continue;
    }
    for (const Json& line : log)
      peaks.push_back(mnist_flops(4, 8) / (line["mfu"].get<double>() * line["step_time"].get<double>()));
    REQUIRE(peaks.size() == 2);
    CHECK(peaks[0] == doctest::Approx(peaks[1]));
    CHECK(peaks[0] > 1e8);
    CHECK(peaks[0] < 1e14);
  }
}

TEST_CASE("tokens are the places of sequences") {
  const ScratchFolder folder;
  const std::string command = fmt::format(
      "cd '{}'; '{}' run {}transformer_lm.json --set layers=1 --set d_model=16 --set d_ff=32 --set heads=2 "
      "--set length=10 "
      "--set batch=3 --set vocab=50 --steps 2 --metrics log >out 2>err </dev/null",
      folder.path.string(), kTestedProgram, kModels);
  REQUIRE(std::system(command.c_str()) == 0);
  for (const Json& line : log_of(folder, "log")) {
    CHECK(line["samples_per_second"].get<double>() == doctest::Approx(3 / line["step_time"].get<double>()));
    CHECK(line["tokens_per_second"].get<double>() == doctest::Approx(30 / line["step_time"].get<double>()));
  }
  // The progress and the summary show both rates.
  std::string err = folder.read("err");
  CHECK(err.find(" samples/s  ") != std::string::npos);
  CHECK(err.find(" tokens/s  MFU ") != std::string::npos);
  CHECK(err.find("\n2 steps in ") != std::string::npos);
  CHECK(err.find(" tokens/s, MFU ") != std::string::npos);
  // Neither counts the first step, so the last line of the progress has the rate of the summary.
  const auto rate_before = [&](const std::string& unit) {
    const size_t end = err.find(unit), begin = err.rfind(' ', end - 1) + 1;
    std::string rate = err.substr(begin, end - begin);
    std::erase(rate, ',');
    return std::stod(rate);
  };
  REQUIRE(err.find("step 2/2 ") != std::string::npos);
  err.erase(0, err.find("step 2/2 "));
  CHECK(rate_before(" samples/s  ") == doctest::Approx(rate_before(" samples/s, ")).epsilon(0.01));
}

TEST_CASE("the learning rate is that of the schedule, also after a restart and in a saved program") {
  const TrainingFolder folder;
  // Cosine with peak 0.05 in step 3 and 0 in step 20.
  const auto rate = [](int step) {
    return step < 3 ? 0.05 * step / 3
                    : 0.05 * (0.5 + 0.5 * std::cos(std::acos(-1.0) * std::min(step - 3, 17) / 17));
  };
  const auto check = [&](const std::string& name, int first_step_of_rate) {
    CAPTURE(name);
    const std::vector<Json> log = log_of(folder, name);
    REQUIRE_FALSE(log.empty());
    for (size_t i = 0; i < log.size(); ++i)
      CHECK(log[i]["learning_rate"].get<double>() ==
            doctest::Approx(rate(first_step_of_rate + static_cast<int>(i))).epsilon(1e-12));
  };
  CHECK(folder.said("$RUN --steps 5 --checkpoint ck --metrics log") == "exit 0: ");
  check("log", 1);
  CHECK(folder.said("$RUN --steps 22 --checkpoint ck --resume --metrics log --mesh a:2 --layout hidden:a") ==
        "exit 0: ");
  CHECK(log_of(folder, "log").size() == 22);
  check("log", 1);
  // The state of the optimizer is loaded, and its schedule goes on, although the run begins at step 1.
  CHECK(folder.said("$RUN --steps 3 --load ck/step_00000022 --metrics loaded") == "exit 0: ");
  for (const Json& line : log_of(folder, "loaded")) CHECK(line["learning_rate"] == 0);
  CHECK(folder.said("$MTFC compile model.json --mesh a:2 --layout hidden:a -q -o p.json") == "exit 0: ");
  CHECK(folder.said("$MTFC run p.json -q --input x=x.npy --steps 4 --metrics saved") == "exit 0: ");
  check("saved", 1);
  // An evaluation has none.
  CHECK(folder.said("$RUN --evaluate --load ck --metrics eval >out") == "exit 0: ");
  CHECK_FALSE(log_of(folder, "eval").front().contains("learning_rate"));
  CHECK(log_of(folder, "eval").front().contains("wall_time"));
}

TEST_CASE("a run says at its beginning what it is, and where it runs") {
  const TrainingFolder folder;
  const auto header = [&](const std::string& options) {
    const std::string said =
        folder.said("$MTFC run model.json --input x=x.npy --threads 2 " + options + " >out");
    const std::vector<std::string> lines = lines_of(said);
    REQUIRE(lines.size() >= 3);
    CHECK(said.find("\ndata: x from x.npy\n") != std::string::npos);
    return lines[0] + "\n" + lines[1] + "\n";
  };
  const auto memory = [&](const std::string& options) {
    CHECK(folder.said("$MTFC cost-report model.json -q -o r.json " + options) == "exit 0: ");
    return Json::parse(folder.read("r.json"))["layouts"][0]["memory"]["peak_bytes_per_device"].get<int64_t>();
  };
  // w has 5 * 7 elements, h/v 7 * 2, and bias 1. Memory is of less than a page, so that bytes_text() shows it whole or
  // in KiB.
  CHECK(header("--steps 3")
            .starts_with("exit 0: tiny: train, 3 steps, 50 parameters in f32\none device: 2 threads, "));
  const std::string mesh = "--mesh a:2,b:2 --layout batch:a,hidden:b";
  const int64_t bytes = memory(mesh);
  const std::string size =
      bytes < 1024 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} KiB", bytes / 1024.0);
  CHECK(header("--steps 1 " + mesh) ==
        "exit 0: tiny: train, 1 step, 50 parameters in f32\nmesh a:2,b:2, layout "
        "batch:a,hidden:b: 4 ranks on 1 host, 2 threads each, " +
            size + " per rank\n");
  // Beside a limit in powers of 1000.
  const std::string decimal =
      bytes < 1000 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} kB", bytes / 1000.0);
  CHECK(header("--steps 1 --memory-limit 40MB " + mesh).ends_with(", " + decimal + " per rank\n"));
  CHECK(header("--steps 1 --simulate " + mesh) ==
        "exit 0: tiny: train, 1 step, 50 parameters in f32\nmesh a:2,b:2, layout batch:a,hidden:b: 4 devices "
        "in one process, "
        "2 threads, " +
            size + " per device\n");
  CHECK(header("--steps 2 --dtype bf16 --mesh a:2 --layout batch:a")
            .find("train, 2 steps, 50 parameters in f32, products in bf16\nmesh "
                  "a:2, layout batch:a: 2 ranks") != std::string::npos);
  CHECK(folder.said("$RUN --steps 4 --checkpoint ck") == "exit 0: ");
  CHECK(header("--steps 9 --checkpoint ck --resume")
            .starts_with("exit 0: continuing from 'ck/step_00000004'\ntiny: train, steps 5 to 9, "));
  CHECK(header("--evaluate --load ck").starts_with("exit 0: tiny: evaluate, 50 parameters in f32\n"));
}

TEST_CASE("a run says where its data comes from, and warns if some of it is random beside other data") {
  const TrainingFolder folder;
  const std::string run =
      fmt::format("$MTFC run {}mnist.json --set batch=10 --set hidden=8 --steps 1 ", kModels);
  const std::string digits = std::string(kSourceFolder) + "/testdata/digits/";
  const auto given = [&](const std::string& input, const std::string& file) {
    return fmt::format("--input {}=idx:'{}{}-idx{}-ubyte.gz' ", input, digits, file,
                       input == "images" ? 3 : 1);
  };
  const auto data = [&](const std::string& options) {
    std::string found;
    for (const std::string& line : lines_of(folder.said(run + options + ">out")))
      if (line.starts_with("data") || line.find("warning") != std::string::npos) found += line + "\n";
    return found;
  };
  CHECK(data("") ==
        "data of the model: images from random:uniform,scale=0.3; labels from "
        "random:int,lo=0,hi=classes\n");
  CHECK(data(given("images", "images")) ==
        "data: images from idx:" + digits +
            "images-idx3-ubyte.gz; labels from random:int,lo=0,hi=classes (the model's own)\n"
            "mtfc: warning: 'labels' is random, as the model says, although other inputs have data (give "
            "--input "
            "labels=..., which may be random:... if that is meant)\n");
  CHECK(data(given("images", "images") + "--input labels=random:int,hi=3 ") ==
        "data: images from idx:" + digits + "images-idx3-ubyte.gz; labels from random:int,hi=3\n");
  CHECK(data(given("images", "images") + given("labels", "labels") + "-q ") == "");
}

TEST_CASE("a run warns of devices that have nothing to do, and of no others") {
  const TrainingFolder folder;
  const auto warnings = [&](const std::string& options) {
    std::string found;
    for (const std::string& line :
         lines_of(folder.said("$MTFC run model.json --simulate --input x=x.npy " + options + " >out")))
      if (line.find("warning") != std::string::npos) found += line + "\n";
    return found;
  };
  CHECK(warnings("--mesh a:2 --layout hidden:a") == "");  // 7 is split unevenly
  CHECK(warnings("--mesh a:2")
            .find("warning: the axis 'a' of the mesh splits nothing: the 2 devices along it "
                  "do the same work") != std::string::npos);
  CHECK(warnings("--mesh a:3 --layout heads:a").find("1 of them is idle where it is split") !=
        std::string::npos);
}

TEST_CASE("the metrics of an earlier run are kept, and those of a run that goes on are continued") {
  const TrainingFolder folder;
  CHECK(folder.said("$RUN --steps 3 --metrics log") == "exit 0: ");
  const std::string first = folder.read("log");
  CHECK(lines_of(first).size() == 3);
  CHECK(folder.said("$MTFC run model.json --input x=x.npy --steps 2 --metrics log --checkpoint ck >out")
            .find("\nthe metrics of an earlier run are kept as 'log.1'\n") != std::string::npos);
  CHECK(folder.read("log.1") == first);
  const std::string second = folder.read("log");
  CHECK(lines_of(second).size() == 2);
  CHECK(folder.said("$RUN --steps 4 --metrics log --checkpoint ck --resume") == "exit 0: ");
  CHECK(lines_of(folder.read("log")).size() == 4);
  CHECK(folder.read("log").starts_with(second));
  CHECK(folder.said("$RUN --steps 1 --metrics log") == "exit 0: ");
  CHECK(lines_of(folder.read("log.2")).size() == 4);
  CHECK(folder.read("log.1") == first);
  folder.write("empty", "");
  CHECK(folder.said("$RUN --steps 1 --metrics empty") == "exit 0: ");
  CHECK_FALSE(fs::exists(folder.path / "empty.1"));
}

TEST_CASE("event files have the numbers of the metrics, and evaluations") {
  const TrainingFolder folder;
  for (const char* mesh : {"", "--mesh a:2 --layout hidden:a"}) {
    CAPTURE(mesh);
    const std::string run =
        fmt::format("$RUN {} --valid x=x.npy --valid-every 3 --metrics log --tensorboard tb/run ", mesh);
    CHECK(folder.said(run + "--steps 5 --checkpoint ck") == "exit 0: ");
    CHECK(folder.said(run + "--steps 7 --checkpoint ck --resume") == "exit 0: ");
    std::vector<std::string> expected = {"version brain.Event:2", "start 0"};
    std::vector<std::string> found;
    for (const std::string& event : events_of(folder, "tb/run")) {
      std::istringstream words(event);
      std::string step, tag;
      double value = 0;
      words >> step >> tag >> value;
      if (step == "version" || step == "start") {
        found.push_back(event);
        continue;
      }
      found.push_back(step + " " + tag);
      const bool is_held_out = tag.starts_with("eval/");
      const Json line = log_of(folder, "log").at(std::stoul(step) - 1);
      CHECK(value ==
            doctest::Approx(line[is_held_out ? "valid/" + tag.substr(5) : tag].get<double>()).epsilon(1e-6));
    }
    for (int step = 1; step <= 7; ++step) {
      if (step == 6) expected.insert(expected.end(), {"version brain.Event:2", "start 6"});
      for (const char* tag : {"loss", "step_time", "samples_per_second", "learning_rate", "tokens_per_second",
                              "mfu", "wall_time"})
        expected.push_back(fmt::format("{} {}", step, tag));
      if (step == 3 || step >= 5) expected.push_back(fmt::format("{} eval/loss", step));
    }
    CHECK(found == expected);
    int files = 0;
    for (const auto& entry : fs::directory_iterator(folder.path / "tb/run")) {
      CHECK(entry.path().filename().string().starts_with("events.out.tfevents.1"));
      ++files;
    }
    CHECK(files == 2);
    fs::remove_all(folder.path / "tb");
    fs::remove_all(folder.path / "ck");
  }
  CHECK(folder.said("$RUN --evaluate --tensorboard tb >out 2>err") == "exit 0: ");
  const std::vector<std::string> events = events_of(folder, "tb");
  REQUIRE(events.size() == 3);
  CHECK(events[2].starts_with("0 eval/loss "));
}

TEST_CASE("a folder for TensorBoard that can't be written is refused before the first step") {
  const TrainingFolder folder;
  CHECK(folder.said("$RUN --steps 1000000000 --tensorboard model.json") ==
        "exit 1: mtfc: error: cannot write 'model.json': Not a directory\n");
  CHECK(folder.said("$RUN --steps 1000000000 --tensorboard model.json/tb/run") ==
        "exit 1: mtfc: error: cannot write 'model.json/tb/run': Not a directory\n");
  CHECK(folder.said("$RUN --tensorboard -") ==
        "exit 2: mtfc: error: --tensorboard writes files into a folder, not to standard output (name a "
        "folder, as in "
        "--tensorboard logs/run1)\n");
  // The log is one of the files that a full disk makes the run end for.
  const std::string full = "cannot write '/dev/full': No space left on device\n";
  CHECK(folder.said("$RUN --steps 1000000000 --metrics /dev/full") == "exit 1: mtfc: error: " + full);
  CHECK(folder.said("$RUN --steps 1000000000 --mesh a:2 --layout hidden:a --metrics /dev/full") ==
        "exit 1: mtfc: error: rank 0: " + full);
}

// Two threads on one core wait for each other for half of the time.
TEST_CASE("a run says that its threads wait for cores, and not for one thread or without lines of progress") {
  const std::string run =
      "taskset -c 0 $MTFC run transformer_lm.json --set layers=1 --set length=64 --set batch=4 --steps 30 ";
  const std::string text = outcome_in_models("unset MTFC_PROGRESS; " + run + "--threads 2");
  CHECK(text.starts_with("exit 0: "));
  CHECK_MESSAGE(text.find("other work keeps the cores busy: 2 threads have waited for a core for ") !=
                    std::string::npos,
                text);
  CHECK(outcome_in_models("unset MTFC_PROGRESS; " + run + "--threads 1").find("busy") == std::string::npos);
  CHECK(outcome_in_models(run + "--threads 2").find("busy") == std::string::npos);
}

}  // namespace mtfc::run_log_test
