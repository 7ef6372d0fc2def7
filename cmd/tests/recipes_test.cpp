// The recipes and the variants of the bundled models: GShard's way to train, vocabularies of their own for sources,
// dropout of inputs, perplexity.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "cmd/testing/shell.h"
#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "core/testing/checkout.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"

namespace mtfc::recipes_test {
namespace {

using Json = nlohmann::ordered_json;

Program experts_program(const std::vector<std::string>& sets) {
  const std::string file = std::string(kSourceFolder) + "/models/moe_encdec.json";
  IncludedFiles includes;
  std::vector<Diagnostic> warnings;
  const Model model = read_model(read_text(file, "model"), file, sets, warnings,
                                 {[&](const IncludeName& name) { return includes.read(name); }, {}});
  CHECK(warnings.empty());
  LayoutSources sources;
  sources.mesh = "rows:32,cols:64";
  sources.rules = "batch:rows+cols,experts:rows+cols";
  Layout layout = read_layout(sources);
  layout.propagate = true;
  return compile(model, layout, {});
}

// The metrics of one evaluation or of the first training step.
Json metrics_of(const std::string& arguments) {
  const Outcome found = outcome_of(
      fmt::format("'{}' run '{}/models/{} --quiet --metrics -", kTestedProgram, kSourceFolder, arguments));
  CHECK(found.code == 0);
  return Json::parse(found.text.substr(0, found.text.find('\n')));
}

const std::string kSizes =
    " --set layers=2 --set d_model=16 --set d_ff=24 --set heads=2 --set d_kv=6 --set vocab=97 --set length=9";

}  // namespace

TEST_CASE("GShard's recipe: Adafactor with a state that experts split, at the paper's size") {
  const std::vector<std::string> sets = {"gshard=1",    "layers=2",    "experts=2048", "batch=4096",
                                         "length=1024", "tokens=1024", "d_model=1024", "d_ff=8192",
                                         "heads=16",    "d_kv=128",    "vocab=32768"};
  const Program program = experts_program(sets);
  const auto of = [&](const std::string& name) {
    for (const ProgramVariable& variable : program.variables)
      if (variable.decl.name == name) return to_string(variable.decl.type);
    return std::string("none");
  };
  const std::string experts = "encoder/layers_0/sparse/moe/dispatch/experts/";
  CHECK(of(experts + "wi/adafactor_vr") == "f32[experts=2048, d_model=1024]");
  CHECK(of(experts + "wi/adafactor_vc") == "f32[experts=2048, d_ff=8192]");
  CHECK(of(experts + "wo/adafactor_vr") == "f32[experts=2048, d_ff=8192]");
  CHECK(of(experts + "wo/adafactor_vc") == "f32[experts=2048, d_model=1024]");
  const EntryPoint& entry = *program.find("train");
  const CostReport report = cost_report(program, entry, predicted_counts(program, entry));
  // Two layers of experts, each with two weights, of one expert on each core.
  CHECK(report.memory.groups.at("experts").optimizer_state == 2 * 2 * (1024 + 8192) * 4);
  REQUIRE(program.learning_rate);
  CHECK(program.learning_rate->at(1) == doctest::Approx(0.01));
  CHECK(program.learning_rate->at(10000) == doctest::Approx(0.01));
  CHECK(program.learning_rate->at(40000) == doctest::Approx(0.005));
}

TEST_CASE("the experts train by GShard's recipe as by the other, alike under layouts") {
  for (const char* layout :
       {"", " --mesh a:2 --layout batch:a,experts:a --propagate", " --mesh a:2 --layout heads:a,d_ff:a"}) {
    const Outcome found =
        outcome_of(fmt::format("'{}' verify '{}/models/moe_encdec.json'{} --set gshard=1{} 2>&1",
                               kTestedProgram, kSourceFolder, kSizes, layout));
    CAPTURE(found.text);
    CHECK(found.code == 0);
  }
}

TEST_CASE("sources have a vocabulary of their own where the model says so, in generation as well") {
  const std::string model = fmt::format(
      "'{}/models/transformer_encdec.json'{} --set separate_vocab=1 --set "
      "source_vocab=31 --set input_dropout=0.2",
      kSourceFolder, kSizes);
  for (const char* layout : {"", " --mesh a:2 --layout vocab:a,source_vocab:a"}) {
    const Outcome found = outcome_of(fmt::format("'{}' verify {}{} 2>&1", kTestedProgram, model, layout));
    CAPTURE(found.text);
    CHECK(found.code == 0);
    CHECK(found.text.find("decode gives the model's logits at 9 positions") != std::string::npos);
  }
  const Outcome refused =
      outcome_of(fmt::format("'{}' generate {} --source-tokens 31 --greedy 2>&1", kTestedProgram, model));
  CHECK(refused.code != 0);
  CHECK(refused.text.find("'source_vocab' has 31") != std::string::npos);
}

TEST_CASE("perplexity is that of the labels, without smoothing, z-loss and the losses of experts") {
  for (const char* model : {"transformer_encdec.json'", "moe_encdec.json'"}) {
    CAPTURE(model);
    const Json plain = metrics_of(model + kSizes + " --evaluate --set smoothing=0");
    const double loss = plain[plain.contains("token_loss") ? "token_loss" : "loss"].get<double>();
    CHECK(plain["perplexity"].get<double>() == doctest::Approx(std::exp(loss)).epsilon(1e-5));
    const Json other = metrics_of(model + kSizes + " --evaluate --set smoothing=0.3 --set z_loss=0.1");
    CHECK(other["perplexity"].get<double>() == doctest::Approx(plain["perplexity"].get<double>()));
    CHECK(other["loss"].get<double>() > plain["loss"].get<double>());
  }
}

TEST_CASE("dropout of inputs changes training, and not evaluation") {
  for (const char* model : {"transformer_encdec.json'", "moe_encdec.json'"}) {
    const auto loss = [&](const std::string& more) {
      return metrics_of(model + kSizes + " " + more)["loss"].get<double>();
    };
    CHECK(loss("--steps 1 --set input_dropout=0.5") != loss("--steps 1"));
    CHECK(loss("--evaluate --set input_dropout=0.5") == loss("--evaluate"));
  }
}

}  // namespace mtfc::recipes_test
