// Compares published models, imported from their config.json and loaded from two files of weights with an index, with
// the same models in NumPy (testdata/families/make.py): logits under several layouts, and greedy generation.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cmd/files/files.h"
#include "cmd/testing/published_models.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "formats/data/npy.h"
#include "formats/json/json_text.h"
#include "formats/json/json_value.h"

namespace mtfc::families_test {
namespace {

namespace fs = std::filesystem;

const std::string kReference = families_folder();

std::vector<float> numbers(const std::string& path) {
  const StoredArray array = read_npy(path);
  int64_t count = 1;
  for (const int64_t size : array.shape) count *= size;
  const auto* data = reinterpret_cast<const float*>(array.data);
  return {data, data + count};
}

// The rows of an array of i32, as --prompt-tokens and generate write them.
std::vector<std::string> token_rows(const std::string& path, int64_t first) {
  const StoredArray array = read_npy(path);
  const auto* data = reinterpret_cast<const int32_t*>(array.data);
  std::vector<std::string> rows;
  for (int64_t r = 0; r < array.shape[0]; ++r) {
    std::string row;
    for (int64_t i = 0; i < std::min(first, array.shape[1]); ++i)
      row += fmt::format("{}{}", i == 0 ? "" : ",", data[r * array.shape[1] + i]);
    rows.push_back(row);
  }
  return rows;
}

int run(const std::string& arguments) {
  return std::system(fmt::format("{} {} </dev/null", kTestedProgram, arguments).c_str());
}

// Returns the setting that gives each expert so many places for tokens that none is dropped.
std::string room_of(const std::string& name) {
  const std::string config = read_text(kReference + name + "/config.json", "config.json");
  return config.find("num_experts_per_tok") == std::string::npos ? "" : "--set capacity_factor=100";
}

// Models of images read no texts, whose length could be set, and have classes in place of a vocabulary.
bool reads_text(const std::string& name) {
  return fs::exists(kReference + name + "/tokens.npy");
}

std::string length_of(const std::string& name) {
  return reads_text(name) ? "--set length=12" : "";
}

// The inputs of the model that the reference has, in files of their names. Other targets are not needed for logits.
std::string inputs_of(const std::string& name) {
  std::string inputs;
  for (const auto& entry : fs::directory_iterator(kReference + name)) {
    const std::string input = entry.path().stem();
    if (entry.path().extension() == ".npy" && input != "logits" && input != "greedy")
      inputs += fmt::format(" --input {}={}", input, entry.path().string());
  }
  if (reads_text(name) && !fs::exists(kReference + name + "/targets.npy"))
    inputs += fmt::format(" --input targets={}/tokens.npy", kReference + name);
  return inputs;
}

// How far the logits that a model computes are from those of the reference.
float difference(const std::string& name, const std::string& layout) {
  const ScratchFolder folder;
  const std::string model = kReference + name;
  REQUIRE(run(fmt::format(
              "run {0} -q --set batch=2 --load {0} --evaluate --output logits={1} {2} {3} {4} {5}", model,
              folder / "logits.npy", inputs_of(name), layout, room_of(name), length_of(name))) == 0);
  const std::vector<float> found = numbers(folder / "logits.npy"), wanted = numbers(model + "/logits.npy");
  REQUIRE(found.size() == wanted.size());
  float largest = 0;
  for (size_t i = 0; i < found.size(); ++i) largest = std::max(largest, std::abs(found[i] - wanted[i]));
  return largest;
}

}  // namespace

TEST_CASE("published models give the logits of their papers, under several layouts") {
  REQUIRE(published_models().size() > 10);
  size_t number = static_cast<size_t>(getpid());
  for (const std::string& name : published_models()) {
    CAPTURE(name);
    CHECK(difference(name, "") < 1e-4);
    const char* const classes = reads_text(name) ? "vocab" : "classes";
    CHECK(difference(name, fmt::format("--mesh a:2,b:2 --layout batch:a,heads:b,d_ff:b,{}:b --simulate",
                                       classes)) < 1e-4);
    CHECK(difference(name, "--mesh a:3,b:2 --layout length:a,d_model:b,memory_length:b --simulate") < 1e-4);
    // Every fifth on four ranks, beginning with another one each time.
    if (number++ % 5 != 0) continue;
    MESSAGE("on four ranks: " << name);
    CHECK(difference(name, "--mesh data:2,model:2 --layout batch:data,zero:3,heads:model,d_ff:model") < 1e-4);
  }
}

TEST_CASE("published models generate the tokens that are likeliest in their papers") {
  for (const std::string& name : published_models()) {
    CAPTURE(name);
    const std::string model = kReference + name;
    if (!fs::exists(model + "/greedy.npy")) continue;  // BERT and ViT do not generate
    const std::vector<std::string> all = token_rows(model + "/greedy.npy", 1000);
    const std::string sources =
        fs::exists(model + "/sources.npy") ? fmt::format("--input sources={}/sources.npy", model) : "";
    std::string prompts;
    for (const std::string& row : token_rows(model + "/greedy.npy", 4)) prompts += " --prompt-tokens " + row;
    for (const char* layout : {"", "--mesh a:2,b:2 --layout heads:a,vocab:a,d_ff:a,places:b --simulate"}) {
      const ScratchFolder folder;
      REQUIRE(
          run(fmt::format("generate {0} -q --load {0} --greedy --length 6 {1} -o {2} {3} {4} {5} {6}", model,
                          prompts, folder / "out", layout, room_of(name), sources, length_of(name))) == 0);
      std::ifstream file(folder / "out");
      std::set<std::string> found;
      for (std::string line; std::getline(file, line);) found.insert(line);
      for (const std::string& row : all) CHECK(found.contains(row));
    }
  }
}

// Two of fifteen for each model, other ones each time; all with MTFC_CASES=15.
TEST_CASE("the tensors of a file are listed with the variables that they fill") {
  const auto listed = [](const std::string& arguments) {
    return outcome_of(fmt::format("{} weights {} 2>&1", kTestedProgram, arguments)).text;
  };
  const std::string whole = listed(kReference + "phi3");
  CHECK(whole.starts_with(
      "tensor                                          type  shape     becomes\n"
      "lm_head.weight                                  f32   [80, 32]  model/output/weight\n"));
  CHECK(whole.find(
            "model.layers.0.mlp.gate_up_proj.weight          f32   [88, 32]  model/layer_0/mlp/gate/weight + "
            "model/layer_0/mlp/up/weight\n") != std::string::npos);
  CHECK(whole.ends_with("\n15 tensors, 77.6 KiB; 21 of 21 variables of the model are filled\n"));
  const std::string other =
      listed(kReference + "llama --load " + kReference + "phi3 --map model.norm.weight= --set vocab=81");
  CHECK(other.find("lm_head.weight                                  f32   [80, 32]  model/output/weight, "
                   "which it does "
                   "not fit: [vocab=81, d_model=32]\n") != std::string::npos);
  CHECK(other.find("model.norm.weight                               f32   [32]      (left out)\n") !=
        std::string::npos);
  CHECK(other.ends_with(
      "\n15 tensors, 77.6 KiB; 10 of 21 variables of the model are filled\n"
      "tensors that the map leaves out: 1\ntensors that do not fit: 2\nvariables without a tensor (11):\n"
      "  model/layer_0/attention/k/weight\n  model/layer_0/attention/q/weight\n  "
      "model/layer_0/attention/v/weight\n"
      "  model/layer_0/mlp/gate/weight\n  model/layer_0/mlp/up/weight\n  model/layer_1/attention/k/weight\n"
      "  model/layer_1/attention/q/weight\n  model/layer_1/attention/v/weight\n  "
      "model/layer_1/mlp/gate/weight\n"
      "  model/layer_1/mlp/up/weight\n  model/norm/scale\n"
      "tensors without a variable (4):\n  model/layer_0/attention/qkv/weight\n  "
      "model/layer_0/mlp/gate_up/weight\n"
      "  model/layer_1/attention/qkv/weight\n  model/layer_1/mlp/gate_up/weight\n"));
}

TEST_CASE("every published model compiles under every preset, also on 512 devices") {
  std::vector<std::string> layouts;
  for (const char* preset : {"megatron", "megatron,zero:1", "megatron,zero:2", "megatron,zero:3", "fsdp"})
    for (const char* mesh : {"data:2,model:2", "data:8,model:8,context:8", "data:8,expert:8,model:8"})
      layouts.push_back(fmt::format(" --mesh {} --layout {}", mesh, preset));
  const char* const cases = std::getenv("MTFC_CASES");
  const size_t count = cases ? std::stoul(cases) : 2;
  size_t next = static_cast<size_t>(getpid());
  for (const std::string& name : published_models()) {
    std::string some;
    for (size_t i = 0; i < count; ++i) some += layouts[next++ % layouts.size()];
    CAPTURE(name);
    CAPTURE(some);
    CHECK(run(fmt::format("cost-report {} -q --set batch=512 --format csv -o /dev/null {}", kReference + name,
                          some)) == 0);
  }
}

TEST_CASE("a preset takes rules behind it, and refuses axes that it does not know") {
  const std::string model = kReference + "llama";
  const auto said = [&](const std::string& arguments) {
    return outcome_of(
               fmt::format("{} cost-report {} --set batch=8 {} 2>&1", kTestedProgram, model, arguments))
        .text;
  };
  CHECK(said("--mesh data:2,context:2 --layout megatron,zero:1,batch:context,length:data")
            .find("layout batch:context,length:data, ZeRO 1 over context+data") != std::string::npos);
  CHECK(said("--mesh data:2,modle:2 --layout megatron") ==
        "--mesh: error: the preset has no rule for the axis 'modle' (did you mean 'model'?)\n");
  CHECK(said("--mesh data:2,model:2 --layout megatrn") ==
        "mtfc: error: 'megatrn' is no rule: DIMENSION:AXIS (did you mean the preset 'megatron'?)\n");
}

// Every fourth, beginning with another one each time; all with MTFC_CASES=100.
TEST_CASE("published models have the published numbers of parameters") {
  const auto list = nlohmann::json::parse(read_text(kReference + "published.json", "list"));
  const char* const all = std::getenv("MTFC_CASES");
  const size_t step = all && std::stoul(all) >= list.size() ? 1 : 4;
  for (size_t i = static_cast<size_t>(getpid()) % step; i < list.size(); i += step) {
    const nlohmann::json& model = list[i];
    CAPTURE(model["name"].get<std::string>());
    const ScratchFolder folder;
    write_text(folder / "config.json", model["config"].dump());
    REQUIRE(run(fmt::format("cost-report {} -q --entry evaluate --format json -o {}", folder.path.string(),
                            folder / "report.json")) == 0);
    const auto report = nlohmann::json::parse(read_text(folder / "report.json", "report"));
    CHECK(report["layouts"][0]["parameters"]["count"] == model["parameters"]);
  }
}

TEST_CASE("prompts are texts where the folder of a model has a tokenizer") {
  const ScratchFolder folder;
  for (const auto& entry : fs::directory_iterator(kReference + "llama"))
    fs::copy(entry.path(), folder.path / entry.path().filename());
  nlohmann::json vocabulary;
  for (int id = 0; id < 80; ++id) vocabulary[fmt::format("w{}", id)] = id;
  const nlohmann::json tokenizer = {
      {"version", "1.0"},
      {"added_tokens", nlohmann::json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
      {"post_processor", nullptr},
      {"decoder", nullptr},
      {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}}};
  write_text(folder / "tokenizer.json", tokenizer.dump());
  const auto words = [](const std::string& ids) {
    std::string text = "w" + ids;
    for (size_t at = 0; (at = text.find(',', at)) != std::string::npos;) text.replace(at, 1, " w");
    return text;
  };
  const std::string greedy = kReference + "llama/greedy.npy";
  const std::string prompt = words(token_rows(greedy, 4)[0]), all = words(token_rows(greedy, 1000)[0]);
  for (const char* more : {"", "-o out.txt && cat out.txt"})
    CHECK(
        outcome_of(fmt::format("cd {0} && {1} generate . -q --load . --greedy --length 6 --prompt '{2}' {3}",
                               folder.path.string(), kTestedProgram, prompt, more))
            .text == all + "\n");
  CHECK(outcome_of(fmt::format("{} generate {} --load {} -q --prompt x 2>&1", kTestedProgram,
                               kReference + "llama", kReference + "llama"))
            .text.find("give its --tokenizer, or ids: --prompt-tokens 1,2,3") != std::string::npos);
}

TEST_CASE("import writes a model that computes what the config.json says") {
  const ScratchFolder folder;
  const std::string config = kReference + "llama_3/config.json";
  REQUIRE(run(fmt::format("import {} -o {}", config, folder / "model.json")) == 0);
  REQUIRE(run(fmt::format("check {} -q", folder / "model.json")) == 0);
  const JsonValue model = parse_json(read_text(folder / "model.json", "model"), "model.json");
  const JsonValue* const import = model.find("import");
  REQUIRE((import && import->members.size() == 1));
  CHECK(json_text(*import->find("config")) ==
        json_text(parse_json(read_text(config, "config.json"), "config.json")));
  CHECK(model.find("dims")->find("d_kv")->text == "16");
  CHECK(model.find("params")->find("rope_factor")->text == "8.0");
  REQUIRE(run(fmt::format("import {} -o {}", kReference + "llama_3", folder / "again.json")) == 0);
  CHECK(read_text(folder / "again.json", "model") == read_text(folder / "model.json", "model"));
}

TEST_CASE("mistakes in a config.json are answered with their places") {
  std::ifstream cases(kReference + "wrong_configs.txt");
  std::string line, name, text, replacement;
  while (std::getline(cases, line) && !line.empty()) {
  }
  size_t count = 0;
  while (std::getline(cases, name) && std::getline(cases, text) && std::getline(cases, replacement)) {
    CAPTURE(name);
    CAPTURE(replacement);
    std::string expected;
    while (std::getline(cases, line) && !line.empty()) expected += line + "\n";
    if (replacement == "(nothing)") replacement.clear();
    std::string config = read_text(kReference + name + "/config.json", "config.json");
    const size_t at = config.find(text);
    REQUIRE(at != std::string::npos);
    config.replace(at, text.size(), replacement);
    const ScratchFolder folder;
    write_text(folder / "config.json", config);
    const Outcome found = outcome_of(fmt::format(
        "cd {} && {} check config.json 2>&1 | sed 's/config.json as mtfc import writes it/MODEL/g'",
        folder.path.string(), kTestedProgram));
    CHECK(found.text == expected);
    ++count;
  }
  CHECK(count >= 40);
}

TEST_CASE("every family sets only params and dimensions that it or the library has") {
  const std::string models = std::string(kSourceFolder) + "/models/";
  const auto has = [](const JsonValue& model, const std::string& name) {
    for (const char* list : {"params", "dims"})
      if (const JsonValue* values = model.find(list); values && values->find(name)) return true;
    return false;
  };
  const JsonValue library = parse_json(read_text(models + "std/language.json", "model"), "language.json");
  const JsonValue common = parse_json(read_text(models + "families/keys.json", "model"), "keys.json");
  for (const auto& entry : fs::directory_iterator(models + "families")) {
    if (entry.path().stem() == "keys") continue;
    CAPTURE(entry.path().string());
    const JsonValue model = parse_json(read_text(entry.path(), "model"), entry.path());
    const JsonValue& import = *model.find("import");
    std::vector<const JsonValue*> open = {import.find("keys")};
    for (const JsonValue& group : import.find("groups")->items) open.push_back(common.find(group.text));
    while (!open.empty()) {
      const JsonValue& rules = *open.back();
      open.pop_back();
      for (const JsonMember& rule : rules.members) {
        CAPTURE(rule.key);
        if (rule.value.kind == JsonKind::kString)
          CHECK((has(model, rule.value.text) || has(library, rule.value.text)));
        for (const JsonMember& choice : rule.value.members) {
          if (choice.key == "object") open.push_back(&choice.value);
          if (choice.key == "object" || choice.key == "list" || choice.key == "number") continue;
          for (const JsonMember& setting : choice.value.members)
            CHECK((has(model, setting.key) || has(library, setting.key)));
        }
      }
    }
  }
}

}  // namespace mtfc::families_test
