// Runs thousands of models and layouts with mistakes through reading, checking and compiling: each must be
// accepted or answered with a UserError, quickly, and without much memory.
//
// MTFC_CASES and MTFC_SEED choose how many cases and which, one seed per case; MTFC_DUMP names a folder to
// which they are written instead. scripts/fuzz_inputs.sh runs many. A case that fails is written to
// mtfc_fuzz_SEED.json.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/compile/pipeline.h"
#include "core/testing/checkout.h"
#include "core/testing/sanitized.h"
#include "core/testing/settings.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "formats/testing/fuzz_guard.h"
#include "formats/testing/mutation.h"
#include "formats/testing/seed_models.h"

namespace mtfc::input_fuzz_test {
namespace {

constexpr int64_t kCases = kSanitized ? 500 : 5000;

struct FuzzCase {
  std::string model;
  std::vector<std::string> sets;
  LayoutSources layout;
};

bool is_accepted(const std::string& text) {
  try {
    std::vector<Diagnostic> warnings;
    read_model(text, "model.json", {}, warnings, {bundled_include});
    return true;
  } catch (const UserError&) {
    return false;
  }
}

struct Seeds {
  std::vector<std::string> examples = example_models(), models = bundled_models(), layouts = seed_layouts();
  std::vector<std::string> right;  // those of the bundled models that are accepted
  Vocabulary vocabulary;
  Seeds() {
    std::copy_if(models.begin(), models.end(), std::back_inserter(right), is_accepted);
    for (const std::vector<std::string>* texts : {&examples, &models, &layouts})
      for (const std::string& text : *texts) try {
          vocabulary.learn(parse_json(text, ""));
        } catch (const UserError&) {  // some of testdata/ is not JSON
        }
  }
};

FuzzCase make_case(const Seeds& seeds, uint64_t seed) {
  Mutator mutator(seed, seeds.vocabulary);
  FuzzCase made;
  made.model = mutator.one_of(mutator.chance(50)   ? seeds.examples
                              : mutator.chance(60) ? seeds.right
                                                   : seeds.models);
  if (!mutator.chance(10)) made.model = mutator.mutated_json(made.model);
  if (mutator.chance(10))
    made.sets = {mutator.one_of(seeds.vocabulary.words) + "=" + mutator.expression(), mutator.expression()};
  if (mutator.chance(20)) {
    made.layout.file = "layout.json";
    made.layout.file_text = mutator.mutated_json(mutator.one_of(seeds.layouts));
    return made;
  }
  made.layout.mesh = mutator.one_of(std::vector<std::string>{"p:2,q:3", "p:2", "p:4,q:2,r:1", "p:4096,q:64"});
  std::string rules;
  for (const char* axis : {"p", "q"})
    rules += fmt::format("{}:{},", mutator.one_of(seeds.vocabulary.words), axis);
  try {  // dimensions that the model has are more telling
    const JsonValue model = parse_json(made.model, "");
    const JsonValue* dims = model.find("dims");
    if (dims && !dims->members.empty()) {
      const size_t count = dims->members.size(), first = mutator.pick(count);
      rules = dims->members[first].key + ":p";
      if (count > 1) rules += "," + dims->members[(first + 1 + mutator.pick(count - 1)) % count].key + ":q";
    }
  } catch (const UserError&) {
  }
  made.layout.rules = mutator.chance(10) ? mutator.mutated_bytes(rules, 3) : rules;
  if (mutator.chance(5)) made.layout.mesh = mutator.mutated_bytes(*made.layout.mesh, 3);
  return made;
}

enum class Outcome { kCompiled, kLayoutRefused, kRefused, kFailed };

// Any exception other than a UserError is a bug of ours, including std::bad_alloc.
Outcome outcome_of(const FuzzCase& fuzz_case, std::string& problem) {
  Outcome refused = Outcome::kRefused;
  try {
    std::vector<Diagnostic> warnings;
    const Model model =
        read_model(fuzz_case.model, "model.json", fuzz_case.sets, warnings, {bundled_include});
    compile(model, read_layout({}), with_decode());
    refused = Outcome::kLayoutRefused;
    compile(model, read_layout(fuzz_case.layout), with_decode());
    return Outcome::kCompiled;
  } catch (const UserError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics())
      if (to_string(diagnostic).find('\n') != std::string::npos) problem = "a message of several lines";
  } catch (const std::exception& error) {
    problem = error.what();
  }
  return problem.empty() ? refused : Outcome::kFailed;
}

std::string as_text(const FuzzCase& fuzz_case) {
  return fuzz_case.model;
}

void dump(const FuzzCase& fuzz_case, const std::string& folder, uint64_t seed) {
  const std::string stem = fmt::format("{}/{}", folder, seed);
  std::ofstream(stem + ".json", std::ios::binary) << fuzz_case.model;
  if (fuzz_case.layout.file_text)
    std::ofstream(stem + ".layout.json", std::ios::binary) << *fuzz_case.layout.file_text;
}

}  // namespace

TEST_CASE("every example of the registry is a model") {
  for (const std::string& text : example_models()) {
    CAPTURE(text);
    std::vector<Diagnostic> warnings;
    CHECK_NOTHROW(compile(read_model(text, "model.json", {}, warnings), read_layout({}), with_decode()));
  }
}

TEST_CASE("models that compilation once failed on compile") {
  int tried = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(kSourceFolder) + "/testdata/compiles")) {
    const std::string path = file.path().string();
    CAPTURE(path);
    std::vector<Diagnostic> warnings;
    std::ifstream stream(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    CHECK_NOTHROW(compile(read_model(text, path, {}, warnings), read_layout({}), with_decode()));
    ++tried;
  }
  CHECK(tried >= 2);
}

TEST_CASE("mutants of models and layouts are accepted or refused with a message") {
  const int64_t cases = setting("MTFC_CASES", kCases), first = setting("MTFC_SEED", 1);
  const char* folder = std::getenv("MTFC_DUMP");
  const Seeds seeds;
  int64_t compiled = 0, layouts_refused = 0, refused = 0, failed = 0;
  FuzzGuard guard;
  for (int64_t i = 0; i < cases && failed < 5; ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    const FuzzCase fuzz_case = make_case(seeds, seed);
    if (folder) {
      dump(fuzz_case, folder, seed);
      continue;
    }
    guard.watch(seed);
    std::string problem;
    const Outcome outcome = outcome_of(fuzz_case, problem);
    problem += guard.too_slow();
    compiled += outcome == Outcome::kCompiled;
    layouts_refused += outcome == Outcome::kLayoutRefused;
    refused += outcome == Outcome::kRefused;
    if (problem.empty()) continue;
    ++failed;
    dump(fuzz_case, ".", seed);
    FAIL_CHECK(fmt::format("seed {}: {}\n{}", seed, problem, as_text(fuzz_case).substr(0, 3000)));
  }
  MESSAGE(fmt::format("{} cases from seed {}: {} compiled, {} refused for the layout, {} for the model",
                      cases, first, compiled, layouts_refused, refused));
  CHECK(failed == 0);
  if (!folder) CHECK(compiled > cases / 20);
  if (!folder) CHECK(refused > cases / 20);
}

}  // namespace mtfc::input_fuzz_test
