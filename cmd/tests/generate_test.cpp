// Generation compared with a reference without caches and without a mesh (cmd/testing/generation_cases.h).

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cmd/running/weights.h"
#include "cmd/testing/generation_cases.h"
#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "runtime/generate/beam_search.h"
#include "runtime/generate/decoder.h"

namespace mtfc::generate_test {
namespace {

const GenerationCase kChars = {"char_lm", {"layers=2", "d_model=32", "d_ff=48", "heads=4", "length=18"}};
// Few sizes divide evenly, and both ends share one table.
const GenerationCase kWords = {
    "transformer_lm",
    {"layers=2", "d_model=20", "d_ff=31", "heads=3", "d_kv=7", "vocab=53", "length=17", "tie_embeddings=1"}};
// With so many places, the model itself drops no token either.
const GenerationCase kExperts = {"moe_lm",
                                 {"layers=3", "d_model=20", "d_ff=31", "heads=3", "d_kv=7", "vocab=53",
                                  "length=17", "experts=5", "capacity_factor=2.5"}};
// Positions in attention alone: rotations, and biases that grow with the distance.
const GenerationCase kRotary = {
    "transformer_lm",
    {"layers=2", "d_model=20", "d_ff=31", "heads=3", "d_kv=6", "vocab=53", "length=17", "rotary=100"}};
const GenerationCase kAlibi = {
    "transformer_lm",
    {"layers=2", "d_model=20", "d_ff=31", "heads=3", "d_kv=7", "vocab=53", "length=17", "alibi=1"}};
// The weights have names and shapes of their own.
const GenerationCase kGpt = {"gpt2", {"layers=2", "d_model=24", "heads=3", "positions=18", "vocab=53"}};

const std::vector<Split> kSplits = {{"a:2", "batch:a"},
                                    {"a:2", "heads:a,vocab:a,d_ff:a"},
                                    {"a:2,b:2", "batch:a,heads:b,vocab:b,d_ff:b"},
                                    {"a:3", "places:a,d_model:a"},
                                    {"a:4", "length:a,vocab:a"},
                                    {"a:2,b:2", "beam:a,heads:b"}};
const std::vector<Split> kExpertSplits = {
    {"a:2", "experts:a"}, {"a:2,b:2", "batch:a,experts:b"}, {"a:4", "experts:a,vocab:a"}};

bool mentions(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

// Steps two sequences of two beams each, all with different tokens.
void check_cached_logits(const GenerationCase& model, const Split& split) {
  CAPTURE(model.model);
  CAPTURE(split.rules);
  constexpr int64_t kBeams = 2, kRows = 2, kSteps = 12;
  Running run(program_of(model, {"batch=2", "beam=2"}, split, true), 3);
  Decoder decoder(run.executor);
  decoder.begin();
  Uncached reference(model, 3);
  std::vector<Tokens> all(kRows * kBeams);
  std::vector<BeamPast> pasts(kRows, BeamPast(kBeams, decoder.places()));
  double worst = 0;
  for (int64_t position = 0; position < kSteps; ++position) {
    Tokens tokens;
    std::vector<uint8_t> seen;
    for (size_t s = 0; s < all.size(); ++s) {
      tokens.push_back((position * 7 + static_cast<int64_t>(s) * 11 + 5) % 41);
      all[s].push_back(tokens.back());
    }
    for (BeamPast& past : pasts) {
      past.step(position);
      seen.insert(seen.end(), past.seen().begin(), past.seen().end());
    }
    decoder.step(position, tokens, seen);
    for (size_t s = 0; s < all.size(); ++s) {
      const std::span<const double> found = decoder.logits(static_cast<int64_t>(s) / kBeams);
      const std::vector<double> expected = reference.logits(all[s]);
      const size_t first = s % kBeams * expected.size();
      for (size_t i = 0; i < expected.size(); ++i)
        worst = std::max(worst, std::abs(found[first + i] - expected[i]));
    }
    // From here on both beams of the first sequence continue its second one.
    if (position == 5) {
      pasts[0].follow(Tokens{1, 1});
      all[0] = all[1];
    }
  }
  CHECK(worst < 1e-5);
}

}  // namespace

TEST_CASE("cached logits are those of the whole sequence, for every beam, position and layout") {
  for (const GenerationCase& model : {kChars, kWords, kGpt, kRotary, kAlibi}) {
    check_cached_logits(model, {});
    for (const Split& split : kSplits) check_cached_logits(model, split);
  }
}

TEST_CASE("experts that are split give the logits and the tokens of the whole model") {
  check_cached_logits(kExperts, {});
  for (const std::vector<Split>& splits : {kSplits, kExpertSplits})
    for (const Split& split : splits) check_cached_logits(kExperts, split);
  GenerationCase masked = kExperts;
  masked.sets.push_back("one_hot=1");
  check_cached_logits(masked, {});
  check_cached_logits(masked, kExpertSplits[1]);
  Uncached reference(kExperts);
  const std::string expected = ids(reference.greedy({7, 3, 40}, 13)) + "\n";
  CHECK(generated(kExperts, "--prompt-tokens 7,3,40 --length 13 --greedy") == expected);
  const std::string beams = generated(kExperts, "--prompt-tokens 7,3,40 --length 13 --beams 3");
  for (const Split& split : kExpertSplits) {
    CHECK(generated(kExperts, "--prompt-tokens 7,3,40 --length 13 --greedy " + split.simulated()) ==
          expected);
    CHECK(generated(kExperts, "--prompt-tokens 7,3,40 --length 13 --beams 3 " + split.simulated()) == beams);
  }
  CHECK(generated(kExperts,
                  "--prompt-tokens 7,3,40 --length 13 --greedy --mesh a:2 --layout batch:a,experts:a "
                  "--propagate") == expected);
}

TEST_CASE("greedy output is the uncached one on one, two, three and four ranks") {
  for (const GenerationCase& model : {kChars, kWords, kGpt}) {
    Uncached reference(model);
    const std::string expected = ids(reference.greedy({7, 3, 40}, 13)) + "\n";
    CHECK(generated(model, "--prompt-tokens 7,3,40 --length 13 --greedy") == expected);
    CHECK(generated(model, "--prompt-tokens 7,3,40 --length 13 --beams 1") == expected);
    CHECK(generated(model, "--prompt-tokens 7,3,40 --length 13 --top-k 1") == expected);
    // Ranks of one model run the same programs and kernels as those of another.
    for (const Split& split : kSplits)
      CHECK(generated(model, "--prompt-tokens 7,3,40 --length 13 --greedy " +
                                 (model.model == kWords.model ? split.options() : split.simulated())) ==
            expected);
    CHECK(generated(model,
                    "--prompt-tokens 7,3,40 --length 13 --greedy --simulate --mesh a:5,b:2 --layout "
                    "vocab:a,heads:b") == expected);
  }
}

TEST_CASE("a prompt that is read at once leads to the tokens that it leads to one by one") {
  const std::string prompt = "--prompt-tokens 7,3,40,12,9,31,2,25,50,1,17,44 --length 5";
  for (const GenerationCase& model : {kChars, kWords, kGpt, kExperts, kRotary, kAlibi}) {
    CAPTURE(model.model);
    Uncached reference(model);
    const std::string expected = ids(reference.greedy({7, 3, 40, 12, 9, 31, 2, 25, 50, 1, 17, 44}, 5)) + "\n";
    CHECK(generated(model, prompt + " --greedy --one-by-one") == expected);
    const std::string beams =
        with_rounded_scores(generated(model, prompt + " --beams 3 --samples 2 --one-by-one"));
    for (const Split& split : {kSplits[0], kSplits[1], kSplits[2], kSplits[4]}) {
      CAPTURE(split.rules);
      const Said greedy =
          said(fmt::format("{} {} --greedy {}", model_arguments(model), prompt, split.simulated()));
      CHECK(greedy.out == expected);
      CHECK(mentions(greedy.err, "11 positions of the prompt in "));
      CHECK(with_rounded_scores(generated(model, prompt + " --beams 3 --samples 2 " + split.simulated())) ==
            beams);
    }
    // Devices that share the places of a cache read prompts one by one.
    const Said apart =
        said(fmt::format("{} {} --greedy {}", model_arguments(model), prompt, kSplits[3].simulated()));
    CHECK(apart.out == expected);
    CHECK_FALSE(mentions(apart.err, "positions of the prompt"));
  }
}

TEST_CASE("of several prompts, what the shortest has is read at once") {
  const std::string prompts =
      "--prompt-tokens 7,3,40,12,9,31,2,25,50,1,17 --prompt-tokens 8,30,4,1,9,3,2,5,5,1,17,2,3 --greedy";
  for (const std::string& sets : {std::string(), std::string(" --set batch=1")}) {
    const Said at_once = said(fmt::format("{} {} --length 4{}", model_arguments(kGpt), prompts, sets));
    CHECK(mentions(at_once.err, sets.empty() ? "10 positions of the prompt" : "20 positions of the prompt"));
    CHECK(at_once.out == generated(kGpt, prompts + " --length 4 --one-by-one"));
  }
}

TEST_CASE("a long prompt that must be read token by token is a warning") {
  std::string prompt = "1";
  for (int i = 0; i < 70; ++i) prompt += ",2";
  const GenerationCase model = {"transformer_encdec", {"layers=1", "length=80"}};
  const Said found = said(fmt::format("{} --source-tokens 3,4 --greedy --length 2 --prompt-tokens {}",
                                      model_arguments(model), prompt));
  CHECK(found.code == 0);
  CHECK(mentions(
      found.err,
      "mtfc: warning: prompts are read token by token, since its caches hold what an encoder gives"));
}

TEST_CASE(
    "weights in fewer bits give the same tokens under every layout, from files and from initial values") {
  const ScratchFolder folder;
  const std::string prompt = "--prompt-tokens 7,3,40,12,9,31,2,25,50 --length 7 --greedy --seed 3";
  for (const GenerationCase& model : {kWords, kGpt, kExperts})
    for (const char* format : {"bf16", "int8"}) {
      CAPTURE(model.model);
      CAPTURE(format);
      const std::string arguments = fmt::format("{} --weights {}", prompt, format);
      const std::string expected = generated(model, arguments);
      CHECK(generated(model, arguments + " --one-by-one") == expected);
      for (const Split& split : kSplits)
        CHECK(generated(model, arguments + " " + split.simulated()) == expected);
      for (const char* rules : {"heads:a", "vocab:a"})
        CHECK(generated(model, fmt::format("{} --simulate --mesh a:2 --layout {} --propagate", arguments,
                                           rules)) == expected);
      CHECK(generated(model, arguments + " " + kSplits[2].options()) == expected);
      // The initial values are rounded by the program, those of a file as they are read.
      const std::string saved = folder / fmt::format("{}_{}", model.model, format);
      REQUIRE(outcome_of(fmt::format("'{}' run {} --steps 0 --seed 3 --quiet --checkpoint '{}'",
                                     kTestedProgram, model_arguments(model), saved))
                  .code == 0);
      const std::string from_file = fmt::format("{} --checkpoint '{}'", arguments, saved);
      CHECK(generated(model, from_file) == expected);
      for (const Split& split : {kSplits[1], kSplits[3]})
        CHECK(generated(model, from_file + " " + split.simulated()) == expected);
    }
}

// A model that adds up what it has seen. scaled: divided by the number of positions; low_rank: the output layer is a
// product of two weights; keeps: decode holds a weight in a cache.
constexpr const char* kAddingModel = R"json({
  "mtfc": 1, "name": "adding", "params": {"scaled": 0, "low_rank": 0, "keeps": 0},
  "dims": {"batch": 2, "length": 8, "memory": "length", "model": 4, "rank": 3, "vocab": 11, "places": "length"},
  "inputs": {"tokens": {"dims": ["batch", "length"], "dtype": "i32"}},
  "variables": {
    "table": {"dims": ["vocab", "model"], "init": {"normal": 1}},
    "a": {"dims": ["model", "rank"], "init": {"normal": 1}},
    "b": {"dims": ["rank", "vocab"], "init": {"normal": 1}}
  },
  "ops": [
    {"out": "e", "op": "gather", "in": ["table", "tokens"], "dim": "vocab"},
    {"out": "k", "op": "mul", "in": [{"op": "einsum", "in": ["e", "a"], "over": "model"}, {"expr": "1 / (1 + scaled * (length - 1))"
}]
},
    {"out": "mask", "op": "cast", "dtype": "f32", "in": {"op": "less_equal", "in": [{"op": "range", "dim": "memory"}, {"op": "range", "dim": "length"}]}},
    {"out": "h", "op": "einsum", "in": ["mask", {"op": "rename", "in": "k", "map": {"length": "memory"}}], "dims": ["batch", "length", "rank"]},
    {"out": "logits", "op": "einsum", "in": ["h", "b"], "dims": ["batch", "length", "vocab"]}
  ],
  "decode": {
    "inputs": {"token": {"dims": ["batch"], "dtype": "i32"}, "position": {"dims": [], "dtype": "i32"}},
    "variables": {"seen": {"dims": ["batch", "places", "rank"], "prompt": "k"}, "kept": {"dims": ["model", "rank"], "when": "keeps"}},
    "ops": [
      {"out": "e", "op": "gather", "in": ["table", "token"], "dim": "vocab"},
      {"out": "k", "op": "mul", "in": [{"op": "einsum", "in": ["e", "a"], "over": "model"}, {"expr": "1 / (1 + scaled * (length - 1))"}]},
      {"out": "all", "op": "update_slice", "in": ["seen", "k", "position"], "dim": "places"},
      {"op": "assign", "variable": "seen", "in": "all"},
      {"op": "assign", "variable": "kept", "in": "a", "when": "keeps"},
      {"out": "h", "op": "reduce_sum", "in": "all", "over": "places"},
      {"out": "more", "op": "einsum", "in": ["e", "kept"], "over": "model", "when": "keeps"},
      {"out": "both", "op": "add", "in": ["h", "more"], "when": "keeps"},
      {"out": "both", "op": "identity", "in": "h", "when": "not keeps"},
      {"out": "logits", "op": "einsum", "in": ["both", "b"], "over": "rank", "when": "not low_rank"},
      {"out": "ab", "op": "einsum", "in": ["a", "b"], "over": "rank", "when": "low_rank"},
      {"out": "logits", "op": "einsum", "in": ["e", "ab"], "over": "model", "when": "low_rank"}
    ],
    "outputs": {"logits": "logits"}
  },
  "outputs": ["logits"],
  "data": {
  "tokens" : "random:int,hi=vocab"
}
})json";

TEST_CASE("a prompt is read at once only where the model computes the same for as many positions") {
  const ScratchFolder folder;
  const std::string model = folder.write("adding.json", kAddingModel);
  for (const char* scaled : {"0", "1"}) {
    CAPTURE(scaled);
    const std::string arguments =
        fmt::format("'{}' --set scaled={} --length 3 --greedy --prompt-tokens ", model, scaled);
    for (const char* prompt : {"1,2,3,4,5", "3,1,4,1", "9,10"}) {
      CAPTURE(prompt);
      const Said at_once = said(arguments + prompt);
      CHECK(at_once.out == said(arguments + prompt + " --one-by-one").out);
      // If all 8 positions must be computed, a prompt of fewer than half of them is read one by one.
      const bool is_short = std::string(prompt) == "9,10" && std::string(scaled) == "1";
      CHECK(mentions(at_once.err, "positions of the prompt") == !is_short);
    }
  }
}

TEST_CASE("weights that meet each other, or that a cache keeps, stay in f32") {
  const ScratchFolder folder;
  const std::string model = folder.write("adding.json", kAddingModel);
  const auto stored = [&](const char* sets) {
    const Said found =
        said(fmt::format("'{}' {} --prompt-tokens 1,2,3 --length 3 --greedy --weights int8", model, sets));
    CHECK(found.code == 0);
    return found.err.substr(0, found.err.find(" million weights are stored"));
  };
  CHECK(mentions(stored(""), "8.9e-05 of 8.9e-05"));
  CHECK(mentions(stored("--set low_rank=1"), "4.4e-05 of 8.9e-05"));  // the table alone
  CHECK(mentions(stored("--set keeps=1"), "7.7e-05 of 8.9e-05"));     // not a
}

TEST_CASE("logits of weights in fewer bits are near those in f32") {
  const auto logits = [](WeightFormat format) {
    Running run(program_of(kGpt, {"batch=1", "beam=1"}, {}, true, format), 0);
    Decoder decoder(run.executor);
    decoder.begin();
    std::vector<double> all;
    for (int64_t position = 0; position < 8; ++position) {
      BeamPast past(decoder.beams(), decoder.places());
      past.step(position);
      decoder.step(position, std::vector<int64_t>{5 + position}, past.seen());
      const std::span<const double> found = decoder.logits(0);
      all.insert(all.end(), found.begin(), found.end());
    }
    return all;
  };
  const std::vector<double> exact = logits(WeightFormat::kF32);
  const auto distance = [&](const std::vector<double>& other) {
    double squares = 0, all = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      squares += (other[i] - exact[i]) * (other[i] - exact[i]);
      all += exact[i] * exact[i];
    }
    return std::sqrt(squares / all);
  };
  const double of_bf16 = distance(logits(WeightFormat::kBF16)),
               of_int8 = distance(logits(WeightFormat::kInt8));
  CHECK(of_bf16 > 0);
  CHECK(of_bf16 < 0.005);
  CHECK(of_int8 > 0);
  CHECK(of_int8 < 0.02);
}

TEST_CASE("weights in fewer bits are told of, and refused beside another dtype") {
  const Said told = said(model_arguments(kGpt) + " --prompt-tokens 1 --length 2 --greedy --weights int8");
  CHECK(mentions(told.err, "million weights are stored in fewer bits: "));
  CHECK(mentions(
      refused(kGpt, "--prompt-tokens 1 --weights bf16 --dtype bf16"),
      "--weights bf16 is for models that compute in f32, but --dtype says bf16 (leave out one of them)"));
  CHECK(mentions(refused(kGpt, "--prompt-tokens 1 --weights int4"), "int4"));
}

TEST_CASE("caches that grow with the sequence forget nothing") {
  const GenerationCase longer = {
      "transformer_lm", {"layers=2", "d_model=12", "d_ff=16", "heads=2", "d_kv=5", "vocab=29", "length=150"}};
  Uncached reference(longer);
  const std::string expected = ids(reference.greedy({7, 3, 20}, 147)) + "\n";
  CHECK(generated(longer, "--prompt-tokens 7,3,20 --greedy") == expected);
  CHECK(generated(longer, "--prompt-tokens 7,3,20 --greedy --set places=150") == expected);
  for (const size_t split : {2, 3, 4})  // batch, heads and vocabulary; places; length
    CHECK(generated(longer, "--prompt-tokens 7,3,20 --greedy " + kSplits[split].simulated()) == expected);
  // Each size is planned anew, and must split the caches alike.
  for (const char* rules : {"heads:a", "batch:a", "vocab:a"})
    CHECK(
        generated(longer,
                  fmt::format("--prompt-tokens 7,3,20 --greedy --simulate --mesh a:2 --layout {} --propagate",
                              rules)) == expected);
  // Caches of bf16 begin small. Rounding does not depend on their size.
  for (const auto& [how, places] : {std::pair("--greedy", 150), std::pair("--beams 2", 300)}) {
    const std::string narrow = fmt::format("--prompt-tokens 7,3,20 --dtype bf16 {}", how);
    CHECK(generated(longer, narrow) == generated(longer, fmt::format("{} --set places={}", narrow, places)));
  }
  const std::string beams = generated(longer, "--prompt-tokens 7,3,20 --beams 2");
  CHECK(beams == generated(longer, "--prompt-tokens 7,3,20 --beams 2 --set places=300"));
  CHECK(beams ==
        generated(longer, "--prompt-tokens 7,3,20 --beams 2 --mesh a:2,b:2 --layout heads:a,vocab:b"));
}

TEST_CASE("beam search finds what the uncached search finds, on any mesh") {
  for (const GenerationCase& model : {kChars, kWords, kGpt}) {
    Uncached reference(model);
    for (const double alpha : {0.0, 1.5}) {
      const std::vector<Uncached::Beam> best = reference.beams({7, 3}, 10, 3, alpha, 0);
      std::string expected;
      for (size_t i = 0; i < 3; ++i)
        expected +=
            fmt::format("--- {} of 3, score {:.4g} ---\n{}\n", i + 1, best[i].score, ids(best[i].tokens));
      const std::string arguments = fmt::format(
          "--prompt-tokens 7,3 --length 10 --beams 3 --samples 3 --stop-tokens 0 --length-penalty {}", alpha);
      CHECK(with_rounded_scores(generated(model, arguments)) == expected);
      // Half of the splits run with one penalty, half with the other: it has nothing to do with the layout.
      for (size_t i = alpha > 0; i < kSplits.size(); i += 2)
        CHECK(with_rounded_scores(generated(model, arguments + " " + kSplits[i].simulated())) == expected);
      CHECK(with_rounded_scores(generated(model, arguments + " " + kSplits[2].options())) == expected);
    }
  }
}

TEST_CASE("drawn tokens depend on the seed alone, and not on ranks or on other prompts") {
  const std::string drawn =
      "--prompt-tokens 7,3 --length 12 --temperature 0.9 --top-k 20 --samples 3 --seed 5";
  const std::string expected = generated(kWords, drawn);
  CHECK(expected.find("--- 3 of 3 ---\n7,3,") != std::string::npos);
  for (const Split& split : kSplits) CHECK(generated(kWords, drawn + " " + split.simulated()) == expected);
  CHECK(generated(kWords, drawn + " " + kSplits[2].options()) == expected);
  // In two rounds.
  CHECK(generated(kWords, drawn + " --set batch=2") == expected);
  const std::string other =
      generated(kWords, "--prompt-tokens 7,3 --length 12 --temperature 0.9 --top-k 20 --samples 3 --seed 6");
  CHECK(other != expected);
}

TEST_CASE("prompts of several lengths go on as each does alone") {
  const std::vector<std::string> prompts = {"1,2,3,4,5", "9", "8,7,6"};
  std::string expected, arguments;
  for (size_t i = 0; i < prompts.size(); ++i) {
    expected += fmt::format("--- {} of 3 ---\n{}", i + 1,
                            generated(kWords, "--length 9 --greedy --prompt-tokens " + prompts[i]));
    arguments += " --prompt-tokens " + prompts[i];
  }
  CHECK(generated(kWords, "--length 9 --greedy" + arguments) == expected);
  CHECK(generated(kWords, "--length 9 --greedy" + arguments + " --mesh a:2 --layout batch:a") == expected);
  CHECK(generated(kWords, "--length 9 --greedy --set batch=4" + arguments) == expected);
}

TEST_CASE("texts are bytes, and end where they are told to") {
  Uncached reference(kChars);
  const Tokens bytes = reference.greedy({'A', 'b'}, 16);
  std::string text;
  for (const int64_t byte : bytes) text += static_cast<char>(byte);
  CHECK(generated(kChars, "--prompt Ab --greedy") == text + "\n");  // to the end of the model's length
  const Tokens stop = {bytes[4], bytes[5]};
  size_t end = 3;
  while (bytes[end - 1] != stop[0] || bytes[end] != stop[1]) ++end;
  CHECK(generated(kChars,
                  fmt::format("--prompt-tokens {} --greedy --stop-tokens {}", ids({'A', 'b'}), ids(stop))) ==
        ids({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(end) + 1}) + "\n");
}

TEST_CASE("weights come from checkpoints of other meshes, without the optimizer's state") {
  const ScratchFolder folder;
  const std::string checkpoint = folder / "ck";
  const std::string trained = fmt::format(
      "'{}' run {} --steps 3 --quiet --checkpoint '{}' --mesh a:2,b:2 --layout batch:a,heads:b,d_ff:b "
      "--simulate",
      kTestedProgram, model_arguments(kChars), checkpoint);
  REQUIRE(std::system(trained.c_str()) == 0);
  Uncached reference(kChars);
  fill_variables(reference.executor(), read_weights(reference.executor().program(), {checkpoint}, NameMap()));
  const std::string expected = ids(reference.greedy({65, 66}, 12)) + "\n";
  const std::string arguments =
      fmt::format("--prompt-tokens 65,66 --length 12 --greedy --checkpoint '{}'", checkpoint);
  CHECK(generated(kChars, arguments) == expected);
  CHECK(generated(kChars, arguments + " --mesh a:3 --layout vocab:a") == expected);
  CHECK(generated(kChars, "--prompt-tokens 65,66 --length 12 --greedy") != expected);
  CHECK(said(model_arguments(kChars) + " --prompt a --checkpoint nowhere").code == 1);
}

TEST_CASE("what can't be generated is refused with a reason") {
  const auto line = [](const std::string& text) { return "mtfc: error: " + text + "\n"; };
  CHECK(refused(kChars, "") ==
        line("there is no prompt (give --prompt TEXT, --prompt-file FILE or --prompt-tokens 1,2,3)"));
  CHECK(refused({"mnist", {}}, "--prompt a") ==
        line("the model 'mnist' can't generate: it has no \"decode\" (models/char_lm.json shows one)"));
  CHECK(refused(kChars, "--prompt-file /dev/null") ==
        line("the prompt '/dev/null' is empty (the model continues from at least one token)"));
  CHECK(refused(kWords, "--prompt a") ==
        line("the model's vocabulary has 53 tokens, so they can't be the "
             "bytes of a text (give its --tokenizer, or ids: --prompt-tokens 1,2,3)"));
  CHECK(refused(kWords, "--prompt-tokens 1,53 --mesh a:2 --layout batch:a") ==
        line("--prompt-tokens has the token 53, but the model's vocabulary has only 53: 0 to 52"));
  CHECK(
      refused(kWords, "--prompt-tokens 1,x") ==
      line(
          "--prompt-tokens: expected a token id, found 'x' (ids are whole numbers with commas between, as in "
          "12,7,300)"));
  CHECK(refused(kChars, "--prompt 'This is a text of more than that'") ==
        line("the prompt has 32 tokens, but the model's length is 18 (shorten the prompt: at least one token "
             "must fit after it)"));
  CHECK(
      refused(kChars, "--prompt abc --length 16") ==
      line(
          "a prompt of 3 tokens and --length 16 make 19, but the model's length is 18 (--length can be 15 at "
          "most)"));
  CHECK(refused(kChars, "--prompt a --temperature 0") ==
        line("--temperature: expected a number above 0, found 0 (see mtfc generate --help)"));
  CHECK(refused(kChars, "--prompt a --top-k 0") ==
        line("--top-k: expected 1 or more, found 0 (see mtfc generate --help)"));
  CHECK(refused(kChars, "--prompt a --greedy --top-k 5") ==
        line("--top-k is for drawing tokens, but --greedy draws none (leave out one of them)"));
  CHECK(refused(kChars, "--prompt a --beams 2 --temperature 0.5") ==
        line("--beams can't be combined with --temperature (beam search draws no tokens, and looks at more "
             "than the "
             "likeliest one)"));
  CHECK(refused(kChars, "--prompt a --length-penalty 1") ==
        line("--length-penalty is for beam search (give --beams B)"));
  CHECK(refused(kChars, "--prompt a --beams 2 --length-penalty=-1") ==
        line("--length-penalty: expected a number of at least 0, found -1 (see mtfc generate --help)"));
  CHECK(refused(kChars, "--prompt-file - --prompt-file -") ==
        line("a prompt and another prompt can't both be read from standard input"));
  CHECK(refused(kChars, "--prompt a --microbatches 2") ==
        line("--microbatches is for training, but generate does not train (leave it out)"));
  CHECK(refused(kChars, "--prompt a --map a=b") ==
        line("--map renames the tensors of --checkpoint or --load, and neither is given"));
}

}  // namespace mtfc::generate_test
