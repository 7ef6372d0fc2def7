// Runs thousands of saved programs with mistakes through read_program: each must be read or refused with a
// UserError, quickly, and without much memory; accepted ones can be costed and saved. MTFC_CASES, MTFC_SEED
// and MTFC_DUMP are as in input_fuzz_test.cpp.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "core/testing/sanitized.h"
#include "core/testing/settings.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "formats/program/program_reader.h"
#include "formats/program/program_writer.h"
#include "formats/report/report_writer.h"
#include "formats/testing/fuzz_guard.h"
#include "formats/testing/mutation.h"
#include "formats/testing/seed_models.h"

namespace mtfc::program_fuzz_test {
namespace {

constexpr int64_t kCases = kSanitized ? 500 : 3000;
constexpr int64_t kMostCosted = 1000;

// Returns the saved program of one model under a layout that splits its first two dimensions; "" if that
// can't be compiled, or is so large that a mistake would rarely hit anything important.
std::string saved(const std::string& model_text, bool split) {
  constexpr size_t kLargest = 60000;
  try {
    std::vector<Diagnostic> warnings;
    Model model = read_model(model_text, "model.json", {}, warnings);
    for (InputDecl& input : model.inputs)  // so that the result can be run
      if (input.source.empty()) input.source = "random:int,lo=0,hi=2";
    LayoutSources layout;
    if (split) layout.mesh = "p:2,q:3";
    if (split && model.dims.size() > 1)
      layout.rules = fmt::format("{}:p,{}:q", model.dims[0].name, model.dims[1].name);
    const std::string text = program_json(compile(model, read_layout(layout), with_decode()));
    return text.size() < kLargest ? text : "";
  } catch (const UserError&) {
    return "";
  }
}

struct Seeds {
  std::vector<std::string> programs;
  Vocabulary vocabulary;
  Seeds() {
    for (const std::vector<std::string>& models : {example_models(), bundled_models()})
      for (const std::string& model : models)
        for (const bool split : {false, true})
          if (std::string text = saved(model, split); !text.empty()) programs.push_back(std::move(text));
    // Programs are much alike: a few contain every key and most values.
    for (size_t i = 0; i < programs.size(); i += 8) vocabulary.learn(parse_json(programs[i], ""));
  }
};

std::string problem_with(const std::string& text, bool& is_read) {
  try {
    const Program program = read_program(text, "program.json");
    // The time to count an exchange grows with the square of its group.
    const bool is_small = program.mesh().devices() <= kMostCosted;
    for (size_t i = 0; is_small && i < program.entry_points.size(); ++i) {
      const EntryPoint& entry = program.entry_points[i];
      report_json({cost_report(program, entry, predicted_counts(program, entry))});
    }
    program_text(program);
    program_json(program);
    is_read = true;
  } catch (const UserError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics())
      if (to_string(diagnostic).find('\n') != std::string::npos) return "a message of several lines";
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("mutants of saved programs are read or refused with a message") {
  const int64_t cases = setting("MTFC_CASES", kCases), first = first_seed();
  const char* dump = std::getenv("MTFC_DUMP");
  const Seeds seeds;
  REQUIRE(seeds.programs.size() > 100);
  int64_t read = 0, failed = 0;
  FuzzGuard guard;
  for (int64_t i = 0; i < cases && failed < 5; ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    Mutator mutator(seed, seeds.vocabulary);
    const std::string text = mutator.mutated_json(mutator.one_of(seeds.programs));
    if (dump) {
      std::ofstream(fmt::format("{}/{}.json", dump, seed), std::ios::binary) << text;
      continue;
    }
    guard.watch(seed);
    bool is_read = false;
    std::string problem = problem_with(text, is_read);
    problem += guard.too_slow();
    read += is_read;
    if (problem.empty()) continue;
    ++failed;
    const std::string kept = fmt::format("mtfc_fuzz_{}.json", seed);
    std::ofstream(kept, std::ios::binary) << text;
    FAIL_CHECK(fmt::format("seed {}: {} (kept as {})", seed, problem, kept));
  }
  MESSAGE(fmt::format("{} cases from seed {} of {} programs: {} read", cases, first, seeds.programs.size(),
                      read));
  CHECK(failed == 0);
  if (!dump) CHECK(read > cases / 50);
  if (!dump) CHECK(read < cases / 2);
}

}  // namespace mtfc::program_fuzz_test
