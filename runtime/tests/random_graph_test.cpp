// Random graphs under random layouts must give the same values, counts and variables as on one device and in
// the interpreter.
//
// MTFC_CASES and MTFC_SEED choose how many cases and which; scripts/fuzz_layouts.sh runs many. The smallest
// case that still fails is written as a model and a layout file to the folder MTFC_FAILURES, or to the folder
// for temporary files.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "core/testing/sanitized.h"
#include "core/testing/settings.h"
#include "runtime/testing/differential.h"
#include "runtime/testing/gradient_check.h"
#include "runtime/testing/model_json.h"
#include "runtime/testing/random_models.h"

namespace mtfc::random_graph_test {
namespace {

constexpr int64_t kCases = kSanitized ? 100 : 500;
constexpr int64_t kAnnotatedCases =
    kSanitized ? 30 : 150;  // plans of small tensors over several axes take long to choose
constexpr int64_t kLimitedCases = kSanitized ? 60 : 100;

// `draw`: gives the case of a seed.
void compare_random_cases(RandomCase (*draw)(uint64_t), int64_t by_default) {
  const int64_t cases = setting("MTFC_CASES", by_default), first = setting("MTFC_SEED", 1);
  int64_t skipped = 0, failed = 0;
  for (int64_t i = 0; i < cases && failed < 3; ++i) {
    const RandomCase drawn = draw(static_cast<uint64_t>(first + i));
    const Outcome outcome = try_case(drawn);
    skipped += outcome.skipped;
    if (outcome.problem.empty()) continue;
    ++failed;
    const RandomCase small = shrunk(drawn);
    const char* folder = std::getenv("MTFC_FAILURES");
    FAIL_CHECK(
        fmt::format("seed {}: {}\nshrunk: {}\n{}{}", first + i, outcome.problem, try_case(small).problem,
                    to_string(small),
                    saved_case(small, folder ? folder : std::filesystem::temp_directory_path().string())));
  }
  MESSAGE(fmt::format("{} cases from seed {}, {} skipped for their large values", cases, first, skipped));
  CHECK(failed == 0);
  CHECK(skipped < cases / 4 + 1);
}

TEST_CASE("random graphs give the same under random layouts") {
  compare_random_cases(random_case, kCases);
}

TEST_CASE("random graphs give the same under random annotations, propagated or not") {
  compare_random_cases(annotated_case, kAnnotatedCases);
}

TEST_CASE("gradients of random graphs are their slopes") {
  const int64_t cases = setting("MTFC_CASES", kCases), first = setting("MTFC_SEED", 1);
  int64_t compared = 0, failed = 0;
  for (int64_t i = 0; i < cases && failed < 3; ++i) {
    const RandomCase drawn = random_case(static_cast<uint64_t>(first + i));
    const GradientOutcome outcome = compare_gradients(drawn);
    compared += outcome.compared;
    if (outcome.fault.empty()) continue;
    ++failed;
    FAIL_CHECK(fmt::format("seed {}: {}\n{}", first + i, outcome.fault, to_string(drawn)));
  }
  MESSAGE(fmt::format("{} slopes compared", compared));
  CHECK(failed == 0);
  CHECK(compared > cases / 50);
}

TEST_CASE("random graphs give the same within limits of memory") {
  const int64_t cases = setting("MTFC_CASES", kLimitedCases), first = setting("MTFC_SEED", 1);
  int64_t limits = 0, sets = 0, failed = 0;
  for (int64_t i = 0; i < cases && failed < 3; ++i) {
    const RandomCase drawn = random_case(static_cast<uint64_t>(first + i));
    const LimitOutcome outcome = compare_limits(drawn);
    limits += outcome.limits;
    sets += outcome.sets;
    if (outcome.fault.empty()) continue;
    ++failed;
    FAIL_CHECK(fmt::format("seed {}: {}\n{}", first + i, outcome.fault, to_string(drawn)));
  }
  MESSAGE(fmt::format("{} limits under which tensors are computed again, {} sets of tensors", limits, sets));
  CHECK(failed == 0);
  CHECK(limits + sets > cases / 50);
}

}  // namespace
}  // namespace mtfc::random_graph_test
