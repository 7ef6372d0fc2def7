// The bundled Transformers and the standard library they are made of: sizes and communication as in the
// Mesh-TensorFlow paper (section 9), and the same numbers under every layout.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "cmd/testing/shell.h"
#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "core/testing/checkout.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"

namespace mtfc::transformer_test {
namespace {

using Sets = std::vector<std::string>;

const Sets kSmall = {"layers=2", "d_model=12", "d_ff=20",  "d_kv=4",
                     "heads=3",  "vocab=31",   "length=9", "batch=3"};
const char* const kModelParallel = "vocab:cols,d_ff:cols,heads:cols";

Program compiled(const std::string& path, const std::string& mesh, const std::string& rules, const Sets& sets,
                 int64_t microbatches = 1) {
  const std::string file = std::string(kSourceFolder) + "/" + path;
  IncludedFiles includes;
  std::vector<Diagnostic> warnings;
  const Model model =
      read_model(read_text(file, "model"), file, sets, warnings,
                 {[&](const IncludeName& name) { return includes.read(name); }, {{}, {}, microbatches}});
  CHECK(warnings.empty());
  LayoutSources sources;
  sources.mesh = mesh;
  sources.rules = rules;
  return compile(model, read_layout(sources), {});
}

CostReport report_of(const Program& program) {
  const EntryPoint& train = *program.find("train");
  return cost_report(program, train, predicted_counts(program, train));
}

// Returns the output of `mtfc`, which must succeed.
std::string printed(const std::string& arguments) {
  const Outcome found = outcome_of(
      fmt::format("cd '{}' && '{}' </dev/null {} 2>/dev/null", kSourceFolder, kTestedProgram, arguments));
  INFO(arguments << "\n" << found.text);
  CHECK(found.code == 0);
  return found.text;
}

std::string options(const Sets& sets) {
  std::string text;
  for (const std::string& set : sets) text += " --set " + set;
  return text;
}

// The outputs of the last step, from `step 3  loss 1.2  accuracy 0.5`.
std::map<std::string, double> outputs_of(const std::string& arguments) {
  std::istringstream line(printed("run " + arguments));
  std::string word, number;
  std::map<std::string, double> outputs;
  line >> word >> number;
  REQUIRE(word == "step");
  while (line >> word >> number) outputs[word] = std::stod(number);
  return outputs;
}

void check_near(const std::map<std::string, double>& found, const std::map<std::string, double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (const auto& output : expected) {
    const auto& [name, value] = output;
    CAPTURE(output.first);
    CHECK(std::abs(found.at(name) - value) <= 1e-5 * std::max(1.0, std::abs(value)));
  }
}

}  // namespace

TEST_CASE("the paper's sizes have the paper's parameters") {
  struct Size {
    const char* model;
    int d_kv, d_ff, heads;
    double billions;
  };
  const std::vector<Size> sizes = {
      {"transformer_lm", 256, 4096, 4, 0.14},       {"transformer_lm", 256, 8192, 8, 0.22},
      {"transformer_lm", 256, 16384, 16, 0.37},     {"transformer_lm", 256, 32768, 32, 0.67},
      {"transformer_lm", 256, 65536, 64, 1.28},     {"transformer_lm", 256, 131072, 128, 2.48},
      {"transformer_lm", 256, 262144, 256, 4.90},   {"transformer_encdec", 128, 2048, 4, 0.155},
      {"transformer_encdec", 128, 4096, 8, 0.24},   {"transformer_encdec", 128, 8192, 16, 0.42},
      {"transformer_encdec", 128, 16384, 32, 0.77}, {"transformer_encdec", 128, 32768, 64, 1.48},
      {"transformer_encdec", 128, 65536, 128, 2.89}};
  for (const Size& size : sizes) {
    CAPTURE(size.billions);
    const Program program =
        compiled(fmt::format("models/{}.json", size.model), "rows:16,cols:32",
                 fmt::format("batch:rows,{}", kModelParallel),
                 {"d_model=1024", "vocab=32768", "layers=6", fmt::format("d_kv={}", size.d_kv),
                  fmt::format("d_ff={}", size.d_ff), fmt::format("heads={}", size.heads)});
    const auto count = static_cast<double>(report_of(program).parameters.count);
    CHECK(std::abs(count / (size.billions * 1e9) - 1) < 0.02);
  }
}

TEST_CASE("model parallelism reduces a block's output for each part, and little for the loss") {
  const Program program = compiled("models/transformer_lm.json", "cols:4", kModelParallel, {"layers=2"});
  const int64_t positions = 8 * 64, width = 256;
  std::vector<std::string> forward;
  int64_t wide_backward = 0;
  const EntryPoint& train = *program.find("train");
  const std::vector<StepCount> counts = predicted_counts(program, train);
  for (size_t s = 0; s < counts.size(); ++s) {
    if (train.steps[s].kind() != StepKind::kStart) continue;
    const int64_t elements = counts[s].elements;
    if (train.steps[s].phase == Phase::kForward)
      forward.push_back(fmt::format("{} {}", train.steps[s].name, elements));
    else
      wide_backward += elements / (positions * width);
    CHECK((elements == positions || elements == positions * width));
  }
  CHECK(forward == std::vector<std::string>{
                       "embedding/y 131072", "layer_0/self/attention/y 131072",
                       "layer_0/ffn/feed_forward/y 131072", "layer_1/self/attention/y 131072",
                       "layer_1/ffn/feed_forward/y 131072", "token_loss/cross_entropy/gather 512",
                       "token_loss/cross_entropy/reduce_max 512", "token_loss/cross_entropy/reduce_sum 512"});
  CHECK(wide_backward == 5);  // the mirror image
}

TEST_CASE("the bundled Transformers compute the same under every layout") {
  for (const char* model : {"transformer_lm", "transformer_encdec", "char_lm"}) {
    Sets sets = kSmall;
    sets.emplace_back("dropout=0.2");
    for (const auto& [mesh, rules] : std::vector<std::pair<std::string, std::string>>{
             {"all:4", "batch:all"},
             {"cols:3", kModelParallel},
             {"rows:2,cols:2", fmt::format("batch:rows,{}", kModelParallel)},
             {"all:2", "length:all"},
             {"all:2", "memory_length:all"},
             {"rows:2,cols:2", "d_model:cols,batch:rows"}})
      CHECK(printed(fmt::format("verify models/{}.json --mesh {} --layout {} {}", model, mesh, rules,
                                options(sets)))
                .find("the same as on one device") == 0);
    // The layout files fit, and tied embeddings save one variable.
    for (const char* layout : {"data_parallel", "transformer_model_parallel", "transformer_both"})
      printed(fmt::format("verify models/{}.json --layout models/layouts/{}.json --set tie_embeddings=1 {}",
                          model, layout, options(sets)));
  }
}

TEST_CASE("ranks get what the model includes from the one that reads it") {
  const std::string arguments = "models/char_lm.json --steps 3 --set dropout=0.1" + options(kSmall);
  const auto expected = outputs_of(arguments);
  CHECK(expected.count("loss") == 1);
  check_near(outputs_of(arguments + " --mesh rows:2 --layout batch:rows"), expected);
  // A model read from standard input includes files beside the current folder, or from the library.
  check_near(
      outputs_of("- < models/char_lm.json" + arguments.substr(std::string("models/char_lm.json").size()) +
                 " --mesh all:2 --layout models/layouts/transformer_model_parallel.json"),
      expected);
}

TEST_CASE("parts of a batch take the activations of one part, and its gradients are reduced once") {
  const Sets sets = {"layers=3", "d_model=16", "d_ff=64",   "d_kv=4",
                     "heads=4",  "vocab=32",   "length=64", "batch=16"};
  const auto report = [&](int64_t parts) {
    return report_of(compiled("models/transformer_lm.json", "rows:2", "batch:rows", sets, parts));
  };
  const CostReport whole = report(1), parts = report(8);
  CHECK(parts.memory.activations_at_peak < whole.memory.activations_at_peak / 4);
  CHECK(parts.communication.by_kind.at("all_reduce").elements ==
        whole.communication.by_kind.at("all_reduce").elements);
}

TEST_CASE("ranks train on a batch in parts") {
  for (const char* model : {"transformer_lm", "transformer_encdec"}) {
    const std::string arguments =
        fmt::format("models/{}.json --steps 3 --set dropout=0.1 --set batch=4 --dtype f64", model) +
        options(Sets(kSmall.begin(), kSmall.end() - 1));
    const auto expected = outputs_of(arguments);
    check_near(outputs_of(arguments + " --microbatches 4"), expected);
    check_near(outputs_of(arguments + " --microbatches 2 --mesh rows:2 --layout batch:rows"), expected);
    check_near(outputs_of(arguments + " --microbatches 2 --mesh cols:2 --layout " + kModelParallel),
               expected);
  }
}

TEST_CASE("the blocks of the standard library do what they say") {
  const std::string model = "testdata/std_blocks/model.json";
  const auto expected = outputs_of(model);
  CHECK(expected.size() == 11);
  for (const auto& output : expected) {
    const auto& [name, value] = output;
    CAPTURE(output.first);
    if (name == "loss")
      CHECK(value > 1);
    else
      CHECK(std::abs(value) < 1e-5);
  }
  for (const char* layout :
       {"--mesh a:3 --layout heads:a,d_ff:a,vocab:a", "--mesh a:2,b:2 --layout batch:a,d_model:b",
        "--mesh a:2,b:2 --layout length:a,source_length:b", "--mesh a:2 --layout memory_length:a"})
    check_near(outputs_of(fmt::format("{} --simulate {}", model, layout)), expected);
}

TEST_CASE("every block of the standard library is among them, and has a doc") {
  std::string model;
  for (const char* folder : {"std_blocks", "library_reference"})
    model += read_text(fmt::format("{}/testdata/{}/model.json", kSourceFolder, folder), "model");
  size_t blocks = 0;
  const std::filesystem::path folder = std::filesystem::path(kSourceFolder) / "models" / "std";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const JsonValue file = parse_json(read_text(entry.path().string(), "include"), entry.path().string());
    CHECK(file.find("doc") != nullptr);
    for (const JsonMember& block : file.find("blocks")->members) {
      CAPTURE(block.key);
      ++blocks;
      CHECK(block.value.find("doc") != nullptr);
      const bool is_part = block.key.ends_with("_part") || block.key.ends_with("_step");  // called by others
      // generate_test.cpp, and the tests of references for experts, convolutions, positions and published models, run
      // these.
      const std::string stem = entry.path().stem();
      const bool elsewhere = stem == "decoding" || stem == "moe" || stem == "conv" || stem == "position" ||
                             stem == "language" || stem == "sparse" || stem == "latent" ||
                             block.key == "gelu_tanh" || block.key == "coordinates" || block.key == "halting";
      CHECK((is_part || elsewhere || model.find("\"block\": \"" + block.key + "\"") != std::string::npos));
    }
  }
  CHECK(blocks >= 20);
}

TEST_CASE("a library that is not there, and one that is meant") {
  const auto said = [](const std::string& include) {
    const Outcome found = outcome_of(
        fmt::format("echo '{{\"mtfc\": 1, \"include\": [\"{}\"], \"ops\": []}}' | '{}' check - 2>&1", include,
                    kTestedProgram));
    CHECK(found.code == 2);
    return found.text;
  };
  CHECK(said("std/atention.json") ==
        "<stdin>:1:25: error: /include/0: the library has no 'std/atention.json' (did you mean "
        "'std/attention.json'?)\n");
  CHECK(
      said("std/mixture_of_experts.json").find("the library has std/activation.json, std/attention.json, ") !=
      std::string::npos);
  CHECK(said("nowhere/a.json") ==
        "<stdin>:1:25: error: /include/0: cannot read the include 'nowhere/a.json': No such file or "
        "directory\n");
}

}  // namespace mtfc::transformer_test
