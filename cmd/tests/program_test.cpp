// The program as people use it: commands, their output, files they leave, exit codes, ranks.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cmd/testing/running_command.h"
#include "core/compile/pipeline.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::program_test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

const std::string kMnist = std::string(kSourceFolder) + "/models/mnist.json";

struct Outcome {
  int code = -1;
  std::string out, err;
};

// Runs `command` in a shell in which $MTFC is the program.
Outcome shell(const std::string& command) {
  const ScratchFolder folder;
  const std::string line = fmt::format("MTFC='{}'; ({}) >'{}' 2>'{}' </dev/null", kTestedProgram, command,
                                       folder / "out", folder / "err");
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder / "out"), contents(folder / "err")};
}

Outcome mtfc(const std::string& arguments) {
  return shell("$MTFC " + arguments);
}

std::vector<Json> lines_of(const std::string& path) {
  std::vector<Json> lines;
  std::istringstream text(contents(path));
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

TEST_CASE("help has examples, and slips of the finger are answered with what was meant") {
  CHECK(mtfc("--help").code == 0);
  CHECK(has(mtfc("--version").out, "mtfc 0."));
  for (const char* command : {"check", "compile", "cost-report", "run"}) {
    const Outcome help = mtfc(std::string(command) + " --help");
    CHECK(help.code == 0);
    CHECK(has(help.out, "Examples:\n"));
  }
  CHECK(mtfc("").code == 2);
  const Outcome command = mtfc("cost-reprot x");
  CHECK(command.code == 2);
  CHECK(has(command.err, "(did you mean 'cost-report'?)"));
  const Outcome option = mtfc("run " + kMnist + " --stesp 3");
  CHECK(option.code == 2);
  CHECK(has(option.err, "(did you mean '--steps'?)"));
  CHECK(mtfc("run " + kMnist + " --steps -3").code == 2);
}

TEST_CASE("check finds mistakes in models and layouts, and says in one line if there are none") {
  const std::string layout = " --mesh rows:2,cols:2 --layout batch:rows,hidden:cols";
  const Outcome good = mtfc("check " + kMnist + layout);
  CHECK(good.code == 0);
  CHECK(good.out == kMnist + ": no errors, no warnings\n");
  CHECK(good.err.empty());
  CHECK(mtfc("check -q " + kMnist + layout).out.empty());
  const Outcome unknown = mtfc("check " + kMnist + " --mesh a:2 --layout btach:a");
  CHECK(unknown.code == 2);
  CHECK(unknown.err == "--layout:1:1: error: the model has no dimension 'btach' (did you mean 'batch'?)\n");
  const Outcome twice = mtfc("check " + kMnist + " --mesh a:2 --layout batch:a,hidden:a");
  CHECK(twice.code == 2);
  CHECK(has(
      twice.err,
      "error: /ops/0/in: the rules batch:a and hidden:a split tensor 'h.0', made by einsum, and 1 more "
      "tensor, twice over the same axis 'a' (give 'batch' or 'hidden' another axis, leave one of them whole, "
      "or choose one for each result with --propagate)"));
  const Outcome uneven = mtfc("check " + kMnist + " --mesh a:3 --layout batch:a --no-uneven");
  CHECK(uneven.code == 2);
  CHECK(has(uneven.err, "dimension 'batch' of size 100 does not divide evenly over a of size 3"));
  const Outcome missing = mtfc("check " + kMnist + "x");
  CHECK(missing.code == 2);
  CHECK(has(missing.err, "No such file or directory (did you mean '" + kMnist + "'?)"));
}

TEST_CASE("check warns of devices that a layout does not use, for people and as JSON, and can refuse them") {
  const std::string gpt2 = std::string(kSourceFolder) + "/models/gpt2.json";
  const std::string idle = "check " + gpt2 + " --set batch=1 --mesh dp:4 --layout batch:dp";
  const Outcome told = mtfc(idle);
  CHECK(told.code == 0);
  CHECK(has(told.err, "mtfc: warning: 'batch' has 1 element for the 4 devices along dp: 3 of them are idle"));
  CHECK(has(told.out, "gpt2.json: no errors, 1 warning\n"));
  const Outcome denied = mtfc(idle + " --deny warnings -q");
  CHECK(denied.code == 2);
  CHECK(has(denied.err, "mtfc: error: 'batch' has 1 element"));
  const Outcome json = mtfc(idle + " --format json");
  CHECK(json.code == 0);
  const Json found = Json::parse(json.out);
  CHECK(found["mtfc_check"] == 1);
  CHECK(found["warnings"] == 1);
  CHECK(found["diagnostics"][0]["severity"] == "warning");
  const Outcome unused = mtfc("check " + kMnist + " --mesh rows:2,cols:2 --layout batch:rows");
  CHECK(
      has(unused.err, "the axis 'cols' of the mesh splits nothing: the 2 devices along it do the same work"));
  const Outcome uneven = mtfc("check " + kMnist + " --mesh all:3 --layout batch:all --set batch=4");
  CHECK(has(uneven.err,
            "'batch' of 4 is split unevenly over the 3 devices along all: the largest part has 2, "
            "50 % above the mean; products take the busiest device "));
  const std::string cut = "check " + std::string(kSourceFolder) +
                          "/models/transformer_lm.json --mesh dp:4 --layout batch:dp --set batch=16 ";
  CHECK(has(mtfc(cut + "--microbatches 8").err,
            "a microbatch's part of 'batch' has 2 elements for the 4 devices along dp: 2 of them are idle"));
  CHECK(has(mtfc(cut + "--microbatches 8").err, "(use fewer microbatches, make 'batch' at least 32, "));
  CHECK(!has(mtfc(cut + "--microbatches 4").err, "idle"));
  const Outcome copies =
      mtfc("check " + gpt2 + " --mesh dp:4 --layout batch:dp --set batch=4 --optimizer adam");
  CHECK(
      has(copies.err, "mtfc: note: each of the 4 devices along dp holds a copy of the same optimizer state"));
  const Outcome wrong = mtfc("check " + kMnist + " --mesh a:2 --layout btach:a --format json");
  CHECK(wrong.code == 2);
  CHECK(wrong.err.empty());
  const Json mistake = Json::parse(wrong.out);
  CHECK(mistake["errors"] == 1);
  CHECK(mistake["diagnostics"][0]["hint"] == "did you mean 'batch'?");
}

TEST_CASE("compile gives the same bytes every time, as text, as JSON, and after any pass") {
  const std::string layout = " --mesh rows:2,cols:2 --layout batch:rows,hidden:cols";
  for (const std::string& emit : {std::string("--emit text"), std::string("--emit json")}) {
    const Outcome first = mtfc("compile " + kMnist + layout + " " + emit);
    CHECK(first.code == 0);
    CHECK(!first.out.empty());
    CHECK(first.out == mtfc("compile " + kMnist + layout + " " + emit).out);
  }
  CHECK(Json::parse(mtfc("compile " + kMnist + layout + " --emit json").out).is_object());
  CHECK(has(mtfc("compile " + kMnist + layout).out,
            "start all_reduce(logits@sum(cols),batch/rows) sum over cols, 500 elements, 2,000 bytes sent"));
  for (const char* pass :
       {"cut_batch", "expand_composites", "expand_gradients", "partition", "assign_buffers"}) {
    const Outcome dump = mtfc(fmt::format("compile {} --dump-after {}", kMnist, pass));
    CHECK(dump.code == 0);
    CHECK(has(dump.out, std::string("train after ") + pass));
  }
  for (const char* pass : {"mix_precision", "store_weights"}) {
    const std::string dump =
        mtfc(fmt::format("compile {} --dtype bf16 --entry train --dump-after {}", kMnist, pass)).out;
    CHECK(dump.starts_with(std::string("model after ") + pass));
    CHECK(has(dump, "= cast(images) dtype=bf16"));
  }
  CHECK(has(mtfc("compile " + kMnist + " --time-passes --emit json").err, "choose_plan"));
  const Outcome output = mtfc("compile " + kMnist + " --output hh");
  CHECK(output.code == 2);
  CHECK(has(output.err, "the model has no tensor 'hh'"));
}

// The loss of the third step, with rows of random images.
double third_loss(const std::string& options) {
  const ScratchFolder folder;
  const std::string log = folder / "log.jsonl";
  const Outcome ran =
      mtfc(fmt::format("run {} --mesh rows:2,cols:2 --layout batch:rows,hidden:cols --simulate "
                       "--steps 3 -q --metrics {} {}",
                       kMnist, log, options));
  CAPTURE(ran.err);
  REQUIRE(ran.code == 0);
  return lines_of(log).back()["loss"].get<double>();
}

TEST_CASE("programs compute the same without the passes that only improve them") {
  const double loss = third_loss("");
  std::string all;
  for (const std::string& pass : improving_passes()) {
    CAPTURE(pass);
    CHECK(third_loss("--without-pass " + pass) == doctest::Approx(loss).epsilon(1e-5));
    all += " --without-pass " + pass;
  }
  CHECK(third_loss(all) == doctest::Approx(loss).epsilon(1e-5));
  const std::string plain = mtfc("compile " + kMnist).out;
  CHECK(has(plain, "fused"));
  CHECK(!has(mtfc("compile " + kMnist + " --without-pass fuse").out, "fused"));
  const Outcome needed = mtfc("compile " + kMnist + " --without-pass partition");
  CHECK(needed.code == 2);
  CHECK(has(needed.err, "--without-pass"));
}

TEST_CASE("compile prints one entry point, and takes --format as other commands do") {
  const std::string all = mtfc("compile " + kMnist).out;
  const std::string one = mtfc("compile " + kMnist + " --entry evaluate").out;
  CHECK(has(all, "\ntrain: "));
  CHECK(has(one, "\nvariables\n"));
  CHECK(has(one, "\nevaluate: "));
  CHECK(!has(one, "\ntrain: "));
  CHECK(!has(one, "\ninit: "));
  const std::string drawn = mtfc("compile " + kMnist + " --entry evaluate --format dot").out;
  CHECK(has(drawn, "evaluate"));
  CHECK(drawn.size() < mtfc("compile " + kMnist + " --format dot").out.size() / 2);
  CHECK(mtfc("compile " + kMnist + " --format json").out == mtfc("compile " + kMnist + " --emit json").out);
  const std::string dump = mtfc("compile " + kMnist + " --dump-after partition --entry evaluate").out;
  CHECK(dump.starts_with("evaluate after partition\n"));
  CHECK(!has(dump, "train after partition"));
  CHECK(mtfc("compile " + kMnist + " --dump-after partition --entry encode").code == 2);
  CHECK(mtfc("compile " + kMnist + " --entry decode").err ==
        "mtfc: error: the model has no entry point 'decode' (its file has no \"decode\")\n");
  CHECK(mtfc("compile " + kMnist + " --entry train --format json").err ==
        "mtfc: error: --entry is for text and graphs; a program in JSON has all entry points (leave out "
        "--entry, "
        "or give --format text)\n");
}

TEST_CASE("cost-report compares layouts, as a table and as JSON") {
  const Outcome table = mtfc("cost-report " + kMnist + " --mesh p:4 --layout batch:p --layout hidden:p");
  CHECK(table.code == 0);
  CHECK(has(table.out, "elements, per device"));
  const Json both = Json::parse(
      mtfc("cost-report " + kMnist + " --mesh p:4 --layout batch:p --layout hidden:p --format json")
          .out)["layouts"];
  REQUIRE(both.size() == 2);
  CHECK(both[0]["flops"]["einsum_useful"] == 327270400);
  CHECK(both[0]["communication"]["elements_per_device"] == 813056 + 2);  // the loss and the accuracy
  CHECK(both[1]["communication"]["elements_per_device"] == 1000);
  CHECK(both[1]["parameters"]["count"] == 813056);
  const Outcome pairs = mtfc("cost-report " + kMnist +
                             " --mesh p:4 --mesh p:2 --layout batch:p --layout hidden:p --layout batch:p");
  CHECK(pairs.code == 2);
  CHECK(has(pairs.err, "2 --mesh and 3 --layout can't be combined"));
  const Json init =
      Json::parse(mtfc("cost-report " + kMnist + " --entry evaluate --format json").out)["layouts"][0];
  CHECK(init["flops"]["einsum_useful"] == 162611200);
}

TEST_CASE("cost-report reads a model from standard input once for all its layouts") {
  const std::string layouts = " --mesh all:4 --layout batch:all --layout hidden:all --format json";
  const Outcome piped = shell("$MTFC cost-report -" + layouts + " <" + kMnist);
  CHECK(piped.code == 0);
  const Json reports = Json::parse(piped.out)["layouts"];
  REQUIRE(reports.size() == 2);
  CHECK(reports[1]["layout"]["hidden"] == Json::array({"all"}));
}

// The same run on one device, in lockstep, and on ranks that `run` starts itself.
TEST_CASE("losses and weights are the same however a run is laid out") {
  const ScratchFolder folder;
  const std::string small = kMnist + " --steps 5 --set hidden=50 --set rows=7 --set cols=7 -q";
  const auto run = [&](const std::string& name, const std::string& layout) {
    const Outcome outcome =
        mtfc(fmt::format("run {} {} --metrics {} --output w1={} --output h={} --report {}", small, layout,
                         folder / (name + ".jsonl"), folder / (name + ".npy"), folder / (name + "_h.npy"),
                         folder / (name + ".json")));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(outcome.out.empty());
  };
  run("one", "");
  run("lockstep", "--mesh a:2,b:3 --layout batch:a,hidden:b --simulate");
  run("ranks2", "--mesh a:2 --layout batch:a");
  run("ranks4", "--mesh a:2,b:2 --layout batch:a,hidden:b");
  const std::vector<Json> expected = lines_of(folder / "one.jsonl");
  REQUIRE(expected.size() == 5);
  const std::string weights = contents(folder / "one.npy"), h = contents(folder / "one_h.npy");
  for (const std::string& name : {std::string("lockstep"), std::string("ranks2"), std::string("ranks4")}) {
    const std::vector<Json> found = lines_of(folder / (name + ".jsonl"));
    REQUIRE(found.size() == 5);
    for (size_t i = 0; i < 5; ++i)
      CHECK(found[i]["loss"].get<double>() ==
            doctest::Approx(expected[i]["loss"].get<double>()).epsilon(1e-4));
    CHECK(contents(folder / (name + "_h.npy")).size() == h.size());
    const std::string other = contents(folder / (name + ".npy"));
    REQUIRE(other.size() == weights.size());
    CHECK(other.substr(0, 128) == weights.substr(0, 128));
    for (size_t at = weights.size() % 4 + 128; at + 4 <= weights.size(); at += 4) {
      float a, b;
      std::memcpy(&a, weights.data() + at, 4);
      std::memcpy(&b, other.data() + at, 4);
      REQUIRE(std::abs(a - b) < 1e-4);
    }
    const Json report = Json::parse(contents(folder / (name + ".json")));
    for (const char* key : {"flops", "communication", "memory", "parameters"})
      CHECK(report["predicted"][key] == report["measured"][key]);
    CHECK(report["run"]["arena_bytes_per_device"] == report["measured"]["memory"]["peak_bytes_per_device"]);
  }
}

TEST_CASE("equal threads give equal bits, and OMP_NUM_THREADS counts unless told") {
  const ScratchFolder folder;
  const auto run = [&](const std::string& environment, const std::string& threads, const std::string& name) {
    REQUIRE(shell(fmt::format("{} $MTFC run {} -q --steps 20 {} --output w1={} --report {}", environment,
                              kMnist, threads, folder / (name + ".npy"), folder / name))
                .code == 0);
    return Json::parse(contents(folder / name))["run"]["threads_per_rank"].get<int>();
  };
  CHECK(run("", "--threads 2", "a") == 2);
  CHECK(run("", "--threads 2", "b") == 2);
  const std::string weights = contents(folder / "a.npy");
  CHECK(weights.size() > 3000000);
  CHECK(weights == contents(folder / "b.npy"));
  CHECK(run("OMP_NUM_THREADS=3", "", "c") == 3);
  CHECK(run("OMP_NUM_THREADS=3", "--threads 1", "d") == 1);
}

TEST_CASE("one file of a run may be standard output, and what is for people then goes elsewhere") {
  const ScratchFolder folder;
  const std::string small = "run " + kMnist + " --steps 3 --set hidden=50 --set rows=7 --set cols=7 ";
  for (const char* layout :
       {"", "--mesh a:2 --layout hidden:a --simulate ", "--mesh a:2 --layout hidden:a "}) {
    CAPTURE(layout);
    const std::string run = small + layout;
    const Outcome metrics = mtfc(run + "--metrics -");
    CHECK(metrics.code == 0);
    std::istringstream lines(metrics.out);
    int step = 0;
    for (std::string line; std::getline(lines, line);) CHECK(Json::parse(line)["step"] == ++step);
    CHECK(step == 3);
    CHECK(has(metrics.err, "step 3  loss"));
    const Outcome report = mtfc(run + "--report -");
    CHECK(Json::parse(report.out)["predicted"]["model"] == "mnist");
    CHECK(has(report.err, "step 3  loss"));
    const Outcome tensor = mtfc(run + "--output w1=-");
    CHECK(mtfc(run + "--output w1=" + (folder / "w1.npy")).code == 0);
    CHECK(tensor.out == contents(folder / "w1.npy"));
    for (const char* file : {"--metrics -", "--report -", "--output w1=-"}) {
      const Outcome full = shell("$MTFC " + run + file + " >/dev/full");
      CHECK(full.code == 1);
      CHECK(has(full.err, "cannot write to standard output: No space left on device"));
    }
  }
  const std::string reason =
      "mtfc: error: --report and --output h would both write to standard output (give them files of their "
      "own)\n";
  const Outcome both = mtfc(small + "--report - --output h=-");
  CHECK(both.code == 2);
  CHECK(both.err == reason);
  CHECK(mtfc(small + "--report - --output h=- --mesh a:2").err == reason);
  // Simulates a launcher whose output ends at a terminal.
  const Outcome terminal = shell("MTFC_TERMINAL=1 $MTFC " + small + "--output h=-");
  CHECK(terminal.code == 2);
  CHECK(terminal.out.empty());
  CHECK(has(terminal.err,
            "--output h=- would write the bytes of an array to the terminal (name a file, or redirect "
            "standard output)"));
}

TEST_CASE("a saved program runs and is reported as the model it was compiled from") {
  const ScratchFolder folder;
  const std::string program = folder / "program.json", layout = " --mesh a:2 --layout hidden:a";
  CHECK(mtfc("compile " + kMnist + layout + " -o " + program).code == 0);
  const std::string run = " -q --steps 5 --seed 3 --output w1=";
  CHECK(mtfc("run " + kMnist + layout + run + (folder / "model.npy")).code == 0);
  CHECK(mtfc("run " + program + run + (folder / "program.npy")).code == 0);
  CHECK(mtfc("run " + program + " --simulate" + run + (folder / "simulated.npy")).code == 0);
  CHECK(contents(folder / "program.npy") == contents(folder / "model.npy"));
  CHECK(shell("mpiexec.mpich -n 2 $MTFC run " + program + run + (folder / "ranks.npy")).code == 0);
  CHECK(contents(folder / "ranks.npy") == contents(folder / "model.npy"));
  for (const std::string& format : {std::string("table"), std::string("json")})
    CHECK(mtfc("cost-report " + program + " --format " + format).out ==
          mtfc("cost-report " + kMnist + layout + " --format " + format).out);

  const Outcome other = mtfc("run " + program + " --mesh a:4");
  CHECK(other.code == 2);
  CHECK(other.err == "mtfc: error: --mesh can't change " + program +
                         ", which is a compiled program (give the model, or compile it again)\n");
  for (const std::string& option : {std::string("--optimizer sgd"), std::string("--dtype f64")}) {
    const Outcome changed = mtfc("run " + program + " " + option);
    CHECK(changed.code == 2);
    CHECK(changed.err == "mtfc: error: " + option.substr(0, option.find(' ')) + " can't change " + program +
                             ", which is a compiled program (give the model, or compile it again)\n");
  }
  const Outcome dead = mtfc("run " + program + " --output h=" + (folder / "h.npy"));
  CHECK(dead.code == 2);
  CHECK(dead.err ==
        "mtfc: error: " + program + " does not keep the tensor 'h' (compile the model with --output h)\n");
  const Outcome check = mtfc("check " + program);
  CHECK(check.code == 2);
  CHECK(check.err == "mtfc: error: " + program +
                         " is a compiled program, not a model (run and cost-report take programs)\n");
}

TEST_CASE("weights that are loaded and not trained come out as they went in") {
  const ScratchFolder folder;
  const std::string sizes = " --set hidden=5 --set rows=3 --set cols=2 -q ";
  REQUIRE(mtfc("run " + kMnist + sizes + "--steps 0 --seed 7 --output w1=" + (folder / "w1.npy")).code == 0);
  REQUIRE(mtfc("run " + kMnist + sizes + "--steps 0 --load w1=" + (folder / "w1.npy") +
               " --output w1=" + (folder / "again.npy") + " --mesh a:3 --layout hidden:a")
              .code == 0);
  CHECK(contents(folder / "w1.npy") == contents(folder / "again.npy"));
  REQUIRE(mtfc("run " + kMnist + sizes + "--steps 0 --output w1=" + (folder / "other.npy")).code == 0);
  CHECK(contents(folder / "w1.npy") != contents(folder / "other.npy"));
  const Outcome shape = mtfc("run " + kMnist + " -q --load w1=" + (folder / "w1.npy"));
  CHECK(shape.code == 1);
  CHECK(has(shape.err, "w1.npy"));
}

TEST_CASE("a failed run exits with 1 and says why, on one rank and on several") {
  const std::string bad_labels = "run " + kMnist + " -q --steps 50 --input labels=random:int,lo=0,hi=11";
  for (const std::string& layout : {std::string(""), std::string(" --mesh a:2 --layout batch:a")}) {
    const Outcome outcome = mtfc(bad_labels + layout);
    CHECK(outcome.code == 1);
    CHECK(has(outcome.err, "index 10 at [batch="));
    CHECK(has(outcome.err, "is out of range: 'classes' has 10"));
    CHECK(has(outcome.err, "/ops/2/in"));
  }
  const Outcome file = mtfc("run " + kMnist + " --mesh a:2 --layout batch:a --input images=none.npy");
  CHECK(file.code == 1);
  CHECK(has(file.err, "from 'none.npy': No such file or directory"));
  CHECK(file.err.find("none.npy") == file.err.rfind("none.npy"));  // only one rank speaks
  const Outcome folder = mtfc("run " + kMnist + " -q --output w1=/nonexistent/w1.npy");
  CHECK(folder.code == 1);
  CHECK(has(folder.err, "/nonexistent/w1.npy"));
  const Outcome finite = mtfc("run " + kMnist + " -q --steps 30 --set lr=1e30 --check-finite");
  CHECK(finite.code == 1);
}

TEST_CASE("what is wrong with the command exits with 2 under a launcher too") {
  const Outcome ranks = shell("mpiexec.mpich -n 3 $MTFC run " + kMnist + " --mesh a:2 --layout batch:a");
  CHECK(ranks.code == 2);
  CHECK(has(ranks.err, "the mesh a:2 has 2 devices, but there are 3 ranks (start it with mpiexec -n 2)"));
  const Outcome model = shell("mpiexec.mpich -n 2 $MTFC run nowhere.json --mesh a:2");
  CHECK(model.code == 2);
  CHECK(model.err.find("nowhere.json") == model.err.rfind("nowhere.json"));
  const Outcome right = shell("mpiexec.mpich -n 2 $MTFC run " + kMnist + " --mesh a:2 --layout batch:a -q");
  CHECK(right.code == 0);
  const Outcome wrong = shell("OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 $MTFC run " + kMnist +
                              " --mesh a:2 --layout batch:a");
  CHECK(wrong.code == 2);
  CHECK(has(wrong.err, "mpiexec"));
}

// The ids of the processes whose command line contains `word`, except shells.
std::vector<pid_t> processes_with(const std::string& word) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code error;
    const fs::path program = fs::read_symlink(entry.path() / "exe", error);
    if (!error && program == fs::path(kTestedProgram) && has(contents(entry.path() / "cmdline"), word))
      found.push_back(std::stoi(name));
  }
  return found;
}

double seconds_to_end(std::thread& run, std::chrono::steady_clock::time_point since) {
  run.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

// Starts `command`, which runs `ranks` ranks and writes metrics, kills one once steps are being taken, and
// waits for the end.
Outcome with_a_rank_killed(const std::string& command, size_t ranks, const std::string& metrics,
                           double& seconds) {
  Outcome outcome;
  std::thread run([&] { outcome = shell(command); });
  std::vector<pid_t> pids;
  eventually([&] {
    pids = processes_with(metrics);
    return pids.size() >= ranks && !contents(metrics).empty();
  });
  REQUIRE(pids.size() >= ranks);
  const auto killed = std::chrono::steady_clock::now();
  kill(*std::max_element(pids.begin(), pids.end()),
       SIGKILL);  // ranks start after the process that starts them
  seconds = seconds_to_end(run, killed);
  return outcome;
}

TEST_CASE("a killed rank ends the run, and is named where run started the ranks") {
  const ScratchFolder folder;
  double seconds = 0;
  const std::string arguments = kMnist + " -q --steps 1000000 --mesh a:3 --layout batch:a --metrics ";
  const Outcome own =
      with_a_rank_killed("$MTFC run " + arguments + (folder / "own"), 4, folder / "own", seconds);
  CHECK(own.code == 1);
  CHECK(has(own.err, "was killed by signal 9 (Killed)"));
  CHECK(seconds < 60);  // all steps would take an hour
  const Outcome foreign = with_a_rank_killed(
      "mpiexec.mpich -n 3 $MTFC run " + arguments + (folder / "foreign"), 3, folder / "foreign", seconds);
  CHECK(foreign.code != 0);
  CHECK(seconds < 60);  // all steps would take an hour
}

TEST_CASE("an interrupt ends a run after the step, cleanly") {
  const ScratchFolder folder;
  for (const std::string& layout : {std::string(""), std::string(" --mesh a:2 --layout batch:a")}) {
    const std::string metrics = folder / ("log" + std::to_string(layout.size()));
    Outcome outcome;
    std::thread run([&] {
      outcome = shell(fmt::format("$MTFC run {} --steps 1000000 --metrics {} --output w1={} --trace {}{}",
                                  kMnist, metrics, folder / "w1.npy", folder / "trace", layout));
    });
    std::vector<pid_t> pids;
    eventually([&] {
      pids = processes_with(metrics);
      return !pids.empty() && !contents(metrics).empty();
    });
    REQUIRE(!pids.empty());
    kill(*std::min_element(pids.begin(), pids.end()), SIGINT);
    run.join();
    CHECK(outcome.code == 130);
    CHECK(has(outcome.err, "mtfc: interrupted by SIGINT: stopped after step"));
    CHECK(fs::exists(folder / "w1.npy"));
    fs::remove(folder / "w1.npy");
    CHECK(Json::parse(contents(folder / "trace"))["traceEvents"].size() > 10);
    fs::remove(folder / "trace");
  }
}

}  // namespace
}  // namespace mtfc::program_test
