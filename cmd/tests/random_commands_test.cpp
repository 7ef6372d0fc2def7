// Every command that takes a model, on random models under random layouts, legal or not, must end by itself with the
// exit code 0, 1 or 2: nothing crashes, hangs or contradicts itself. Freed memory is overwritten meanwhile.
//
// MTFC_CASES and MTFC_SEED choose how many pairs of a model and a layout and which, and MTFC_TRIED names another
// binary, such as one with sanitizers; scripts/fuzz_commands.sh tries many. The files of a pair that fails are written
// to the folder MTFC_FAILURES, or to the folder for temporary files.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/settings.h"
#include "formats/testing/mutation.h"
#include "runtime/testing/model_json.h"
#include "runtime/testing/random_models.h"

namespace mtfc::random_commands_test {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kPairs = 3;
constexpr int kSeconds = 120;  // more than any command takes on a busy machine, sanitizers included

// Commands as a shell runs them in the folder of the files; $T is a tensor of the model.
const std::vector<const char*> kTried = {
    "check model.json --layout layout.json",
    "check model.json --layout layout.json --no-uneven",
    "compile model.json --layout layout.json --propagate --time-passes",
    "compile model.json --layout layout.json --emit dot",
    "compile model.json --layout layout.json -o program.json",
    "compile model.json --layout layout.json --memory-limit 2KiB --dtype bf16",
    "cost-report model.json --layout layout.json --parts 2 --ranks-per-node 2",
    "cost-report model.json --layout layout.json --layout other.json --hardware h100",
    "cost-report model.json --layout layout.json --layout other.json -o page.html",
    "cost-report model.json --layout layout.json -o page.html --hardware tpu-v3",
    "cost-report model.json --layout layout.json --format json --hardware ethernet-cluster",
    "cost-report model.json --layout other.json --format csv --top 3",
    "diff model.json layout.json other.json",
    "diff model.json layout.json other.json --format json",
    "explain model.json --layout layout.json",
    "explain model.json --layout layout.json \"$T\"",
    "explain model.json --layout layout.json \"$T\" --format json",
    "explain model.json --layout layout.json 1",
    "show model.json --layout layout.json",
    "show model.json --layout layout.json \"$T\"",
    "show model.json --layout layout.json '**' --format json",
    "search model.json --devices 4 --time-limit 1 -q",
    "search model.json --mesh p:2 --annotations -q",
    "search model.json --devices 4 --fit --memory-limit 1MiB --time-limit 1 -q",
    "run model.json --layout layout.json --simulate --steps 2 -q --report report.json --metrics log.jsonl",
    "run model.json --layout layout.json --simulate --steps 1 -q --checkpoint saved --trace trace.json",
    "run model.json --layout layout.json --simulate --evaluate -q --dtype f64 --output \"$T=$T.npy\"",
    "weights model.json --load saved",
    "export model.json --load saved -o exported",
    "predict model.json --layout layout.json --simulate -q --output-tensor \"$T\" -o rows.csv",
    "predict model.json --layout layout.json --simulate -q -o rows.npy",
    "run program.json --simulate -q",
    "cost-report program.json --format json",
    "show program.json",
    "report log.jsonl -o curves.html",
    "generate model.json --layout layout.json --simulate --length 2 --prompt-tokens 1 -q",
    "slurm model.json --layout layout.json --nodes 1 --checkpoint jobs",
    "verify model.json --layout layout.json -q",
};
// They take no model.
const std::set<std::string> kWithoutModel = {"calibrate", "completion", "help",     "import",  "man",
                                             "ops",       "schema",     "tokenize", "validate"};

class Pair {
 public:
  explicit Pair(uint64_t seed)
      : random_(seed), drawn_(chance(50) ? annotated_case(seed) : random_case(seed)), seed_(seed) {
    model = model_file(drawn_);
    layout = drawn_layout();
    other = drawn_layout();
    const Json outputs = Json::parse(model)["outputs"];
    tensor = outputs[below(outputs.size())].get<std::string>();
  }

  std::string model, layout, other, tensor;

 private:
  size_t below(size_t limit) { return random_() % limit; }
  bool chance(size_t percent) { return below(100) < percent; }

  // The layout of the case, or one that is not legal for it, or hardly so.
  std::string drawn_layout() {
    const std::string own = layout_file(drawn_);
    switch (below(8)) {
      case 0:
      case 1:
        return with_conflict(own);
      case 2:
        return layout_file(annotated_case(seed_ + 1 + below(1000)));
      case 3: {
        Vocabulary vocabulary;
        vocabulary.learn(parse_json(model, ""));
        vocabulary.learn(parse_json(own, ""));
        return Mutator(random_(), vocabulary).mutated_json(own);
      }
      default:
        return own;
    }
  }

  // Two dimensions of a tensor are split over one axis.
  std::string with_conflict(const std::string& text) {
    Json changed = Json::parse(text);
    WholeTensors leaves;
    const Model built = model_of(drawn_, leaves);
    std::vector<Dims> wide;
    for (const Tensor& one : built.graph.tensors())
      if (one.type.dims.size() > 1) wide.push_back(one.type.dims);
    if (wide.empty()) return text;
    const Dims& dims = wide[below(wide.size())];
    const size_t first = below(dims.size()), second = (first + 1 + below(dims.size() - 1)) % dims.size();
    auto axis = changed["mesh"].begin();
    std::advance(axis, below(changed["mesh"].size()));
    for (const size_t dim : {first, second}) {
      Json& rules = changed["rules"];
      for (size_t i = rules.size(); i-- > 0;)
        if (rules[i][0] == dims[dim].name) rules.erase(i);
      rules.push_back({dims[dim].name, axis.key()});
    }
    return changed.dump();
  }

  std::mt19937_64 random_;
  RandomCase drawn_;
  uint64_t seed_;
};

std::string tried_binary() {
  const char* named = std::getenv("MTFC_TRIED");
  return named ? named : kTestedProgram;
}

// Runs the command and returns its exit code with the end of what it says. Sanitizers would end it with 1.
Outcome outcome_in(const ScratchFolder& folder, const std::string& command, const std::string& tensor) {
  return outcome_of(
      fmt::format("cd '{}' && export MALLOC_PERTURB_=165 ASAN_OPTIONS=exitcode=99:detect_leaks=0 "
                  "UBSAN_OPTIONS=exitcode=99 "
                  "OMP_NUM_THREADS=1 T='{}'; timeout -k 5 {} '{}' {} >out 2>err </dev/null; code=$?; tail -c "
                  "3000 err; exit $code",
                  folder.path.string(), tensor, kSeconds, tried_binary(), command));
}

std::string saved(const ScratchFolder& folder, uint64_t seed) {
  namespace fs = std::filesystem;
  const char* named = std::getenv("MTFC_FAILURES");
  const fs::path place =
      (named ? fs::path(named) : fs::temp_directory_path()) / fmt::format("commands_{}", seed);
  fs::create_directories(place);
  for (const char* file : {"model.json", "layout.json", "other.json"})
    fs::copy_file(folder.path / file, place / file, fs::copy_options::overwrite_existing);
  return place.string();
}

std::string name_of(const std::string& command) {
  return command.substr(0, command.find(' '));
}

TEST_CASE("every command is tried, or takes no model") {
  std::set<std::string> tried = kWithoutModel;
  for (const char* command : kTried) tried.insert(name_of(command));
  std::istringstream lines(outcome_of(fmt::format("'{}' --help", kTestedProgram)).text);
  std::set<std::string> known;
  bool lists = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) lists = false;
    if (lists && line.size() > 2 && line[2] != ' ') known.insert(line.substr(2, line.find(' ', 2) - 2));
    if (line == "Subcommands:") lists = true;
  }
  CHECK(known == tried);
}

// A pair is of use only if the commands know their options.
TEST_CASE("every command succeeds on a legal pair") {
  const ScratchFolder folder;
  folder.write("model.json",
               R"({"mtfc": 1, "dims": {"a": 6, "b": 4, "k": 2}, "inputs": {"x": {"dims": ["a", "b"]}},
 "variables": {"w": {"dims": ["b", "k"], "init": {"uniform": [-1, 1]}}},
 "ops": [{"out": "h", "op": "einsum", "in": ["x", "w"], "dims": ["a", "k"]},
         {"out": "l", "op": "reduce_mean", "in": {"op": "square", "in": "h"}}],
 "train": {"loss": "l", "optimizer": {"kind": "sgd", "lr": 0.1}}, "outputs": ["l", "h"], "data": {"x": "random:normal"}})");
  folder.write("layout.json", R"({"mesh": {"p": 2}, "rules": [["a", "p"]], "shardings": {"h": {}}})");
  folder.write("other.json", R"({"mesh": {"p": 2}, "rules": [["k", "p"]]})");
  for (const std::string command : kTried) {
    CAPTURE(command);
    const Outcome outcome = outcome_in(folder, command, "h");
    CAPTURE(outcome.text);
    // The model has nothing to generate with, and is of no family whose config.json could be exported.
    const bool is_refused = name_of(command) == "generate" || name_of(command) == "export";
    CHECK(outcome.code == (is_refused ? 2 : 0));
  }
}

TEST_CASE("commands on random models under random layouts end with the exit code 0, 1 or 2") {
  const int64_t pairs = setting("MTFC_CASES", kPairs), first = first_seed();
  std::map<std::pair<std::string, int>, int64_t> codes;
  int64_t failed = 0;
  for (int64_t i = 0; i < pairs && failed < 10; ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    const Pair pair(seed);
    const ScratchFolder folder;
    folder.write("model.json", pair.model);
    folder.write("layout.json", pair.layout);
    folder.write("other.json", pair.other);
    for (const char* command : kTried) {
      const Outcome outcome = outcome_in(folder, command, pair.tensor);
      ++codes[{name_of(command), outcome.code}];
      if (outcome.code >= 0 && outcome.code <= 2) continue;
      ++failed;
      FAIL_CHECK(fmt::format("seed {}: exit {} in {}: T='{}' mtfc {}\n{}", seed, outcome.code,
                             saved(folder, seed), pair.tensor, command, outcome.text));
    }
  }
  std::string counts;
  for (const auto& [key, count] : codes)
    counts += fmt::format("\n  {} exit {}: {}", key.first, key.second, count);
  MESSAGE(fmt::format("{} pairs from seed {}{}", pairs, first, counts));
  CHECK(failed == 0);
}

}  // namespace
}  // namespace mtfc::random_commands_test
