#include "cmd/testing/generation_cases.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "core/compile/pipeline.h"
#include "core/model/decoding.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"

namespace mtfc {
namespace {

std::string path_of(const GenerationCase& model) {
  return fmt::format("{}/models/{}.json", kSourceFolder, model.model);
}

}  // namespace

std::string Split::options() const {
  return fmt::format("--mesh {} --layout {}", mesh, rules);
}

Program program_of(const GenerationCase& model, const Sets& more, const Split& split, bool decode,
                   WeightFormat weights) {
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
  if (decode) read = only_decode(with_form(std::move(read), {.weights = weights}));
  if (!decode) options.keep = {"logits"};
  return compile(read, read_layout(sources), options);
}

Running::Running(Program made, uint64_t seed)
    : program(std::move(made)),
      processes(Processes::alone()),
      comm(program.mesh(), processes),
      executor(program, comm, {seed, false}) {
  executor.run(*program.find("init"), 0);
}

void give_tokens(Executor& executor, const EntryPoint& entry, const Binding& input, const Tokens& values) {
  const LocalShard shard = executor.shard(entry, input.value, 0);
  auto* data = reinterpret_cast<int32_t*>(shard.data);
  REQUIRE(static_cast<int64_t>(values.size()) <= shard.elements());
  std::fill_n(data, shard.elements(), 0);
  std::copy(values.begin(), values.end(), data);
}

Uncached::Uncached(const GenerationCase& model, uint64_t seed)
    : run_(program_of(model, {"batch=1"}, {}, false), seed), entry_(*run_.program.find("evaluate")) {
  run_.executor.load(entry_);
}

std::vector<double> Uncached::logits(const Tokens& tokens) {
  for (const Binding& input : entry_.inputs) {
    const Tokens& given = input.name == "tokens" ? tokens : input.name == "sources" ? source_ : Tokens();
    give_tokens(run_.executor, entry_, input, given);
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

Tokens Uncached::greedy(const Tokens& prompt, size_t length, int64_t stop) {
  Tokens all = prompt;
  while (all.size() < prompt.size() + length) {
    const std::vector<double> found = logits(all);
    all.push_back(std::max_element(found.begin(), found.end()) - found.begin());
    if (all.back() == stop) break;
  }
  return all;
}

std::vector<Uncached::Beam> Uncached::beams(const Tokens& prompt, size_t length, size_t count, double alpha,
                                            int64_t stop) {
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
      if (beam.tokens.back() == stop)
        ended.push_back(beam);
      else if (live.size() < count)
        live.push_back(beam);
    }
  }
  ended.insert(ended.end(), live.begin(), live.end());
  std::stable_sort(ended.begin(), ended.end(),
                   [](const Beam& a, const Beam& b) { return a.score > b.score; });
  ended.resize(std::min(ended.size(), count));
  return ended;
}

Said said(const std::string& arguments) {
  const ScratchFolder folder;
  const int status = std::system(fmt::format("'{}' generate {} >'{}' 2>'{}' </dev/null", kTestedProgram,
                                             arguments, folder / "out", folder / "err")
                                     .c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("out"), folder.read("err")};
}

std::string model_arguments(const GenerationCase& model) {
  std::string text = path_of(model);
  for (const std::string& set : model.sets) text += " --set " + set;
  return text;
}

std::string generated(const GenerationCase& model, const std::string& arguments) {
  const Said found = said(fmt::format("{} --quiet {}", model_arguments(model), arguments));
  INFO(arguments << "\n" << found.err);
  CHECK(found.code == 0);
  CHECK(found.err.empty());
  return found.out;
}

std::string refused(const GenerationCase& model, const std::string& arguments) {
  const Said found = said(fmt::format("{} --quiet {}", model_arguments(model), arguments));
  INFO(arguments);
  CHECK(found.code == 2);
  CHECK(found.out.empty());
  return found.err;
}

std::string ids(const Tokens& tokens) {
  return fmt::format("{}", fmt::join(tokens, ","));
}

std::string with_rounded_scores(const std::string& text) {
  std::string kept;
  for (size_t at = 0; at < text.size();) {
    const size_t score = text.find("score ", at);
    if (score == std::string::npos) return kept + text.substr(at);
    const size_t end = text.find(' ', score + 6);
    kept += text.substr(at, score + 6 - at) + fmt::format("{:.4g}", std::stod(text.substr(score + 6)));
    at = end;
  }
  return kept;
}

}  // namespace mtfc
