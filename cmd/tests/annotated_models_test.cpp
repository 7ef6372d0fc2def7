// Models with loops, microbatches and layers under random annotations: a run must be the same as on one device.
//
// MTFC_CASES and MTFC_SEED choose how many cases and which.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/sanitized.h"
#include "core/testing/settings.h"
#include "formats/model/model_reader.h"

namespace mtfc::annotated_models_test {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kCases = kSanitized ? 40 : 60;

struct Example {
  std::string file;  // below the project's folder
  std::vector<std::string> sets = {};
  std::string options = {};
};

// Sizes that most meshes don't divide.
const std::vector<Example> kExamples = {
    {"testdata/loops/nested.json", {"batch=7", "inner_rounds=2", "outer_rounds=3"}},
    {"testdata/loops/power.json"},
    {"testdata/loops/feedback.json"},
    {"testdata/loops/exchanged.json"},
    {"models/mnist.json", {"batch=6", "hidden=5"}, "--microbatches 3"},
    {"models/transformer_lm.json",
     {"layers=1", "batch=4", "length=5", "d_model=6", "d_ff=7", "heads=3", "d_kv=2", "vocab=11"},
     "--microbatches 2"},
};

const std::vector<std::vector<std::pair<std::string, int>>> kMeshes = {
    {{"p", 2}}, {{"p", 3}}, {{"p", 4}}, {{"p", 2}, {"q", 2}}, {{"p", 3}, {"q", 2}}};

// The dimensions of each tensor of the graph and its loops that a layout can name.
void add_named(const Graph& graph, std::map<std::string, Dims>& named) {
  for (const Tensor& tensor : graph.tensors())
    if (tensor.from_model) named.emplace(tensor.name, tensor.type.dims);
  for (const Node& node : graph.nodes())
    if (node.loop) {
      add_named(node.loop->condition.graph, named);
      add_named(node.loop->body.graph, named);
    }
}

std::map<std::string, Dims> named_tensors(const Model& model) {
  std::map<std::string, Dims> named;
  add_named(model.graph, named);
  if (model.train)
    for (const VariableDecl& variable : model.variables)
      if (variable.trainable) named.emplace(variable.name + "/grad", variable.type.dims);
  std::erase_if(named, [](const auto& entry) { return entry.second.empty(); });
  return named;
}

class LayoutDraft {
 public:
  explicit LayoutDraft(uint64_t seed) : random_(seed) {}

  size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }
  bool chance(double of) { return std::uniform_real_distribution<>()(random_) < of; }

  Json layout(const std::map<std::string, Dims>& named, const Dims& dims) {
    const auto& mesh = kMeshes[below(kMeshes.size())];
    Json made = {{"mesh", Json::array()}, {"rules", Json::array()}, {"shardings", Json::object()}};
    for (const auto& [axis, size] : mesh) made["mesh"].push_back({axis, size});
    const Json ruled = splits(dims, mesh, 0.2);
    for (const auto& rule : ruled.items()) made["rules"].push_back({rule.key(), rule.value()});
    const size_t annotations = 1 + below(4);
    for (size_t i = 0; i < annotations; ++i) {
      const auto tensor = std::next(named.begin(), static_cast<std::ptrdiff_t>(below(named.size())));
      const Json split = splits(tensor->second, mesh, 0.8);
      if (chance(0.7))
        made["shardings"][tensor->first] = split;
      else
        for (const auto& rule : split.items())
          made["rules"].push_back({rule.key(), rule.value(), {{"in", tensor->first}}});
    }
    made["propagate"] = chance(0.5);
    return made;
  }

 private:
  // Each axis splits one of the dimensions, or none.
  Json splits(const Dims& dims, const std::vector<std::pair<std::string, int>>& mesh, double often) {
    Json made = Json::object();
    for (const auto& [axis, size] : mesh) {
      if (!chance(often)) continue;
      Json& axes = made[dims[below(dims.size())].name];
      if (axes.is_null()) axes = Json::array();
      axes.push_back(axis);
    }
    return made;
  }

  std::mt19937_64 random_;
};

// What `mtfc verify` says of the example under a layout.
std::string verified(const Example& example, const std::string& layout) {
  std::string sets;
  for (const std::string& set : example.sets) sets += " --set " + set;
  return outcome_in_models(
      fmt::format("(echo '{}' | MTFC_VERIFY_PASSES=1 $MTFC verify --quiet ../{}{} {} --layout -)", layout,
                  example.file, sets, example.options));
}

}  // namespace

TEST_CASE("a result of a round may be annotated otherwise than the loop carries it") {
  for (const char* annotated : {"loop/twice", "loop/again", "loop/mixed"})
    for (const char* layout : {R"("rules":[],"shardings":{"TENSOR":{"batch":"p"}})",
                               R"("rules":[["batch","p",{"in":"TENSOR"}]])"}) {
      std::string text = layout;
      text.replace(text.find("TENSOR"), 6, annotated);
      CAPTURE(text);
      CHECK(verified({"testdata/loops/exchanged.json"}, R"({"mesh":{"p":2},)" + text + "}")
                .starts_with("exit 0: the same as on one device"));
    }
}

TEST_CASE("a tensor that a loop makes is compared with its forms of the same round") {
  const Example nested{"testdata/loops/nested.json", {"batch=7", "inner_rounds=2", "outer_rounds=3"}};
  const std::vector<std::string> layouts = {
      // Made once, after the last round, of a tensor that each round makes.
      R"({"mesh":{"p":3,"q":2},"shardings":{"y.2":{"model":["p","q"]}}})",
      R"({"mesh":{"p":3,"q":2},"shardings":{"v":{"model":["p","q"]}}})",
      // Made in each round, of a tensor that stays as it is.
      R"({"mesh":{"p":2,"q":2},"shardings":{"outer/inner/d":{"batch":"p","model":"q"}},"propagate":true})"};
  for (const std::string& layout : layouts) {
    CAPTURE(layout);
    CHECK(verified(nested, layout).starts_with("exit 0: the same as on one device"));
  }
}

TEST_CASE("models with loops and microbatches run the same under random annotations") {
  const int64_t cases = setting("MTFC_CASES", kCases), first = first_seed();
  std::vector<std::map<std::string, Dims>> named;
  std::vector<Dims> dims;
  for (const Example& example : kExamples) {
    const std::string file = std::string(kSourceFolder) + "/" + example.file;
    std::vector<Diagnostic> warnings;
    IncludedFiles includes;
    const Model model = read_model(read_text(file, "model"), file, example.sets, warnings,
                                   {[&](const IncludeName& name) { return includes.read(name); }});
    named.push_back(named_tensors(model));
    dims.push_back(model.dims);
  }
  int64_t refused = 0, failed = 0;
  for (int64_t i = 0; i < cases && failed < 3; ++i) {
    LayoutDraft draft(static_cast<uint64_t>(first + i));
    const size_t chosen = draft.below(kExamples.size());
    const Example& example = kExamples[chosen];
    const std::string layout = draft.layout(named[chosen], dims[chosen]).dump();
    const std::string outcome = verified(example, layout);
    if (outcome.starts_with("exit 0: ")) continue;
    // Some layouts are not legal: two dimensions of a tensor split over one axis by rules, for example.
    if (outcome.starts_with("exit 2: ")) {
      ++refused;
      continue;
    }
    ++failed;
    FAIL_CHECK(fmt::format("seed {}: {} under {}\n{}", first + i, example.file, layout, outcome));
  }
  MESSAGE(fmt::format("{} cases from seed {}, {} refused", cases, first, refused));
  CHECK(failed == 0);
  CHECK(refused < cases / 4 + 1);
}

}  // namespace mtfc::annotated_models_test
