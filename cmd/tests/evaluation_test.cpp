// Evaluation over data that does not divide into batches: omitted rows are reported, and none are omitted if
// an input marks the rows.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::evaluation_test {
namespace {

using Json = nlohmann::json;

const char* const kModel = R"({
  "mtfc": 1,
  "include": ["std/loss.json"],
  "params": {"masked": 0},
  "dims": {"batch": 4},
  "inputs": {"x": {"dims": ["batch"]}, "mask": {"dims": ["batch"], "dtype": "bool"}},
  "ops": [
    {"out": "all", "op": "reduce_mean", "in": "x", "when": "not masked"},
    {"out": "all", "op": "call", "block": "masked_mean", "in": ["x", "mask"], "when": "masked"}
  ],
  "outputs": ["all"],
  "data": {"x": "x.npy", "mask": "present"}
}
)";

struct Folder : ScratchFolder {
  Folder() {
    std::ofstream(path / "model.json") << kModel;
    const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (10,), }";
    std::ofstream file(path / "x.npy", std::ios::binary);
    file << std::string("\x93NUMPY\x01\0", 8) << static_cast<char>(header.size()) << '\0' << header;
    for (int i = 0; i < 10; ++i) {
      const auto value = static_cast<float>(i * i);
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  // Returns the output of an evaluation with `arguments`; `err` receives standard error.
  std::string printed(const std::string& arguments) const {
    REQUIRE(std::system(fmt::format("cd '{}'; {} run model.json --evaluate {} >out 2>err </dev/null",
                                    path.string(), kTestedProgram, arguments)
                            .c_str()) == 0);
    return read("out");
  }
};

}  // namespace

TEST_CASE("an evaluation fills up the last batch where an input says which rows are present") {
  const Folder folder;
  for (const char* mesh : {"", "--mesh a:3 --layout batch:a --simulate", "--mesh a:2 --layout batch:a"}) {
    CAPTURE(mesh);
    // The mean of 0, 1, 4, ..., 81.
    CHECK(folder.printed(fmt::format("--set masked=1 {}", mesh)) == "all 28.5\n");
    CHECK(folder.read("err").find("left out") == std::string::npos);
    CHECK(folder.printed(fmt::format("--set masked=1 --set batch=10 {}", mesh)) == "all 28.5\n");
  }
}

TEST_CASE("without such an input an evaluation goes in whole batches and says what it leaves out") {
  const Folder folder;
  CHECK(folder.printed("--input mask=random:int,lo=1,hi=2").starts_with("all 17.5\n"));
  CHECK(folder.read("err").find("evaluation takes whole batches of 4: 2 rows are left out\n") !=
        std::string::npos);
}

TEST_CASE("whole numbers keep their digits on the terminal and in the metrics, and rows have a rate") {
  const ScratchFolder folder;
  folder.write("model.json", R"({"mtfc": 1, "name": "counts", "dims": {"n": 2},
    "inputs": {"x": {"dims": ["n"], "dtype": "i64"}},
    "variables": {"expected": {"dims": [], "dtype": "i64"}},
    "ops": [{"out": "tokens", "op": "reduce_sum", "in": "x"},
            {"out": "is_it", "op": "equal", "in": ["tokens", "expected"]},
            {"out": "small", "op": "constant", "value": 2621103, "dtype": "i32"},
            {"out": "half", "op": "constant", "value": 0.5}],
    "outputs": ["tokens", "is_it", "small", "half"]})");
  const auto write = [&](const std::string& name, const std::string& shape,
                         const std::vector<int64_t>& values) {
    const std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (" + shape + "), }";
    std::string bytes = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header;
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t));
    folder.write(name, bytes);
  };
  constexpr int64_t kLarge = 9007199254740993;  // 2^53 + 1, which no double is
  write("expected.npy", "", {kLarge});
  write("once.npy", "2,", {kLarge - 1, 1});
  write("twice.npy", "4,", {kLarge - 1, 1, kLarge - 7, 7});
  write("other.npy", "4,", {1, 2, 3, 5});
  const auto said = [&](const std::string& data, const std::string& options = "") {
    const Outcome outcome = outcome_of(
        fmt::format("cd '{}' && '{}' run model.json --evaluate --load expected=expected.npy --input x={} "
                    "--metrics log {} 2>/dev/null </dev/null",
                    folder.path.string(), kTestedProgram, data, options));
    CHECK(outcome.code == 0);
    return outcome.text;
  };
  const std::string exact = "tokens 9007199254740993  is_it true  small 2621103  half 0.5\n",
                    line = R"({"step":0,"tokens":9007199254740993,"is_it":1,"small":2621103,"half":0.5,)";
  for (const char* options : {"", "--mesh a:2 --layout n:a --simulate"})
    for (const char* data : {"once.npy", "twice.npy"}) {
      CAPTURE(data);
      CHECK(said(data, options) == exact);
      CHECK(folder.read("log").starts_with(line));
      const nlohmann::json log = nlohmann::json::parse(folder.read("log"));
      const double rows = data == std::string("once.npy") ? 2 : 4;
      CHECK(log["samples_per_second"].get<double>() ==
            doctest::Approx(rows / log["step_time"].get<double>()).epsilon(1e-6));
    }
  CHECK(said("other.npy") == "tokens 5.5  is_it false  small 2621103  half 0.5\n");
}

TEST_CASE("messages about held-out data name the option") {
  const ScratchFolder folder;
  const auto said = [&](const std::string& valid) {
    const Outcome outcome = outcome_of(
        fmt::format("cd '{}/models' && '{}' run mnist.json --simulate --steps 1 --set batch=8 --valid "
                    "labels=random:int,hi=10 "
                    "--valid images=idx:../testdata/digits/images-idx3-ubyte.gz,rows=0:{} 2>&1 </dev/null",
                    kSourceFolder, kTestedProgram, valid));
    return fmt::format("exit {}: {}", outcome.code, outcome.text);
  };
  CHECK(said("5") ==
        "exit 1: mtfc: error: --valid: ../testdata/digits/images-idx3-ubyte.gz: 5 rows are too few for the "
        "input "
        "'images', which takes 8 at a time (--set batch=5 fits the model to it)\n");
  CHECK(said("9").find("evaluation takes whole batches of 8: 1 row of --valid is left out\n") !=
        std::string::npos);
}

TEST_CASE("the perplexity of a language model stands beside its loss") {
  const auto printed = [](const std::string& arguments) {
    const Outcome outcome =
        outcome_of(fmt::format("cd '{}/models' && '{}' run {} --evaluate 2>/dev/null </dev/null",
                               kSourceFolder, kTestedProgram, arguments));
    CHECK(outcome.code == 0);
    return outcome.text;
  };
  const std::string text = "text:../formats/model.md";
  double loss = 0, perplexity = 0;
  const std::string chars = printed(fmt::format(
      "char_lm.json --input tokens={0} --input targets={0},shift=1 --mesh a:2 --layout batch:a", text));
  REQUIRE(std::sscanf(chars.c_str(), "loss %lf perplexity %lf bits_per_byte", &loss, &perplexity) == 2);
  CHECK(perplexity == doctest::Approx(std::exp(loss)).epsilon(1e-4));
  CHECK(printed(fmt::format("byte_mlp.json --input bytes={0} --input labels={0},shift=length", text))
            .find("perplexity") != std::string::npos);
  // A classifier has none, and neither have random labels of one.
  CHECK(printed("mnist.json").find("perplexity") == std::string::npos);
  // A model may have its own.
  const std::string translation = printed("transformer_encdec.json --set layers=1 --set batch=2");
  const size_t first = translation.find("perplexity");
  CHECK(first != std::string::npos);
  CHECK(translation.find("perplexity", first + 1) == std::string::npos);
}

// x has the squares of 0 to 9. `double` is 2 x, `table` 3 x in each of 3 columns with the rows along the second
// dimension, and `sum` a vector without rows.
const char* const kOutputs = R"({
  "mtfc": 1,
  "include": ["std/loss.json"],
  "params": {"masked": 0},
  "dims": {"batch": 4, "columns": 3},
  "inputs": {"x": {"dims": ["batch"]}, "mask": {"dims": ["batch"], "dtype": "bool"}},
  "variables": {"one": {"dims": ["columns"], "init": 1}},
  "ops": [
    {"out": "all", "op": "reduce_mean", "in": "x", "when": "not masked"},
    {"out": "all", "op": "call", "block": "masked_mean", "in": ["x", "mask"], "when": "masked"},
    {"out": "double", "op": "mul", "in": ["x", 2]},
    {"out": "table", "op": "einsum", "in": [{"op": "mul", "in": ["one", 3]}, "x"], "dims": ["columns", "batch"]},
    {"out": "sum", "op": "einsum", "in": ["one", "x"], "over": "batch"}
  ],
  "outputs": ["all"],
  "data": {"x": "x.npy", "mask": "present"}
}
)";

// The floats behind the header of a .npy file, whose shape must be as given.
std::vector<float> floats(const std::string& npy, const std::string& shape) {
  INFO(npy.substr(0, 128));
  REQUIRE(npy.size() > 128);
  CHECK(npy.find("'shape': " + shape) != std::string::npos);
  std::vector<float> values((npy.size() - 128) / sizeof(float));
  std::memcpy(values.data(), npy.data() + 128, values.size() * sizeof(float));
  return values;
}

std::vector<float> squares(int rows, float factor) {
  std::vector<float> values;
  for (int i = 0; i < rows; ++i) values.push_back(factor * static_cast<float>(i * i));
  return values;
}

TEST_CASE("--output of an evaluation has the rows of all batches") {
  const Folder folder;
  folder.write("model.json", kOutputs);
  for (const char* mesh : {"", "--mesh a:3 --layout batch:a --simulate",
                           "--mesh a:2,b:2 --layout batch:a,columns:b "
                           "--simulate",
                           "--mesh a:2 --layout batch:a", "--mesh a:2 --layout columns:a"}) {
    for (const int batch : {2, 3, 4, 10})
      for (const bool masked : {false, true}) {
        CAPTURE(mesh);
        CAPTURE(batch);
        CAPTURE(masked);
        const int rows = masked ? 10 : 10 / batch * batch;
        folder.printed(
            fmt::format("-q {} --set batch={} {} --output double=d.npy --output table=t.npy --output "
                        "all=a.npy --output one=o.npy",
                        mesh, batch, masked ? "--set masked=1" : "--input mask=random:int,lo=1,hi=2"));
        CHECK(floats(folder.read("d.npy"), fmt::format("({},)", rows)) == squares(rows, 2));
        std::vector<float> table;
        for (int column = 0; column < 3; ++column)
          for (const float value : squares(rows, 3)) table.push_back(value);
        CHECK(floats(folder.read("t.npy"), fmt::format("(3, {})", rows)) == table);
        float mean = 0;
        for (const float value : squares(rows, 1)) mean += value / static_cast<float>(rows);
        REQUIRE(floats(folder.read("a.npy"), "()").size() == 1);
        CHECK(floats(folder.read("a.npy"), "()")[0] == doctest::Approx(mean));
        CHECK(floats(folder.read("o.npy"), "(3,)") == std::vector<float>{1, 1, 1});
      }
  }
}

TEST_CASE("batches go to a pipe in order, and what can't be put together is refused") {
  const Folder folder;
  folder.write("model.json", kOutputs);
  folder.printed("-q --set masked=1 --output double=- --mesh a:2 --layout batch:a");
  CHECK(floats(folder.read("out"), "(10,)") == squares(10, 2));
  const auto refused = [&](const std::string& arguments) {
    CHECK(std::system(fmt::format("cd '{}'; {} run model.json -q --set masked=1 --evaluate {} >out 2>err",
                                  folder.path.string(), kTestedProgram, arguments)
                          .c_str()) == 1 << 8);
    return folder.read("err");
  };
  CHECK(
      refused("--output table=-") ==
      "mtfc: error: cannot write to standard output batch by batch, because the rows are not along the first "
      "dimension of [columns=3, batch=10] (name a file)\n");
  CHECK(refused("--output sum=s.npy") ==
        "mtfc: error: --output sum: the evaluation has 3 batches, and 'sum' of shape [columns=3] has no "
        "dimension "
        "'batch' of 4 rows along which they could be put together (--input NAME=FILE,rows=0:4 evaluates one "
        "batch)\n");
  CHECK(folder.read("s.npy") == "");
}

// Adam keeps two numbers for each weight, and a training step keeps activations; an evaluation needs neither.
TEST_CASE("an evaluation takes no memory for training, and generation none either") {
  const ScratchFolder folder;
  folder.write(
      "model.json",
      R"({"mtfc": 1, "dims": {"batch": 2, "in": 1000, "out": 1000}, "inputs": {"x": {"dims": ["batch", "in"]}},
 "variables": {"w": {"dims": ["in", "out"], "init": {"normal": 1}}},
 "ops": [{"out": "y", "op": "einsum", "in": ["x", "w"], "dims": ["batch", "out"]},
         {"out": "loss", "op": "reduce_mean", "in": {"op": "square", "in": "y"}}],
 "train": {"loss": "loss", "optimizer": {"kind": "adam", "lr": 0.1}}, "outputs": ["loss"], "data": {"x": "random:normal"}})");
  const std::string model = folder / "model.json", limit = "--memory-limit 5MB";
  const auto said = [&](const std::string& command) { return outcome_in_models("$MTFC " + command); };
  CHECK(said(fmt::format("run {} -q {}", model, limit)).starts_with("exit 2: "));
  for (const std::string& command :
       {fmt::format("run {} -q --evaluate --report '{}'", model, folder / "report.json"),
        fmt::format("cost-report {} -q --entry evaluate -o '{}'", model, folder / "cost.json"),
        fmt::format("compile {} --entry evaluate -o '{}'", model, folder / "program.txt"),
        fmt::format("search {} --entry evaluate --devices 1 -q -o '{}'", model, folder / "layout.json")})
    CHECK(said(command + " " + limit).starts_with("exit 0: "));
  const Json report = Json::parse(folder.read("report.json")), cost = Json::parse(folder.read("cost.json"));
  const int64_t weights = 1000 * 1000 * 4;
  CHECK(cost["layouts"][0]["memory"]["variables"] == weights);
  CHECK(cost["layouts"][0]["memory"]["optimizer_state"] == 0);
  CHECK(report["run"]["arena_bytes_per_device"] == cost["layouts"][0]["memory"]["peak_bytes_per_device"]);
  // ZeRO's third stage still splits what is left.
  CHECK(said(fmt::format("run {} -q --evaluate --mesh p:4 --layout batch:p,zero:3 --simulate --report '{}'",
                         model, folder / "report.json")) == "exit 0: ");
  CHECK(Json::parse(folder.read("report.json"))["measured"]["memory"]["variables"] == weights / 4);
  // A saved program has its variables in place, but not the memory of the step.
  REQUIRE(said(fmt::format("compile {} --format json -o '{}'", model, folder / "program.json")) ==
          "exit 0: ");
  CHECK(said(fmt::format("run {} -q --evaluate --memory-limit 13MB", folder / "program.json")) == "exit 0: ");
  const Json decode = Json::parse(
      outcome_of(fmt::format("{} cost-report '{}/models/char_lm.json' --entry decode --format json -q",
                             kTestedProgram, kSourceFolder))
          .text);
  CHECK(decode["layouts"][0]["memory"]["optimizer_state"] == 0);
}

}  // namespace mtfc::evaluation_test
