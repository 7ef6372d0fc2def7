// Generation by models that read something first: translation, compared with a reference without caches and without a
// mesh (cmd/testing/generation_cases.h), which runs the encoder anew for each token.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cmd/testing/generation_cases.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "formats/data/npy.h"
#include "formats/json/json_value.h"
#include "runtime/execute/whole_value.h"
#include "runtime/generate/beam_search.h"
#include "runtime/generate/decoder.h"

namespace mtfc::translate_test {
namespace {

// Few sizes divide evenly.
const GenerationCase kTranslate = {
    "transformer_encdec",
    {"layers=2", "d_model=20", "d_ff=31", "heads=3", "d_kv=7", "vocab=53", "length=13", "memory_length=13"}};
const GenerationCase kTied = {
    "transformer_encdec",
    {"layers=1", "d_model=20", "d_ff=31", "heads=3", "d_kv=7", "vocab=53", "length=13", "tie_embeddings=1"}};
// With so many places, the model itself drops no token either. The last layer of three has no experts.
const GenerationCase kExperts = {"moe_encdec",
                                 {"layers=3", "d_model=20", "d_ff=31", "heads=3", "d_kv=7", "vocab=53",
                                  "length=13", "experts=5", "capacity_factor=2.5"}};

const std::vector<Split> kSplits = {{"a:2", "batch:a"},
                                    {"a:2,b:2", "batch:a,heads:b,vocab:b,d_ff:b"},
                                    {"a:3", "places:a,d_model:a"},
                                    {"a:4", "memory_length:a,vocab:a"},
                                    {"a:2,b:2", "beam:a,heads:b"}};
const std::vector<Split> kExpertSplits = {{"a:2", "experts:a"}, {"a:2,b:2", "batch:a,experts:b"}};

const std::vector<Tokens> kSources = {{5, 9, 30, 2, 17}, {41}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}};

std::string source_arguments(const std::vector<Tokens>& sources) {
  std::string text;
  for (const Tokens& source : sources) text += " --source-tokens " + ids(source);
  return text;
}

// Returns what `generate` must print for all of kSources: greedy translations up to the token 0.
std::string greedy_results(const GenerationCase& model) {
  Uncached reference(model);
  std::string expected;
  for (size_t i = 0; i < kSources.size(); ++i) {
    reference.set_source(kSources[i]);
    const Tokens all = reference.greedy({0}, 12, 0);
    expected +=
        fmt::format("--- {} of {} ---\n{}\n", i + 1, kSources.size(), ids({all.begin() + 1, all.end()}));
  }
  return expected;
}

// Steps two sequences of two beams each, which translate different sentences.
void check_cached_logits(const GenerationCase& model, const Split& split) {
  CAPTURE(model.model);
  CAPTURE(split.rules);
  constexpr int64_t kBeams = 2, kRows = 2, kSteps = 10, kLength = 13;
  Running run(program_of(model, {"batch=2", "beam=2"}, split, true), 3);
  Decoder decoder(run.executor);
  REQUIRE(decoder.encode());
  Uncached reference(model, 3);
  std::vector<Tokens> sources(kSources.begin(), kSources.begin() + kRows);
  // The second time, nothing may be left of the first.
  for (int time = 0; time < 2; ++time) {
    std::reverse(sources.begin(), sources.end());
    std::vector<double> padded(kRows * kLength, 0);
    for (size_t row = 0; row < kRows; ++row)
      std::copy(sources[row].begin(), sources[row].end(),
                padded.begin() + static_cast<ptrdiff_t>(row) * kLength);
    decoder.begin([&] {
      REQUIRE(decoder.encode()->inputs.size() == 1);
      const HostTensor whole = value_of({DType::kI32, {{"batch", kRows}, {"length", kLength}}}, padded);
      for (size_t device = 0; device < run.executor.devices(); ++device)
        fill(run.executor.shard(*decoder.encode(), decoder.encode()->inputs[0].value, device), whole);
    });
    std::vector<Tokens> all(kRows * kBeams);
    BeamPast past(kBeams, decoder.places());
    double worst = 0;
    for (int64_t position = 0; position < kSteps; ++position) {
      Tokens tokens;
      for (size_t s = 0; s < all.size(); ++s) {
        tokens.push_back(1 + (position * 7 + static_cast<int64_t>(s) * 11) % 41);  // 0 is padding
        all[s].push_back(tokens.back());
      }
      past.step(position);
      std::vector<uint8_t> seen(past.seen().begin(), past.seen().end());
      seen.insert(seen.end(), past.seen().begin(), past.seen().end());
      decoder.step(position, tokens, seen);
      for (size_t s = 0; s < all.size(); ++s) {
        reference.set_source(sources[s / kBeams]);
        const std::span<const double> found = decoder.logits(static_cast<int64_t>(s) / kBeams);
        const std::vector<double> expected = reference.logits(all[s]);
        const size_t first = s % kBeams * expected.size();
        for (size_t i = 0; i < expected.size(); ++i)
          worst = std::max(worst, std::abs(found[first + i] - expected[i]));
      }
    }
    CHECK(worst < 1e-5);
  }
}

}  // namespace

TEST_CASE("cached logits of a translation are those of the whole model, under every layout") {
  for (const GenerationCase& model : {kTranslate, kTied, kExperts}) {
    check_cached_logits(model, {});
    for (const Split& split : kSplits) check_cached_logits(model, split);
  }
  for (const Split& split : kExpertSplits) check_cached_logits(kExperts, split);
  GenerationCase masked = kExperts;
  masked.sets.push_back("one_hot=1");
  check_cached_logits(masked, kExpertSplits[1]);
}

TEST_CASE("greedy translations are the uncached ones on one, two and four ranks, in one round or several") {
  for (const GenerationCase& model : {kTranslate, kExperts}) {
    const std::string expected = greedy_results(model);
    const std::string arguments = source_arguments(kSources) + " --greedy --stop-tokens 0 --length 12";
    CHECK(generated(model, arguments) == expected);
    CHECK(generated(model, arguments + " --set batch=1") == expected);
    CHECK(generated(model, arguments + " --set batch=2") == expected);
    CHECK(generated(model, arguments + " --set batch=5") == expected);
    CHECK(generated(model, source_arguments(kSources) + " --top-k 1 --stop-tokens 0 --length 12") ==
          expected);
    for (const Split& split : kSplits)
      CHECK(generated(model, arguments + " " + split.simulated()) == expected);
    CHECK(generated(model, arguments + " " + kSplits[0].options()) == expected);
    CHECK(generated(model, arguments + " --set batch=2 " + kSplits[1].options()) == expected);
  }
  for (const Split& split : kExpertSplits)
    CHECK(generated(kExperts, source_arguments(kSources) + " --greedy --stop-tokens 0 --length 12 " +
                                  split.options() + " --propagate") == greedy_results(kExperts));
}

TEST_CASE("beam search over translations finds what the uncached search finds, on any mesh") {
  for (const GenerationCase& model : {kTranslate, kExperts}) {
    Uncached reference(model);
    for (const double alpha : {0.0, 1.5}) {
      std::string expected;
      for (size_t i = 0; i < kSources.size(); ++i) {
        reference.set_source(kSources[i]);
        const std::vector<Uncached::Beam> best = reference.beams({0}, 8, 4, alpha, 0);
        for (size_t b = 0; b < 2; ++b)
          expected += fmt::format("--- {} of 6, score {:.4g} ---\n{}\n", 2 * i + b + 1, best[b].score,
                                  ids({best[b].tokens.begin() + 1, best[b].tokens.end()}));
      }
      const std::string arguments =
          source_arguments(kSources) +
          fmt::format(" --length 8 --beams 4 --samples 2 --stop-tokens 0 --length-penalty {}", alpha);
      CHECK(with_rounded_scores(generated(model, arguments)) == expected);
      for (size_t i = alpha > 0; i < kSplits.size(); i += 2)
        CHECK(with_rounded_scores(generated(model, arguments + " " + kSplits[i].simulated())) == expected);
      CHECK(with_rounded_scores(generated(model, arguments + " --set batch=2 " + kSplits[1].options())) ==
            expected);
    }
  }
}

TEST_CASE("sources come from files, a batch at a time, and results are written as JSON") {
  const ScratchFolder folder;
  std::string bytes = npy_header({DType::kI32, {{"rows", 3}, {"length", 13}}});
  for (const Tokens& source : kSources)
    for (size_t i = 0; i < 13; ++i) {
      const auto token = static_cast<int32_t>(i < source.size() ? source[i] : 0);
      bytes.append(reinterpret_cast<const char*>(&token), sizeof token);
    }
  const std::string file = folder.write("sources.npy", bytes);
  const std::string expected = greedy_results(kTranslate);
  const std::string arguments =
      fmt::format(" --input 'sources={}' --greedy --stop-tokens 0 --length 12", file);
  CHECK(generated(kTranslate, arguments) == expected);  // the model's batch is 4
  CHECK(generated(kTranslate, arguments + " --set batch=2") == expected);
  CHECK(generated(kTranslate, arguments + " --set batch=2 --mesh a:2 --layout batch:a") == expected);
  // Rows 1 and 2, each with a prompt of its own, which is then printed.
  const std::string json = folder / "out.json";
  CHECK(generated(kTranslate,
                  fmt::format(" --input 'sources={},rows=1:3' --prompt-tokens 0,3 --prompt-tokens 7 "
                              "--length 2 --beams 2 -o '{}'",
                              file, json)) == "");
  const JsonValue found = parse_json(folder.read("out.json"), "out.json");
  const std::vector<JsonValue>& sequences = found.find("sequences")->items;
  REQUIRE(sequences.size() == 2);
  Uncached reference(kTranslate);
  for (size_t i = 0; i < 2; ++i) {
    reference.set_source(kSources[i + 1]);
    const Tokens prompt = i == 0 ? Tokens{0, 3} : Tokens{7};
    const Uncached::Beam best = reference.beams(prompt, 2, 2, 0, -1)[0];
    Tokens printed;
    for (const char* key : {"prompt", "tokens"})
      for (const JsonValue& token : sequences[i].find(key)->items) printed.push_back(*token.integer());
    CHECK(printed == best.tokens);
    CHECK(*sequences[i].find("beginning")->integer() == static_cast<int64_t>(i));
    CHECK(sequences[i].find("score")->number() == doctest::Approx(best.score).epsilon(1e-4));
    CHECK(!sequences[i].find("text"));
  }
}

TEST_CASE("drawn translations depend on the seed and the row alone, and not on rounds and ranks") {
  const std::string drawn = source_arguments(kSources) + " --length 9 --samples 3 --top-k 20";
  const std::string expected = generated(kTranslate, drawn);
  CHECK(expected.find("--- 9 of 9 ---") != std::string::npos);
  CHECK(generated(kTranslate, drawn + " --set batch=2") == expected);
  CHECK(generated(kTranslate, drawn + " --set batch=4 " + kSplits[1].simulated()) == expected);
  CHECK(generated(kTranslate, drawn + " --seed 6") != expected);
}

// The script itself trains for minutes, until nearly all translations are right.
TEST_CASE(
    "a model that has just begun to learn translates as the script's own search does, on 1, 2 and 4 ranks") {
  const ScratchFolder folder;
  const std::string command = fmt::format(
      "'{}/scripts/learn_to_reverse.py' --mtfc '{}' --folder '{}' --steps 40 --rows 300 --held-out 70 "
      "--compared 3 "
      "--least 0 >'{}' 2>&1",
      kSourceFolder, kTestedProgram, folder / "work", folder / "out");
  CHECK(std::system(command.c_str()) == 0);
  const std::string out = folder.read("out");
  INFO(out);
  for (const char* search : {"greedy", "4 beams"})
    for (const char* ranks : {"1 rank", "2 ranks", "4 ranks"})
      CHECK(out.find(fmt::format("{}, {}: 3 of 3 equal", search, ranks)) != std::string::npos);
}

// The smaller caches with which decode begins have no room for what the model gives.
TEST_CASE("a cache that holds a tensor with the dimension of the places has all of them from the start") {
  const ScratchFolder folder;
  const std::string model = folder.write("model.json", R"({
    "mtfc": 1, "dims": {"batch": 2, "beam": 1, "vocab": 8, "d": 4, "places": 300},
    "inputs": {"sources": {"dims": ["batch", "places"], "dtype": "i32"}},
    "variables": {"table": {"dims": ["vocab", "d"], "init": {"normal": 0.15}}},
    "ops": [
      {"out": "memory", "op": "gather", "in": ["table", "sources"], "dim": "vocab"},
      {"out": "sum", "op": "reduce_sum", "in": "memory"}
    ],
    "outputs": ["sum"],
    "decode": {
      "inputs": {
        "token": {"dims": ["batch", "beam"], "dtype": "i32"}, "position": {"dims": [], "dtype": "i32"},
        "seen": {"dims": ["batch", "beam", "places"], "dtype": "bool"}
      },
      "variables": {"memory_cache": {"dims": ["batch", "places", "d"], "holds": "memory"}},
      "ops": [
        {"out": "e", "op": "gather", "in": ["table", "token"], "dim": "vocab"},
        {"out": "scores", "op": "einsum", "in": ["e", "memory_cache"], "dims": ["batch", "beam", "places"]},
        {"out": "past", "op": "mul", "in": ["scores", {"op": "cast", "in": "seen", "dtype": "f32"}]},
        {"out": "context", "op": "einsum", "in": ["past", "memory_cache"], "dims": ["batch", "beam", "d"]},
        {"out": "logits", "op": "einsum", "in": ["context", "table"], "dims": ["batch", "beam", "vocab"]}
      ],
      "outputs": {"logits": "logits"}
    }
  })");
  const std::string arguments = fmt::format(
      "'{}' --quiet --source-tokens 1,2,3,4,5,6,7,1,2,3,4,5 --prompt-tokens 3 --seed 5 --length 120", model);
  const Said grown = said(arguments), fixed = said(arguments + " --set places=300");
  CHECK(grown.code == 0);
  CHECK(grown.out == fixed.out);
}

TEST_CASE("a translation can be as long as the model, with its end") {
  const std::string all = generated(kTranslate, "--source-tokens 3 --greedy");
  CHECK(std::count(all.begin(), all.end(), ',') == 12);
  CHECK(refused(kTranslate, "--source-tokens 3 --length 14") ==
        "mtfc: error: --length 14 is too long: the model's length is 13\n");
}

TEST_CASE("texts are translated to texts") {
  const GenerationCase bytes = {
      "transformer_encdec",
      {"layers=1", "d_model=20", "d_ff=31", "heads=3", "d_kv=7", "vocab=256", "length=13"}};
  Uncached reference(bytes);
  reference.set_source({'A', 'b', 'c'});
  const Tokens all = reference.greedy({0}, 5);
  std::string text;
  for (size_t i = 1; i < all.size(); ++i) text += static_cast<char>(all[i]);
  CHECK(generated(bytes, "--source Abc --greedy --length 5") == text + "\n");
}

TEST_CASE("translations that can't be made are refused with a reason") {
  const auto line = [](const std::string& text) { return "mtfc: error: " + text + "\n"; };
  const GenerationCase lm = {"char_lm", {}};
  CHECK(refused(kTranslate, "") ==
        line("there is no data for the input 'sources' of the model 'transformer_encdec', which it reads "
             "before it "
             "generates (give --source-tokens 1,2,3 or --input sources=FILE.npy)"));
  CHECK(refused(lm, "--source a") ==
        line("the model 'char_lm' takes no input sequence (leave out --input, --source and --source-tokens, "
             "and give a prompt)"));
  CHECK(refused(kTranslate, "--source a --source-tokens 1") ==
        line("--source and --source-tokens exclude each other (give one kind)"));
  CHECK(refused(kTranslate, "--source-tokens 1 --input sources=x.npy") ==
        line("--input can't be mixed with --source or --source-tokens (give one kind)"));
  CHECK(refused(kTranslate, "--input sources=x.npy --input sources=y.npy") ==
        line("--input feeds 'sources' twice: from 'x.npy' and from 'y.npy' (give it once)"));
  CHECK(refused(kTranslate, "--source-tokens 1,2 --prompt a") ==
        line("the prompt and the source must both be texts, or both be ids (give --prompt with --source, or "
             "--prompt-tokens with --source-tokens)"));
  CHECK(refused(kTranslate, "--source-tokens 1,2,3,4,5,6,7,8,9,10,11,12,13,14") ==
        line("--source-tokens has 14 tokens, but the input 'sources' has room for 13 (shorten it, or set "
             "length)"));
  CHECK(refused(kTranslate, "--input targets=x.npy") ==
        line("--input: generation does not read an input 'targets' (it reads 'sources')"));
  for (const std::string split : {"", " --mesh a:2 --layout batch:a"})
    CHECK(refused(kTranslate,
                  "--source-tokens 1 --source-tokens 2 --prompt-tokens 1 --prompt-tokens 2 "
                  "--prompt-tokens 3" +
                      split) ==
          line("there are 3 prompts for 2 sources (give one prompt for all, or one for each)"));
  CHECK(refused(kTranslate, "--source-tokens 1 -o out.pdf") ==
        line("-o: 'out.pdf' ends in .pdf, but generated text is written as .txt or .json (name the file "
             "otherwise; a "
             "name without an ending is possible too)"));
  CHECK(said(model_arguments(kTranslate) + " --quiet --source-tokens 1,53").code == 1);
  CHECK(said(model_arguments(kTranslate) + " --quiet --input sources=nowhere.npy").code == 1);
}

}  // namespace mtfc::translate_test
