// Checks the schemas that `mtfc schema` prints with an independent validator.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cmd/testing/command_results.h"
#include "cmd/testing/shell.h"
#include "core/diagnostics/error.h"
#include "core/graph/op_registry.h"
#include "core/graph/operation_text.h"
#include "core/testing/checkout.h"
#include "core/testing/documents.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/skip.h"
#include "formats/hardware/hardware_reader.h"
#include "formats/reference/operation_reference.h"

namespace mtfc::schema_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Outcome said_by(const std::string& command) {
  return outcome_of(command + " 2>&1 </dev/null");
}

// A Python that has the validator, or "".
const std::string& python() {
  static const std::string found = python_with("jsonschema");
  return found;
}

// A folder of files and one schema to check them with.
class Judge {
 public:
  explicit Judge(const std::string& what) {
    CHECK(said_by(fmt::format("'{}' schema {} -o '{}'", kTestedProgram, what, schema())).code == 0);
  }

  std::string add(const std::string& text) {
    files_.push_back(folder_.write(fmt::format("{}.json", count_++), text));
    return files_.back();
  }
  void add_file(const fs::path& path) { files_.push_back(path.string()); }

  // Returns one line per file.
  std::vector<std::string> judged() const {
    std::string command =
        fmt::format("{} -W ignore '{}/scripts/validate_schema.py' '{}'", python(), kSourceFolder, schema());
    for (const std::string& file : files_) command += " '" + file + "'";
    const Outcome outcome = said_by(command);
    INFO(outcome.text);
    CHECK(outcome.code < 2);
    std::istringstream lines(outcome.text);
    std::vector<std::string> found;
    for (std::string line; std::getline(lines, line);) found.push_back(line);
    CHECK(found.size() == files_.size());
    return found;
  }
  void require_valid() const {
    CHECK(!files_.empty());
    for (const std::string& line : judged()) {
      INFO(line);
      CHECK(line.ends_with(": valid"));
    }
  }
  // Checks that the first mistake of each file is reported at its location.
  void require_invalid_at(const std::vector<std::pair<std::string, std::string>>& mistakes) const {
    const std::vector<std::string> lines = judged();
    REQUIRE(lines.size() == mistakes.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      CAPTURE(mistakes[i].second);
      CAPTURE(lines[i]);
      CHECK(lines[i].find(".json: " + mistakes[i].first + ": ") != std::string::npos);
    }
  }

 private:
  std::string schema() const { return folder_ / "schema"; }
  ScratchFolder folder_;
  std::vector<std::string> files_;
  int count_ = 0;
};

bool can_judge() {
  if (!python().empty()) return true;
  skip_without("jsonschema", "no schema is judged (Debian has it in python3-jsonschema)");
  return false;
}

const fs::path kSource = kSourceFolder;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

bool is_profile(const std::string& example) {
  return example.find("\"flops\"") != std::string::npos || example.find("\"base\"") != std::string::npos;
}

}  // namespace

TEST_CASE("bundled models, their library, the models of tests and the reference's are valid") {
  if (!can_judge()) return;
  Judge judge("model");
  for (const char* folder : {"models", "models/std"})
    for (const fs::path& file : files_in(kSource / folder)) judge.add_file(file);
  for (const auto& entry : fs::directory_iterator(kSource / "testdata"))
    if (entry.path().filename() != "errors" && fs::exists(entry.path() / "model.json"))
      judge.add_file(entry.path() / "model.json");
  for (const std::string& example : examples_of_reference())
    if (example.find("\"mtfc\":") != std::string::npos) judge.add(example);
  judge.require_valid();
}

TEST_CASE("bundled layouts are valid") {
  if (!can_judge()) return;
  Judge judge("layout");
  for (const fs::path& file : files_in(kSource / "models" / "layouts")) judge.add_file(file);
  for (const std::string& example : examples_of_reference())
    if (example.find("mtfc") == std::string::npos && !is_profile(example)) judge.add(example);
  judge.require_valid();
}

TEST_CASE("every example of every operation is valid, and statements of other kinds") {
  if (!can_judge()) return;
  Judge judge("model");
  for (const std::string& name : operation_names()) {
    const Signature& signature = *find_signature(name);
    std::string statements;
    for (const Example& example : signature.examples) {
      std::vector<TensorType> types;
      for (const ExampleOperand& operand : example.operands) types.push_back(operand.type);
      const size_t results = signature.infer({example.attributes, types}).size();
      statements += (statements.empty() ? "" : ",\n") + operation_text(name, example_names('y', results),
                                                                       example_names('x', types.size()),
                                                                       example.attributes);
    }
    judge.add(fmt::format("{{\"mtfc\": 1, \"ops\": [{}]}}", statements));
  }
  for (const StatementKind& statement : statement_kinds())
    judge.add(fmt::format("{{\"mtfc\": 1, \"ops\": [{}]}}", statement.example));
  judge.require_valid();
}

TEST_CASE(
    "bundled hardware profiles, the reference's and those that are written are valid, and mtfc reads them") {
  if (!can_judge()) return;
  Judge judge("hardware");
  std::vector<std::string> texts = {
      R"({"name": "", "flops": {"bf16": 23e12}, "memory_bytes": 0.5, "memory_bandwidth": 350e9, "axes": {},
          "topology": "torus"})",
      R"({"name": "cluster", "doc": "", "flops": {"f32": 1e11}, "memory_bytes": 1e9, "memory_bandwidth": 1e10,
          "efficiency": {"gelu": 1}, "axes": {"a+b": {"latency_s": 0, "bytes_per_s": 1, "doc": "a link"}},
          "topology": {"kind": "two_level", "devices_per_node": 8}})"};
  const auto profiles = files_in(kSource / "models" / "hardware");
  for (const fs::path& file : profiles) texts.push_back(contents(file));
  for (const std::string& example : examples_of_reference())
    if (is_profile(example)) texts.push_back(example);
  REQUIRE(profiles.size() >= 8);
  REQUIRE(texts.size() == profiles.size() + 4);
  const FindProfile find = [&](const std::string& name, const std::string&) {
    if (name == "box.json") return ProfileFile{texts[profiles.size() + 2], name};
    return ProfileFile{contents(kSource / "models" / "hardware" / (name + ".json")), name};
  };
  for (const std::string& text : texts) {
    CAPTURE(text);
    judge.add(text);
    judge.add(hardware_json(read_hardware(text, "profile", find)));
  }
  judge.require_valid();
}

TEST_CASE("mistakes in models are invalid, at their place, and mtfc refuses them too") {
  if (!can_judge()) return;
  const std::string head = R"("mtfc": 1, "dims": {"n": 4}, "inputs": {"x": {"dims": ["n"]}})";
  const auto with = [&](const std::string& rest) { return "{" + head + ", " + rest + "}"; };
  const auto op = [&](const std::string& text) {
    return with("\"ops\": [" + text + "], \"outputs\": [\"y\"]");
  };
  const auto train = [&](const std::string& optimizer) {
    return with(R"("variables": {"w": {"dims": ["n"], "init": 1}},
                "ops": [{"out": "y", "op": "reduce_sum", "in": {"op": "mul", "in": ["x", "w"]}}],
                "train": {"loss": "y", "optimizer": )" +
                optimizer + "}");
  };
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"", R"({"dims": {"n": 4}, "ops": []})"},
      {"", with(R"("opps": [])")},
      {"/mtfc", R"({"mtfc": 2, "ops": []})"},
      {"/dims/m", R"({"mtfc": 1, "dims": {"m": 0}, "ops": []})"},
      {"/dims/m", R"({"mtfc": 1, "dims": {"m": 1.5}, "ops": []})"},
      {"/inputs/z", R"({"mtfc": 1, "dims": {"n": 4}, "inputs": {"z": {"dtype": "f32"}}, "ops": []})"},
      {"/inputs/z/dtype",
       R"({"mtfc": 1, "dims": {"n": 4}, "inputs": {"z": {"dims": ["n"], "dtype": "f23"}}, "ops": []})"},
      {"/ops/0/op", op(R"({"out": "y", "op": "rleu", "in": "x"})")},
      {"/ops/0", op(R"({"out": "y", "op": "relu", "in": "x", "over": "n"})")},
      {"/ops/0/in", op(R"({"out": "y", "op": "relu", "in": ["x", "x"]})")},
      {"/ops/0/in", op(R"({"out": "y", "op": "add", "in": "x"})")},
      {"/ops/0", op(R"({"out": "y", "op": "cumsum", "in": "x"})")},
      {"/ops/0/dim", op(R"({"out": "y", "op": "cumsum", "in": "x", "dim": 3})")},
      {"/ops/0/exclusive", op(R"({"out": "y", "op": "cumsum", "in": "x", "dim": "n", "exclusive": 1})")},
      {"/ops/0", op(R"({"op": "relu", "in": "x"})")},
      {"/ops/0/in", op(R"({"out": "y", "op": "relu", "in": {"op": "neg", "in": "x", "when": 1}})")},
      {"/ops/0/in/op", op(R"({"out": "y", "op": "relu", "in": {"op": "assign", "variable": "x", "in": 1}})")},
      {"/ops/0", op(R"({"out": "y", "op": "call", "in": "x"})")},
      {"/ops/0", op(R"({"out": "y", "op": "repeat", "block": "b", "in": "x"})")},
      {"/variables/w/init",
       with(
           R"("variables": {"w": {"dims": ["n"], "init": true}}, "ops": [{"out": "y", "op": "relu", "in": "w"}])")},
      {"/variables/w/init",
       with(R"("variables": {"w": {"dims": ["n"], "init": {"normal": 1, "uniform": [0, 1]}}},
                                 "ops": [{"out": "y", "op": "relu", "in": "w"}])")},
      {"/train/optimizer/kind", train(R"({"kind": "sdg", "lr": 0.1})")},
      {"/train/optimizer", train(R"({"kind": "sgd"})")},
      {"/train/optimizer", train(R"({"kind": "sgd", "lr": 0.1, "beta1": 0.9})")},
      {"/train/optimizer/lr", train(R"({"kind": "sgd", "lr": {"schedule": "rsqrt", "peak": 1}})")},
      {"/blocks/b",
       with(
           R"("blocks": {"b": {"in": "x", "out": "y"}}, "ops": [{"out": "y", "op": "call", "block": "b", "in": "x"}])")},
      {"/decode", with(R"("ops": [{"out": "y", "op": "relu", "in": "x"}], "outputs": ["y"],
                       "decode": {"inputs": {"token": {"dims": [], "dtype": "i32"},
                                             "position": {"dims": [], "dtype": "i32"}}, "ops": []})")},
      {"/decode/inputs", with(R"("ops": [{"out": "y", "op": "relu", "in": "x"}], "outputs": ["y"],
                              "decode": {"inputs": {"token": {"dims": [], "dtype": "i32"}}, "ops": [],
                                         "outputs": {"logits": "y"}})")},
      {"/decode/equal_if", with(R"("ops": [{"out": "y", "op": "relu", "in": "x"}], "outputs": ["y"],
                              "decode": {"inputs": {"token": {"dims": [], "dtype": "i32"},
                                                    "position": {"dims": [], "dtype": "i32"}}, "ops": [],
                                         "outputs": {"logits": "y"}, "equal_if": []})")},
  };
  Judge judge("model");
  for (const auto& mistake : mistakes) {
    const std::string &text = mistake.second, file = judge.add(text);
    CAPTURE(text);
    CHECK(outcome_here(fmt::format("check '{}'", file)).code == 2);
  }
  judge.require_invalid_at(mistakes);
}

TEST_CASE("mistakes in layouts are invalid, at their place") {
  if (!can_judge()) return;
  const std::vector<std::pair<std::string, std::string>> layouts = {
      {"/mesh/rows", R"({"mesh": {"rows": 0}})"},
      {"/rules/0", R"({"mesh": {"rows": 2}, "rules": [["batch"]]})"},
      {"/rules/0/1", R"({"mesh": {"rows": 2}, "rules": [["batch", []]]})"},
      {"/rules/0/1", R"({"mesh": {"rows": 2}, "rules": [["batch", 2]]})"},
      {"", R"({"mehs": {"rows": 2}})"}};
  Judge judge("layout");
  for (const auto& [place, text] : layouts) judge.add(text);
  judge.require_invalid_at(layouts);
}

TEST_CASE("mistakes in hardware profiles are invalid, at their place, and mtfc refuses them too") {
  if (!can_judge()) return;
  // A profile with the keys in `more` added or replaced.
  const auto with = [](const std::string& more) {
    Json profile = Json::parse(
        R"({"name": "a", "flops": {"f32": 1}, "memory_bytes": 1, "memory_bandwidth": 1, "axes": {}})");
    profile.update(Json::parse("{" + more + "}"));
    return profile.dump();
  };
  const auto link = [&](const std::string& text) { return with("\"axes\": {\"*\": " + text + "}"); };
  const std::string rate = R"("latency_s": 0, "bytes_per_s": 1)";
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"", R"({"name": "a"})"},
      {"/base", R"({"name": "a", "base": 1})"},
      {"/factors", with(R"("factors": {"memory_bytes": 2})")},
      {"", with(R"("colour": "red")")},
      {"/name", with(R"("name": 1)")},
      {"/overlap", with(R"("overlap": 1.5)")},
      {"/efficiency/einsum", with(R"("efficiency": {"einsum": {"m": [1]}})")},
      {"/doc", with(R"("doc": 1)")},
      {"/flops", with(R"("flops": {})")},
      {"/flops", with(R"("flops": {"f16": 1})")},
      {"/flops/f32", with(R"("flops": {"f32": 0})")},
      {"/flops/f32", with(R"("flops": {"f32": [[1, 1]]})")},
      {"/memory_bytes", with(R"("memory_bytes": "1e9")")},
      {"/memory_bandwidth", with(R"("memory_bandwidth": -1)")},
      {"/memory_bandwidth", with(R"("memory_bandwidth": [])")},
      {"/memory_bandwidth", with(R"("memory_bandwidth": [[1, 2, 3]])")},
      {"/memory_bandwidth", with(R"("memory_bandwidth": [[0, 1]])")},
      {"/step_overhead_s", with(R"("step_overhead_s": -1)")},
      {"/efficiency", with(R"("efficiency": {"enisum": 1})")},
      {"/efficiency/einsum", with(R"("efficiency": {"einsum": 1.5})")},
      {"/efficiency/einsum", with(R"("efficiency": {"einsum": [[1, 1.5]]})")},
      {"/axes", with(R"("axes": [])")},
      {"/axes/*", link(R"({"latency_s": 0})")},
      {"/axes/*", link("{" + rate + R"(, "colour": 1})")},
      {"/axes/*/latency_s", link(R"({"latency_s": -1, "bytes_per_s": 1})")},
      {"/axes/*/bytes_per_s", link(R"({"latency_s": 0, "bytes_per_s": 0})")},
      {"/axes/*/overlaps", link("{" + rate + R"(, "overlaps": "no"})")},
      {"/axes/*/doc", link("{" + rate + R"(, "doc": 1})")},
      {"/axes/*/collectives", link("{" + rate + R"(, "collectives": {"gather": {)" + rate + "}}}")},
      {"/axes/*/collectives/exchange",
       link("{" + rate + R"(, "collectives": {"exchange": {"latency_s": 0}}})")},
      {"/topology", with(R"("topology": "star")")},
      {"/topology", with(R"("topology": "two_level")")},
      {"/topology", with(R"("topology": {"kind": "two_level"})")},
      {"/topology", with(R"("topology": {"kind": "ring", "devices_per_node": 2})")},
      {"/topology", with(R"("topology": {"kind": "two_level", "devices_per_node": 0})")},
      {"/topology", with(R"("topology": {"kind": "two_level", "devices_per_node": 1.5})")}};
  Judge judge("hardware");
  for (const auto& mistake : mistakes) {
    const std::string& text = mistake.second;
    CAPTURE(text);
    judge.add(text);
    CHECK_THROWS_AS(read_hardware(text, "profile"), UserError);
  }
  judge.require_invalid_at(mistakes);
}

TEST_CASE("files may name their schema") {
  const ScratchFolder folder;
  const std::string model =
      folder.write("model.json", R"({"$schema": "model.schema.json", "mtfc": 1, "dims": {"n": 4},
          "inputs": {"x": {"dims": ["n"]}}, "ops": [{"out": "y", "op": "relu", "in": "x"}], "outputs": ["y"]})");
  const std::string layout = folder.write(
      "layout.json", R"({"$schema": "layout.schema.json", "mesh": {"a": 2}, "rules": [["n", "a"]]})");
  CHECK(said_by(fmt::format("'{}' check '{}' --layout '{}'", kTestedProgram, model, layout)).code == 0);
  const std::string number = folder.write("number.json", R"({"$schema": 1, "mtfc": 1, "ops": []})");
  CHECK(said_by(fmt::format("'{}' check '{}'", kTestedProgram, number))
            .text.find("/$schema: expected a string, found a number") != std::string::npos);
  const std::string inner =
      folder.write("inner.json", R"({"mtfc": 1, "ops": [], "inputs": {"x": {"dims": [], "$schema": "a"}}})");
  CHECK(said_by(fmt::format("'{}' check '{}'", kTestedProgram, inner)).text.find("unknown key '$schema'") !=
        std::string::npos);
  if (!can_judge()) return;
  Judge models("model"), layouts("layout");
  models.add_file(model);
  layouts.add_file(layout);
  models.require_valid();
  layouts.require_valid();
}

TEST_CASE("what commands write fits the schema that mtfc prints for it") {
  if (!can_judge()) return;
  const ScratchFolder folder;
  folder.write("layout.json",
               R"({"mesh": {"rows": 2, "cols": 2}, "device_order": [0, 2, 1, 3], "propagate": true,
      "rules": [["batch", "rows"], ["d_ff", "cols", {"in": "layer_0/**"}]], "shardings": {"tokens": {"batch": "rows"}},
      "shard_state_over": ["rows"]})");
  folder.write("whole.json",
               R"({"mesh": {"all": 4}, "shardings": {"images": {"batch": "all"}, "w1": {"hidden": "all"}}})");
  const std::string small =
      "transformer_lm.json --set layers=2 --set d_model=16 --set d_ff=32 --set vocab=32 "
      "--set length=8 --set batch=4 ";
  const std::string both = "--mesh rows:2,cols:2 --layout batch:rows,d_ff:cols ";
  const std::pair<const char*, std::string> outputs[] = {
      {"check", "check " + small + both + "--format json"},
      {"check", "check mnist.json --mesh a:2 --layout bathc:a --format json"},
      {"program", "compile " + small + both + "--emit json"},
      {"program", "compile " + small + "--layout $F/layout.json --emit json"},
      {"program", "compile mnist_conv.json --mesh a:2 --layout rows:a,rows2:a,rows3:a --emit json"},
      {"program", "compile moe_lm.json --mesh a:2 --layout batch:a,experts:a --propagate --emit json"},
      {"report", "cost-report " + small + both + "--format json"},
      {"report", "cost-report " + small + "--layout $F/layout.json --tokens 1e9 --price 2/h --format json"},
      {"report", "cost-report " + small +
                     "--mesh a:2 --layout batch:a --layout batch:a,vocab:a,d_ff:a "
                     "--layout d_model:a --ranks-per-node 1 --format json"},
      {"report", "cost-report " + small + "--memory-limit 780KiB --format json"},
      {"report", "cost-report char_lm.json --entry decode --format json"},
      {"report", "cost-report moe_lm.json --mesh a:2 --layout batch:a,experts:a --propagate --format json"},
      {"explain", "explain " + small + both + "--format json"},
      {"explain", "explain mnist.json 17 --mesh all:4 --layout batch:all --format json"},
      {"explain", "explain mnist.json h --layout $F/whole.json --hardware local --format json"},
      {"explain", "explain mnist_conv.json images --mesh a:2 --layout rows:a,rows2:a,rows3:a --format json"},
      {"search", "search mnist.json --mesh a:2,b:2 --format json"},
      {"search", "search mnist.json --mesh a:2,b:2 --memory-limit 2MB --format json"},
      {"search", "search mnist.json --annotations --mesh a:2 --format json"},
      {"fit", "search mnist.json --fit --devices 2 --memory-limit 4MB --format json"},
      {"show", "show " + small + both + "--all --format json"},
      {"show", "show " + small + both + "--rank 3 --format json"},
      {"show", "show mnist.json w1 --layout $F/whole.json --format json"},
      {"diff", "diff mnist.json batch:all hidden:all --mesh all:4 --format json"},
      {"generate", "generate char_lm.json --set layers=1 --prompt ab --length 4 --samples 2 --format json"},
      {"run-report", "run " + small + both + "--simulate --steps 2 -q --report -"},
      {"metrics", "run " + small + "--steps 1 -q --metrics -"},
  };
  std::map<std::string, Judge> judges;
  for (const auto& [schema, command] : outputs) {
    CAPTURE(command);
    const Outcome outcome =
        outcome_of(fmt::format("cd '{}/models' && F='{}' && '{}' {} 2>/dev/null </dev/null", kSourceFolder,
                               folder.path.string(), kTestedProgram, command));
    CHECK(outcome.text.size() > 2);
    judges.try_emplace(schema, schema).first->second.add(outcome.text);
  }
  for (const auto& [schema, judge] : judges) {
    CAPTURE(schema);
    judge.require_valid();
  }
}

TEST_CASE("the output of validate is as its schema says") {
  if (!can_judge()) return;
  const ScratchFolder folder;
  const std::string rows = folder.write("rows.csv",
                                        "id,source,model,set,hardware,split,seconds,memory_bytes,needs\n"
                                        "a,x,gpt2,layers=4 batch=2,a100-80g,train,0.1,1e9,\n"
                                        "b,y,gpt2,layers=2 batch=2,a100-80g,train,0.1,,\n"
                                        "c,y,gpt2,,a100-80g,test,,,LoRA\n");
  Judge judge("validate");
  for (const char* options : {"", "--fit step_overhead_s --on split=train --bar x=5"})
    judge.add(outcome_of(fmt::format("'{}' validate '{}' -q --format json {}", kTestedProgram, rows, options))
                  .text);
  judge.require_valid();
  Judge row("rows");
  row.add(R"({"id": "a", "devices": 8, "status": "oom", "seconds": 1.5})");
  row.require_valid();
}

TEST_CASE("a schema of outputs refuses keys that it does not have, and those that are missing") {
  if (!can_judge()) return;
  Judge judge("check");
  judge.add(
      R"({"mtfc_check": 1, "model": "m", "errors": 0, "warnings": 0, "notes": 0, "diagnostics": [], "x": 1})");
  judge.add(R"({"mtfc_check": 1, "model": "m", "errors": 0, "warnings": 0, "notes": 0})");
  judge.add(R"({"mtfc_check": 2, "model": "m", "errors": 0, "warnings": 0, "notes": 0, "diagnostics": []})");
  judge.require_invalid_at({{"", ""}, {"", ""}, {"/mtfc_check", ""}});
}

}  // namespace mtfc::schema_test
