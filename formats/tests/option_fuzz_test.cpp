// Runs thousands of mutants of checkpoint.json, of --map and of data specs through their readers: each must be accepted
// or refused with one line, quickly, and what is accepted must hold what its reader promises. MTFC_CASES and MTFC_SEED
// are as in input_fuzz_test.cpp.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "core/diagnostics/error.h"
#include "core/testing/sanitized.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/settings.h"
#include "formats/data/checkpoint_notes.h"
#include "formats/data/data_spec.h"
#include "formats/data/name_map.h"
#include "formats/testing/fuzz_guard.h"
#include "formats/testing/mutation.h"

namespace mtfc::option_fuzz_test {
namespace {

constexpr int64_t kCases = kSanitized ? 500 : 2000;  // most of which write a file

// Runs `attempt`, which returns "" or a problem. A refusal is no problem.
std::string problem_with(const std::function<std::string()>& attempt, int64_t& accepted) {
  try {
    const std::string problem = attempt();
    ++accepted;
    return problem;
  } catch (const Error& error) {
    const std::string text = error.what();
    const bool is_refusal = exit_code(error) == kExitUserError || exit_code(error) == kExitRunFailed;
    if (!is_refusal) return text;
    return text.find('\n') == std::string::npos ? "" : "a message of several lines";
  } catch (const std::exception& error) {
    return error.what();
  }
}

using Attempt = std::function<std::string(Mutator&, std::string& input)>;

// Tries many cases. `attempt` stores its input for the message of a failure.
void tried(const Vocabulary& vocabulary, const Attempt& attempt) {
  const int64_t cases = setting("MTFC_CASES", kCases), first = first_seed();
  int64_t accepted = 0, failed = 0;
  FuzzGuard guard;
  for (int64_t i = 0; i < cases && failed < 5; ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    guard.watch(seed);
    Mutator mutator(seed, vocabulary);
    std::string input;
    const std::string problem =
        problem_with([&] { return attempt(mutator, input); }, accepted) + guard.too_slow();
    if (problem.empty()) continue;
    ++failed;
    FAIL_CHECK(fmt::format("seed {}: {}\n{}", seed, problem, input.substr(0, 3000)));
  }
  MESSAGE(fmt::format("{} cases from seed {}: {} accepted", cases, first, accepted));
  CHECK(accepted > cases / 50);
  CHECK(accepted < cases);
}

std::string drawn_text(Mutator& mutator, const std::vector<std::string>& parts, size_t most) {
  std::string text;
  for (size_t i = mutator.pick(mutator.chance(5) ? 30 * most : most) + 1; i > 0; --i)
    text += mutator.one_of(parts);
  return text;
}

std::string number_text(Mutator& mutator) {
  if (mutator.chance(70)) return mutator.one_of(boundary_numbers());
  return mutator.chance(50) ? mutator.expression() : mutator.one_of(boundary_numbers()) + "/255";
}

// A source with options whose numbers are near the ends of the types.
std::string drawn_spec(Mutator& mutator) {
  const bool is_random = mutator.chance(60);
  std::string spec = mutator.one_of(
      is_random
          ? std::vector<std::string>{"random:int", "random:int", "random:uniform", "random:normal"}
          : std::vector<std::string>{"/none.npy", "idx:/none", "text:/none", "tokens:/none", "present"});
  const std::vector<std::string> keys = is_random ? std::vector<std::string>{"lo", "hi", "scale"}
                                                  : std::vector<std::string>{"rows", "shift", "scale"};
  for (const std::string& key : keys) {
    if (mutator.chance(key == "hi" ? 10 : 50)) continue;
    spec += fmt::format(",{}={}", key, number_text(mutator));
    if (key == "rows") spec += ":" + number_text(mutator);
  }
  return mutator.chance(10) ? mutator.mutated_bytes(spec, 3) : spec;
}

// Returns a problem if the random numbers of `source` do not fit `dtype`.
std::string misfit(const RandomSource& source, DType dtype, double scale) {
  if (!std::isfinite(source.high - source.low) || !(source.low < source.high)) return "bad bounds";
  const double most = std::max(std::abs(source.low), std::abs(source.high)) * std::abs(scale);
  if (!std::isfinite(most) || (dtype == DType::kF32 && !fits_f32(most))) return "numbers become infinite";
  if (source.kind == RandomKind::kInteger && most > 0x1p53 * std::abs(scale)) return "numbers are not exact";
  if (dtype == DType::kI32 && (source.low < -0x1p31 || source.high > 0x1p31)) return "numbers wrap around";
  if (dtype == DType::kBool && (source.low < 0 || source.high > 2)) return "numbers are no bools";
  return "";
}

}  // namespace

TEST_CASE("mutants of checkpoint.json are read as they would be written, or refused") {
  const ScratchFolder folder;
  const std::string whole = checkpoint_json({"char_lm",
                                             100,
                                             7,
                                             1600,
                                             {"layers=2", "lr=0.1"},
                                             "bf16",
                                             {{"batch", 16}, {"layers", 2}, {"lr", 0.1}},
                                             {{"tokens", {"corpus.txt", 1115394, 0x0123456789abcdef}}}});
  // Without the checksum, which nearly every mutant would break.
  const std::string good = whole.substr(0, whole.rfind(",\"checksum\":")) + "}";
  Vocabulary vocabulary;
  vocabulary.learn(parse_json(whole, ""));
  tried(vocabulary, [&](Mutator& mutator, std::string& input) -> std::string {
    input = mutator.mutated_json(good);
    const CheckpointNotes notes = read_checkpoint_notes(folder.write("checkpoint.json", input));
    if (notes.step < 0 || notes.rows < 0) return "a negative count";
    const CheckpointNotes again =
        read_checkpoint_notes(folder.write("checkpoint.json", checkpoint_json(notes)));
    return again.step == notes.step && again.seed == notes.seed && again.rows == notes.rows &&
                   again.dtype == notes.dtype
               ? ""
               : "the notes change when they are written again";
  });
}

TEST_CASE("counts in checkpoint.json are whole numbers, and nothing is cut off from others") {
  const ScratchFolder folder;
  const auto read = [&](const std::string& key, const std::string& number) {
    std::map<std::string, std::string> numbers = {
        {"mtfc_checkpoint", "1"}, {"step", "3"}, {"seed", "7"}, {"rows", "12"}};
    numbers[key] = number;
    std::string text;
    for (const auto& [name, value] : numbers)
      text += fmt::format("{}\"{}\":{}", text.empty() ? "{" : ",", name, value);
    return read_checkpoint_notes(folder.write("checkpoint.json", text + "}"));
  };
  CHECK(read("step", "4").step == 4);
  for (const std::string key : {"mtfc_checkpoint", "step", "seed", "rows"})
    for (const std::string number : {"1.5", "1.0", "1e3", "-1", "\"1\""}) {
      CAPTURE(key);
      CAPTURE(number);
      CHECK_THROWS_AS(read(key, number), RunError);
    }
}

TEST_CASE("mutants of --map rename, or are refused") {
  const ScratchFolder folder;
  const std::vector<std::string> from = {"a", "b", "a", "*", "*", "*", ".", "/", "*/", "h."};
  const std::vector<std::string> to = {"a", "b", ".", "/", "x", "x/", "h.", "layer_", "*"};
  tried({}, [&](Mutator& mutator, std::string& input) -> std::string {
    std::vector<std::string> rules;
    for (size_t i = mutator.pick(3) + 1; i > 0; --i)
      rules.push_back(drawn_text(mutator, from, 12) +
                      (mutator.chance(95) ? "=" + drawn_text(mutator, to, 4) : ""));
    size_t length = 0;
    for (const std::string& rule : rules) length += rule.size();
    for (const std::string& rule : rules) input += rule + (mutator.chance(90) ? "\n" : "\r\n\n# ");
    constexpr size_t kMostAdded = 64;  // by mutations
    if (mutator.chance(20)) input = mutator.mutated_bytes(input, 4);
    const NameMap map(mutator.chance(50) ? rules
                                         : std::vector<std::string>{folder.write("names.map", input)});
    std::vector<std::string> names;
    for (int i = 0; i < 5; ++i) names.push_back(drawn_text(mutator, {"a", "b", "ab", ".", "/", "h."}, 40));
    for (const std::string& name : names)
      if (const std::optional<Placement> placed = map.placed(name))
        for (const std::string& variable : placed->variables)
          if (variable.size() > name.size() + length + kMostAdded) return "a name that is too long";
    if (mutator.chance(30)) map.require_use(names);
    return "";
  });
}

TEST_CASE("specs with numbers near the ends of the types fit their input, or are refused") {
  const NameLookup lookup = lookup_of(Dims{{"vocab", 100}});
  const std::vector<DType> dtypes = {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kBool};
  tried({{"vocab", "min(vocab, 7)"}, {}, {}}, [&](Mutator& mutator, std::string& input) -> std::string {
    const DType dtype = mutator.one_of(dtypes);
    const std::string spec = drawn_spec(mutator);
    input = to_string(dtype) + " " + spec;
    check_data_spec({"x", dtype}, spec, lookup);
    if (!spec.starts_with("random:")) return "";
    const InputData data = read_input_data({"x", dtype}, spec, lookup);
    return misfit(std::get<RandomSource>(data.source), dtype, data.scale);
  });
}

}  // namespace mtfc::option_fuzz_test
