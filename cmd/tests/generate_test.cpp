// Generation compared with a reference without caches and without a mesh: the model's own graph, evaluated
// again over the growing sequence.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "cmd/generating/generation.h"
#include "cmd/running/weights.h"
#include "core/model/decoding.h"
#include "core/passes/pipeline.h"
#include "core/testing/scratch_folder.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/generate/decoder.h"

namespace mtfc::generate_test {
namespace {

using Sets = std::vector<std::string>;
using Tokens = std::vector<int64_t>;

struct Case {
  std::string model;
  Sets sets;
};
const Case kChars = {"char_lm", {"layers=2", "d_model=32", "d_ff=48", "heads=4", "length=18"}};
// Few sizes divide evenly, and both ends share one table.
const Case kWords = {
    "transformer_lm",
    {"layers=2", "d_model=20", "d_ff=31", "heads=3", "d_kv=7", "vocab=53", "length=17", "tie_embeddings=1"}};
// With so many places, the model itself drops no token either.
const Case kExperts = {"moe_lm",
                       {"layers=3", "d_model=20", "d_ff=31", "heads=3", "d_kv=7", "vocab=53", "length=17",
                        "experts=5", "capacity_factor=2.5"}};
// The weights have names and shapes of their own.
const Case kGpt = {"gpt2", {"layers=2", "d_model=24", "heads=3", "positions=18", "vocab=53"}};

struct Split {
  std::string mesh, rules;
  std::string options() const { return fmt::format("--mesh {} --layout {}", mesh, rules); }
  // The same program and kernels without starting ranks, which takes longer than these models.
  std::string simulated() const { return options() + " --simulate"; }
};
const std::vector<Split> kSplits = {{"a:2", "batch:a"},
                                    {"a:2", "heads:a,vocab:a,d_ff:a"},
                                    {"a:2,b:2", "batch:a,heads:b,vocab:b,d_ff:b"},
                                    {"a:3", "places:a,d_model:a"},
                                    {"a:4", "length:a,vocab:a"},
                                    {"a:2,b:2", "beam:a,heads:b"}};
const std::vector<Split> kExpertSplits = {
    {"a:2", "experts:a"}, {"a:2,b:2", "batch:a,experts:b"}, {"a:4", "experts:a,vocab:a"}};

std::string path_of(const Case& model) {
  return fmt::format("{}/models/{}.json", MTFC_SOURCE_DIR, model.model);
}

Program program_of(const Case& model, const Sets& more, const Split& split, bool decode) {
  Sets sets = model.sets;
  sets.insert(sets.end(), more.begin(), more.end());
  IncludedFiles includes;
  std::vector<Diagnostic> warnings;
  Model read = read_model(read_text(path_of(model), "model"), path_of(model), sets, warnings,
                          {[&](const IncludeName& name) { return includes.read(name); }});
  CHECK(warnings.empty());
  LayoutSources sources;
  if (!split.mesh.empty()) {
    sources.mesh = split.mesh;
    sources.rules = split.rules;
  }
  CompileOptions options;
  options.decode = decode;
  if (decode) read = only_decode(std::move(read));
  if (!decode) options.keep = {"logits"};
  return compile(read, read_layout(sources), options);
}

// A program on all devices of its mesh in this process, with initial weights.
struct Running {
  Running(Program made, uint64_t seed)
      : program(std::move(made)),
        processes(Processes::alone()),
        comm(program.mesh(), processes),
        executor(program, comm, {seed, false}) {
    executor.run(*program.find("init"), 0);
  }
  Program program;
  Processes processes;
  LockstepComm comm;
  Executor executor;
};

// log(softmax) of the token after each sequence, from the graph that is trained.
class Uncached {
 public:
  explicit Uncached(const Case& model, uint64_t seed = 0)
      : run_(program_of(model, {"batch=1"}, {}, false), seed), entry_(*run_.program.find("evaluate")) {
    run_.executor.load(entry_);
  }
  Executor& executor() { return run_.executor; }

  std::vector<double> logits(const Tokens& tokens) {
    for (const Binding& input : entry_.inputs) {
      const LocalShard shard = run_.executor.shard(entry_, input.value, 0);
      auto* data = reinterpret_cast<int32_t*>(shard.data);
      std::fill_n(data, shard.elements(), 0);
      REQUIRE(static_cast<int64_t>(tokens.size()) <= shard.elements());
      if (input.name == "tokens") std::copy(tokens.begin(), tokens.end(), data);
    }
    run_.executor.run(entry_, 0);
    for (const Binding& output : entry_.outputs) {
      if (output.name != "logits") continue;
      const LocalShard shard = run_.executor.shard(entry_, output.value, 0);
      const int64_t vocab = shard.type.dims.back().size;
      const auto* row =
          reinterpret_cast<const float*>(shard.data) + static_cast<int64_t>(tokens.size() - 1) * vocab;
      return {row, row + vocab};
    }
    FAIL("no logits");
    return {};
  }

  Tokens greedy(const Tokens& prompt, size_t length) {
    Tokens all = prompt;
    while (all.size() < prompt.size() + length) {
      const std::vector<double> found = logits(all);
      all.push_back(std::max_element(found.begin(), found.end()) - found.begin());
    }
    return all;
  }

  struct Beam {
    Tokens tokens;  // including the prompt
    double sum = 0, score = 0;
  };
  // Returns every continuation of every beam, sorted; results are added as they end or reach the length.
  std::vector<Beam> beams(const Tokens& prompt, size_t length, size_t count, double alpha, int64_t stop) {
    std::vector<Beam> live = {{prompt, 0, 0}}, ended;
    for (size_t step = 1; step <= length; ++step) {
      std::vector<Beam> next;
      for (const Beam& beam : live) {
        const std::vector<double> row = logits(beam.tokens);
        long double total = 0;
        for (const double x : row) total += std::exp(static_cast<long double>(x));
        for (size_t token = 0; token < row.size(); ++token) {
          Beam longer = beam;
          longer.tokens.push_back(static_cast<int64_t>(token));
          longer.sum += static_cast<double>(row[token] - std::log(total));
          longer.score = longer.sum / std::pow((5.0 + static_cast<double>(step)) / 6.0, alpha);
          next.push_back(longer);
        }
      }
      std::stable_sort(next.begin(), next.end(), [](const Beam& a, const Beam& b) { return a.sum > b.sum; });
      next.resize(std::min(next.size(), 2 * count));
      live.clear();
      for (const Beam& beam : next) {
        if (live.size() == count) break;
        (beam.tokens.back() == stop ? ended : live).push_back(beam);
      }
    }
    ended.insert(ended.end(), live.begin(), live.end());
    std::stable_sort(ended.begin(), ended.end(),
                     [](const Beam& a, const Beam& b) { return a.score > b.score; });
    ended.resize(std::min(ended.size(), count));
    return ended;
  }

 private:
  Running run_;
  const EntryPoint& entry_;
};

struct Said {
  int code = 0;
  std::string out, err;
};

Said said(const std::string& arguments) {
  const ScratchFolder folder;
  const int status = std::system(fmt::format("'{}' generate {} >'{}' 2>'{}' </dev/null", MTFC_BINARY,
                                             arguments, folder / "out", folder / "err")
                                     .c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("out"), folder.read("err")};
}

std::string model_arguments(const Case& model) {
  std::string text = path_of(model);
  for (const std::string& set : model.sets) text += " --set " + set;
  return text;
}

// Returns the output of a command that must succeed.
std::string generated(const Case& model, const std::string& arguments) {
  const Said found = said(fmt::format("{} --quiet {}", model_arguments(model), arguments));
  INFO(arguments << "\n" << found.err);
  CHECK(found.code == 0);
  CHECK(found.err.empty());
  return found.out;
}

std::string ids(const Tokens& tokens) {
  return fmt::format("{}", fmt::join(tokens, ","));
}

// Steps two sequences of two beams each, all with different tokens.
void check_cached_logits(const Case& model, const Split& split) {
  CAPTURE(model.model);
  CAPTURE(split.rules);
  constexpr int64_t kBeams = 2, kRows = 2, kSteps = 12;
  Running run(program_of(model, {"batch=2", "beam=2"}, split, true), 3);
  Decoder decoder(run.executor);
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
      const std::vector<double> found = decoder.logits(static_cast<int64_t>(s) / kBeams);
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
  for (const Case& model : {kChars, kWords, kGpt}) {
    check_cached_logits(model, {});
    for (const Split& split : kSplits) check_cached_logits(model, split);
  }
}

TEST_CASE("experts that are split give the logits and the tokens of the whole model") {
  check_cached_logits(kExperts, {});
  for (const std::vector<Split>& splits : {kSplits, kExpertSplits})
    for (const Split& split : splits) check_cached_logits(kExperts, split);
  Uncached reference(kExperts);
  const std::string expected = ids(reference.greedy({7, 3, 40}, 13)) + "\n";
  CHECK(generated(kExperts, "--prompt-tokens 7,3,40 --length 13 --greedy") == expected);
  for (const Split& split : kExpertSplits) {
    CHECK(generated(kExperts, "--prompt-tokens 7,3,40 --length 13 --greedy " + split.options()) == expected);
    CHECK(generated(kExperts, "--prompt-tokens 7,3,40 --length 13 --beams 3 " + split.simulated()) ==
          generated(kExperts, "--prompt-tokens 7,3,40 --length 13 --beams 3"));
  }
  CHECK(generated(kExperts,
                  "--prompt-tokens 7,3,40 --length 13 --greedy --mesh a:2 --layout batch:a,experts:a "
                  "--propagate") == expected);
}

TEST_CASE("greedy output is the uncached one on one, two, three and four ranks") {
  for (const Case& model : {kChars, kWords, kGpt}) {
    Uncached reference(model);
    const std::string expected = ids(reference.greedy({7, 3, 40}, 13)) + "\n";
    CHECK(generated(model, "--prompt-tokens 7,3,40 --length 13 --greedy") == expected);
    CHECK(generated(model, "--prompt-tokens 7,3,40 --length 13 --beams 1") == expected);
    CHECK(generated(model, "--prompt-tokens 7,3,40 --length 13 --top-k 1") == expected);
    for (const Split& split : kSplits)
      CHECK(generated(model, "--prompt-tokens 7,3,40 --length 13 --greedy " + split.options()) == expected);
    CHECK(generated(model,
                    "--prompt-tokens 7,3,40 --length 13 --greedy --simulate --mesh a:5,b:2 --layout "
                    "vocab:a,heads:b") == expected);
  }
}

TEST_CASE("caches that grow with the sequence forget nothing") {
  const Case longer = {"transformer_lm",
                       {"layers=2", "d_model=12", "d_ff=16", "heads=2", "d_kv=5", "vocab=29", "length=150"}};
  Uncached reference(longer);
  const std::string expected = ids(reference.greedy({7, 3, 20}, 147)) + "\n";
  CHECK(generated(longer, "--prompt-tokens 7,3,20 --greedy") == expected);
  CHECK(generated(longer, "--prompt-tokens 7,3,20 --greedy --set places=150") == expected);
  for (const size_t split : {2, 3, 4})  // batch, heads and vocabulary; places; length
    CHECK(generated(longer, "--prompt-tokens 7,3,20 --greedy " + kSplits[split].simulated()) == expected);
  const std::string beams = generated(longer, "--prompt-tokens 7,3,20 --beams 2");
  CHECK(beams == generated(longer, "--prompt-tokens 7,3,20 --beams 2 --set places=300"));
  CHECK(beams ==
        generated(longer, "--prompt-tokens 7,3,20 --beams 2 --mesh a:2,b:2 --layout heads:a,vocab:b"));
}

TEST_CASE("beam search finds what the uncached search finds, on any mesh") {
  for (const Case& model : {kChars, kWords, kGpt}) {
    Uncached reference(model);
    for (const double alpha : {0.0, 1.5}) {
      const std::vector<Uncached::Beam> best = reference.beams({7, 3}, 10, 3, alpha, 0);
      std::string expected;
      for (size_t i = 0; i < 3; ++i)
        expected +=
            fmt::format("--- {} of 3, score {:.4g} ---\n{}\n", i + 1, best[i].score, ids(best[i].tokens));
      const std::string arguments = fmt::format(
          "--prompt-tokens 7,3 --length 10 --beams 3 --samples 3 --stop-tokens 0 --length-penalty {}", alpha);
      // Scores are printed with more digits than two orders of summation agree on.
      const auto rounded = [](const std::string& text) {
        std::string kept;
        for (size_t at = 0; at < text.size();) {
          const size_t score = text.find("score ", at);
          if (score == std::string::npos) return kept + text.substr(at);
          const size_t end = text.find(' ', score + 6);
          kept += text.substr(at, score + 6 - at) + fmt::format("{:.4g}", std::stod(text.substr(score + 6)));
          at = end;
        }
        return kept;
      };
      CHECK(rounded(generated(model, arguments)) == expected);
      // Half of the splits run with one penalty, half with the other: it has nothing to do with the layout.
      for (size_t i = alpha > 0; i < kSplits.size(); i += 2)
        CHECK(rounded(generated(model, arguments + " " + kSplits[i].simulated())) == expected);
      CHECK(rounded(generated(model, arguments + " " + kSplits[2].options())) == expected);
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
      MTFC_BINARY, model_arguments(kChars), checkpoint);
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
  const auto refused = [](const Case& model, const std::string& arguments) {
    const Said found = said(fmt::format("{} --quiet {}", model_arguments(model), arguments));
    CHECK(found.code == 2);
    CHECK(found.out.empty());
    return found.err;
  };
  const auto line = [](const std::string& text) { return "mtfc: error: " + text + "\n"; };
  CHECK(refused(kChars, "") ==
        line("there is no prompt (give --prompt TEXT, --prompt-file FILE or --prompt-tokens 1,2,3)"));
  CHECK(refused({"mnist", {}}, "--prompt a") ==
        line("the model 'mnist' can't generate: it has no \"decode\" (models/char_lm.json shows one)"));
  CHECK(refused(kChars, "--prompt ''") ==
        line("--prompt is empty (the model continues from at least one token)"));
  CHECK(refused(kWords, "--prompt a") == line("the model's vocabulary has 53 tokens, so they can't be the "
                                              "bytes of a text (give ids: --prompt-tokens 1,2,3, "
                                              "and --stop-tokens)"));
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
  CHECK(
      refused(kChars, "--prompt a --beams 2 --temperature 0.5") ==
      line(
          "--beams can't be combined with --temperature (beam search draws no tokens; --beams 1 is greedy)"));
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
  CHECK(refused(kChars, "--prompt a --samples 4 --set batch=3") ==
        line("--set batch=3 has no room for 4 sequences"));
}

}  // namespace mtfc::generate_test
