// Mistakes on the command line: the complete text, and exit code 2.

#include "cmd/options/command_line.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/command.h"
#include "cmd/testing/shell.h"
#include "core/diagnostics/error.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/text.h"

namespace mtfc::command_line_test {
namespace {

// Returns the output of `mtfc` in the folder of the bundled models, after "exit N: ".
std::string outcome(const std::string& arguments, const char* streams) {
  const auto [code, text] = outcome_of(fmt::format("cd '{}/models' && '{}' {} {} </dev/null", kSourceFolder,
                                                   kTestedProgram, arguments, streams));
  return fmt::format("exit {}: {}", code, text);
}

std::string said(const std::string& arguments) {
  return outcome(arguments, "2>&1 >/dev/null");
}
std::string printed(const std::string& arguments) {
  return outcome(arguments, "2>/dev/null");
}

std::string refusal(const std::string& text) {
  return "exit 2: mtfc: error: " + text + "\n";
}

// A layout without rules splits nothing, which a comparison may be with.
const std::map<std::string, std::set<std::string>> kMayBeEmpty = {{"A", {"diff"}}, {"B", {"diff"}}};

CommandEntry entry_of(const Command& command) {
  CommandParser parser("mtfc", "", "mtfc");
  CommandLine line = parser.add_command(command.name, "");
  const auto options = command.setup(line);  // holds them
  return line.table().commands.at(0);
}

// The error of the arguments, or "".
std::string mistake(const Command& command, std::vector<std::string> arguments) {
  CommandParser parser("mtfc", "", "mtfc");
  CommandLine line = parser.add_command(command.name, "");
  const auto options = command.setup(line);  // holds them
  arguments.insert(arguments.begin(), command.name);
  try {
    parser.parse(arguments);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::string refusal_of(const std::string& name) {
  return "error: " + name + ": the value is empty, as it is where a variable of the shell is not set (see ";
}

}  // namespace

TEST_CASE("unknown commands, options and arguments") {
  CHECK(said("cost-reprot x") == refusal("there is no command 'cost-reprot' (did you mean 'cost-report'?)"));
  CHECK(said("cost x") == refusal("there is no command 'cost' (did you mean 'cost-report'?)"));
  CHECK(said("train x") ==
        refusal("there is no command 'train' (mtfc run: train or evaluate a model, alone or "
                "under mpiexec)"));
  CHECK(said("frobnicate") == refusal("there is no command 'frobnicate' (see mtfc --help)"));
  CHECK(said("run mnist.json --stesp 3") ==
        refusal("there is no option '--stesp' (did you mean '--steps'?)"));
  CHECK(said("run mnist.json --stesp=3") ==
        refusal("there is no option '--stesp' (did you mean '--steps'?)"));
  CHECK(said("check mnist.json -x") == refusal("there is no option '-x' (see mtfc check --help)"));
  CHECK(said("check mnist.json extra") == refusal("unexpected argument 'extra' (see mtfc check --help)"));
  for (const char* layout : {"layout.json", "batch:rows"})
    CHECK(said(fmt::format("compile mnist.json {}", layout)) ==
          refusal(fmt::format("unexpected argument '{}' (a layout is given by an option: --layout {})",
                              layout, layout)));
  for (const char* words : {"run mnist.json", "check mnist.json", "explain mnist.json x"})
    CHECK(said(fmt::format("{} transformer_lm.json", words)) ==
          refusal(
              "unexpected argument 'transformer_lm.json' (it is a second model, and the command takes one)"));
}

TEST_CASE("no command takes a layout, a second model or a second program for something else") {
  const ScratchFolder folder;
  const std::string model = folder.write("model.json", R"({"ops": []})"),
                    program = folder.write("program.json", R"({"mtfc_program": 1})"),
                    layout = folder.write("layout.json", R"({"rules": []})");
  size_t commands = 0;
  for (const Command* command : all_commands()) {
    const std::vector<OptionEntry> options = entry_of(*command).options;
    std::vector<std::string> given;
    bool takes_layout = false, takes_model = false;
    for (const OptionEntry& option : options) {
      if (option.names.front() == "--layout") takes_layout = true;
      if (option.names.front().starts_with("MODEL")) takes_model = true;
      if (!option.is_required) continue;
      if (!option.is_argument) given.push_back(option.names.front());
      given.emplace_back("1");
    }
    if (!takes_layout || !takes_model) continue;
    ++commands;
    CAPTURE(command->name);
    const auto hint = [&](const std::vector<std::string>& more) {
      std::vector<std::string> words = given;
      words.insert(words.end(), more.begin(), more.end());
      const std::string text = mistake(*command, words),
                        problem = fmt::format("error: unexpected argument '{}' (", more.front());
      CHECK_MESSAGE(text.starts_with(problem), text);
      return text.substr(std::min(problem.size(), text.size()));
    };
    for (const std::string& word : {layout, std::string("absent.json"), std::string("batch:a")}) {
      CHECK(hint({word}) == "a layout is given by an option: --layout " + word + ")");
      CHECK(hint({word, "--layout", "batch:a"}) == "a layout is given by an option: --layout " + word + ")");
      CHECK(hint({word, "x"}) == "a layout is given by an option: --layout " + word + ")");
    }
    CHECK(hint({model}) == "it is a second model, and the command takes one)");
    CHECK(hint({program}) == "it is a second program, and the command takes one)");
  }
  CHECK(commands >= 10);
}

TEST_CASE("ops describes the library: all of it, a file, and a block") {
  const std::string list = printed("ops std");
  CHECK(has(list, "exit 0: std/activation.json\n"));
  CHECK(has(list, "\nstd/moe.json\n"));
  CHECK(has(list, R"({"out": "y", "op": "call", "block": "dense", "in": "x"})"));
  const std::string block = printed("ops dense");
  CHECK(has(block, "exit 0: dense, a block of std/dense.json\n"));
  CHECK(has(block, "\nCall:  {\"out\": \"y\", \"op\": \"call\", \"block\": \"dense\", \"in\": \"x\"}\n"));
  CHECK(has(block, "\n  from  d_model\n  to    d_ff\n"));
  CHECK(has(block, "\n  bias  1\n"));
  CHECK(has(block, "\nVariables:  kernel [from, to], bias [to]"));
  // The file has a block of its own name, and others.
  const std::string file = printed("ops std/moe");
  CHECK(has(file, "exit 0: std/moe.json\n"));
  CHECK(has(file, "\n  capacity_factor  1\n"));
  CHECK(has(file, "\nexpert_choice, a block of std/moe.json\n"));
  CHECK_FALSE(has(printed("ops moe"), "expert_choice"));
  // An operation and a block of one name are both described.
  CHECK(has(printed("ops attention"), "\nattention, a block of std/attention.json\n"));
  CHECK(said("ops feed_forwrd") ==
        refusal("there is no operation 'feed_forwrd' (did you mean 'feed_forward'?)"));
}

TEST_CASE("a part of the library needs only the dimensions that the model uses") {
  const ScratchFolder folder;
  const auto written = [&](const std::string& name, const std::string& dims) {
    std::ofstream(folder / name) << R"({"mtfc": 1, "include": ["std/moe.json"],
      "dims": {"groups": 1, "tokens": 8, "d_model": 4, "d_ff": 4, "experts": 4},
      "inputs": {"x": {"dims": )" << dims
                                 << R"(}, "present": {"dims": ["groups", "tokens"], "dtype": "bool"}},
      "ops": [{"out": ["y", "balance", "z_loss", "load", "dropped"], "op": "call", "block": "moe", "in": ["x", "present"]}],
      "outputs": ["y"]})";
    return "check " + folder / name;
  };
  CHECK(said(written("model.json", R"(["groups", "tokens", "d_model"])")) == "exit 0: ");
  const std::string lacking = said(written("lacking.json", R"(["groups", "beam_slots", "d_model"])"));
  CHECK(lacking.starts_with("exit 2: "));
  CHECK(has(lacking, "unknown dimension 'beam_slots' (std/moe.json:"));
  CHECK(has(lacking, " defines it by 'beam_capacity', which the model lacks)"));
}

TEST_CASE("what is no layout is answered with what would be one") {
  const ScratchFolder folder;
  std::ofstream(folder / "own.json") << "{}";
  std::ofstream(folder / "own.txt") << "{}";
  const std::string check = fmt::format("check {}/models/mnist.json --mesh a:2 --layout ", kSourceFolder),
                    bundled = fmt::format("{}/models/layouts/both.json", kSourceFolder);
  CHECK(said(check + "both") ==
        refusal(fmt::format("'both' is no rule: DIMENSION:AXIS (the bundled layout is '{}')", bundled)));
  CHECK(said(check + "both.json") ==
        refusal(fmt::format(
            "cannot read the layout 'both.json': No such file or directory (the bundled layout is "
            "'{}')",
            bundled)));
  CHECK(said(check + folder / "own") ==
        refusal(fmt::format("'{0}' is no rule: DIMENSION:AXIS (did you mean the file '{0}.json'?)",
                            folder / "own")));
  CHECK(
      said(check + folder / "own.txt") ==
      refusal(fmt::format("the name of the layout file '{}' does not end in .json (rename it, or give it on "
                          "standard input: --layout -)",
                          folder / "own.txt")));
  for (const char* json : {"{\"rules\": {\"batch\": \"a\"}}", "{\"batch\": \"a\"}", "[[\"batch\", \"a\"]]"})
    CHECK(said(check + "'" + json + "'") ==
          refusal("--layout takes rules or the name of a file, not JSON (write batch:a, or give the JSON on "
                  "standard input: --layout -)"));
  CHECK(said("check mnist.json --layout '{\"mesh\":{\"all\":2},\"rules\":[[\"batch\",\"all\"]]}'") ==
        refusal(
            "--layout takes rules or the name of a file, not JSON (write --mesh all:2 --layout batch:all, or "
            "give the JSON on standard input: --layout -)"));
  CHECK(said(check + "data_paralel") ==
        refusal(fmt::format("'data_paralel' is no rule: DIMENSION:AXIS (did you mean the bundled "
                            "'{}/models/layouts/data_parallel.json'?)",
                            kSourceFolder)));
  CHECK(
      has(said(check + "elsewhere/data_paralel.json"),
          fmt::format("(did you mean the bundled '{}/models/layouts/data_parallel.json'?)", kSourceFolder)));
  CHECK(
      said(check + "'{batch'") ==
      refusal(
          "--layout takes rules or the name of a file, not JSON (write rules, as in batch:rows,hidden:cols, "
          "or give the JSON on standard input: --layout -)"));
}

TEST_CASE("options of other programs are answered with those of mtfc") {
  const auto no_option = [](const char* option, const char* hint) {
    return refusal(fmt::format("there is no option '{}' ({})", option, hint));
  };
  CHECK(said("run mnist.json --lr 0.1") == no_option("--lr", "set the model's param: --set lr=0.1"));
  CHECK(said("run mnist.json --learning-rate=3e-4") ==
        no_option("--learning-rate", "set the model's param: --set lr=3e-4"));
  CHECK(said("run mnist.json --epochs 3") ==
        no_option("--epochs", "training is counted in steps: --steps N"));
  for (const char* command : {"run", "cost-report", "generate"})
    CHECK(said(fmt::format("{} mnist.json --batch-size 64", command)) ==
          no_option("--batch-size", "set the size of the dimension: --set batch=64"));
  for (const char* option : {"--np", "-np", "-n", "--ranks"})
    CHECK(said(fmt::format("run mnist.json {} 4", option)) ==
          no_option(option, "the mesh says how many ranks there are: --mesh all:4"));
}

TEST_CASE("options of other names are answered with the right ones") {
  for (const char* command : {"show", "cost-report", "check", "search", "explain"})
    CHECK(said(fmt::format("{} mnist.json --json", command)) ==
          refusal("there is no option '--json' (--format json)"));
  CHECK(said("search mnist.json --ranks 4") == refusal("there is no option '--ranks' (--devices 4)"));
  CHECK(
      said("verify mnist.json --json") ==
      refusal(
          "there is no option '--json' (the exit code has the result: 0 where both runs agree, 1 where they "
          "differ)"));
  CHECK(said("run mnist.json --json") ==
        refusal("there is no option '--json' (outputs of every step: --metrics FILE.jsonl; counts and "
                "predictions: --report FILE.json)"));
  CHECK(said("run mnist.json --data x.npy") ==
        refusal("there is no option '--data' (data are given by input: --input NAME=FILE)"));
  CHECK(said("check mnist.json --strict") ==
        refusal("there is no option '--strict' (errors instead of warnings: --deny warnings)"));
  CHECK(said("slurm mnist.json --nodes 1 --module mpich") ==
        refusal("there is no option '--module' (lines before the run: --setup 'module load NAME')"));
  CHECK(said("diff mnist.json --mesh a:4 --layout batch:a --layout hidden:a") ==
        refusal("there is no option '--layout' (the layouts follow the model: mtfc diff MODEL batch:rows "
                "hidden:rows --mesh rows:4)"));
}

TEST_CASE("every command that takes a mesh knows the options of other programs") {
  size_t commands = 0;
  for (const Command* command : all_commands()) {
    const std::vector<OptionEntry> options = entry_of(*command).options;
    const auto has_option = [&](const char* name) {
      return std::any_of(options.begin(), options.end(), [&](const OptionEntry& option) {
        return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
      });
    };
    if (!has_option("--mesh")) continue;
    ++commands;
    CAPTURE(command->name);
    const bool takes_model = has_option("--set");
    const std::string for_model = "it is for a model, and the command takes none)";
    const auto hint = [&](const std::string& option, const std::string& value) {
      std::vector<std::string> words = {option, value};
      if (takes_model) words.insert(words.begin(), "model.json");
      const std::string text = mistake(*command, words);
      const std::string problem = fmt::format("error: there is no option '{}' (", option);
      CHECK(text.starts_with(problem));
      return text.substr(std::min(problem.size(), text.size()));
    };
    CHECK(hint("--lr", "0.1") == (takes_model ? "set the model's param: --set lr=0.1)" : for_model));
    CHECK(hint("--batch-size", "64") ==
          (takes_model ? "set the size of the dimension: --set batch=64)" : for_model));
    for (const char* option : {"--mesh_shape", "--mesh-shape"})
      CHECK(hint(option, "a:2") == "the mesh is given as --mesh AXIS:SIZE,...)");
    for (const char* option : {"--layout_rules", "--layout-rules", "-l"})
      CHECK(hint(option, "batch:a") ==
            (!takes_model ? for_model
             : has_option("--layout")
                 ? "the rules are given as --layout DIM:AXIS,...)"
                 : "the layouts follow the model: mtfc diff MODEL batch:rows hidden:rows --mesh rows:4)"));
    CHECK(hint("--ranks", "2") == (command->name == std::string("search")
                                       ? "--devices 2)"
                                       : "the mesh says how many ranks there are: --mesh all:2)"));
    CHECK_FALSE(hint("--json", "x").starts_with("see mtfc"));
  }
  CHECK(commands >= 12);
}

TEST_CASE("calibrate says that it takes no model") {
  CHECK(said("calibrate mnist.json") ==
        refusal(
            "unexpected argument 'mnist.json' (the machine is measured without a model; -o names the file to "
            "write)"));
  CHECK(said("calibrate --json") ==
        refusal("there is no option '--json' (a profile is always JSON: -o FILE.json)"));
  CHECK(has(said("calibrate --set batch=3"), "there is no option '--set' (the commands check, compile and "));
}

TEST_CASE("a bundled model is named where there is no file of its name") {
  const std::string problem = "cannot read the model '{}': No such file or directory";
  const auto refused = [&](const char* name) {
    return refusal(fmt::format(fmt::runtime(problem + " (the bundled model is '{}/models/gpt2.json')"), name,
                               kSourceFolder));
  };
  CHECK(said("check gpt2") == refused("gpt2"));
  CHECK(said("check elsewhere/gpt2.json") == refused("elsewhere/gpt2.json"));
  CHECK(said("check nonsense") == refusal(fmt::format(fmt::runtime(problem), "nonsense")));
}

TEST_CASE("help and the version are found wherever they are looked for") {
  CHECK(said("-q run mnist.json") ==
        refusal("the option '-q' belongs after the command (as in mtfc run -q)"));
  CHECK(said("--steps 3 run mnist.json") ==
        refusal("the option '--steps' belongs after the command (as in mtfc run --steps)"));
  CHECK(printed("help") == printed("--help"));
  CHECK(printed("help run") == printed("run --help"));
  CHECK(printed("run --version") == printed("--version"));
  CHECK(printed("--version").starts_with("exit 0: mtfc "));
  CHECK(printed("ops gradients").find("of   a float scalar, required") != std::string::npos);
  CHECK(printed("ops assign").find("variable  the name of the variable") != std::string::npos);
  CHECK(printed("ops").find("statements:\n  assign ") != std::string::npos);
  CHECK(said("ops matmul") == refusal("there is no operation 'matmul' (did you mean 'einsum'?)"));
  CHECK(said("ops frobnicate") ==
        refusal("there is no operation 'frobnicate' (mtfc ops lists all operations)"));
}

TEST_CASE("help fits on the terminal") {
  for (const char* command :
       {"calibrate", "check", "compile", "completion", "cost-report", "explain", "generate", "help", "man",
        "ops", "predict", "run", "schema", "search", "slurm", "verify", ""})
    for (const size_t width : {size_t{40}, size_t{60}, size_t{80}, size_t{200}}) {
      const auto [code, text] = outcome_of(
          fmt::format("COLUMNS={} '{}' {} --help </dev/null 2>/dev/null", width, kTestedProgram, command));
      CHECK(code == 0);
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        CHECK(line.size() <= width);
      }
    }
  const auto [code, text] =
      outcome_of(fmt::format("COLUMNS=60 '{}' search --help </dev/null", kTestedProgram));
  CHECK(text.find("\n  mtfc search model.json --devices 512 --mesh \\\n      'rows:*,cols:*' --memory-limit "
                  "8GiB\n") != std::string::npos);
}

TEST_CASE("another optimizer or dtype") {
  CHECK(said("check mnist.json --optimizer adafuctor") ==
        refusal("--optimizer: 'adafuctor' is not one of adafactor, adam, adamw, momentum, sgd - did you mean "
                "'adafactor'? (see mtfc check --help)"));
  CHECK(
      said("check mnist.json --dtype f16") ==
      refusal("--dtype: 'f16' is not one of bf16, f32, f64 - did you mean 'bf16'? (see mtfc check --help)"));
}

TEST_CASE("missing and repeated arguments") {
  CHECK(said("check") == refusal("MODEL is missing (see mtfc check --help)"));
  CHECK(said("check mnist.json --set") == refusal("--set needs a value, NAME=VALUE (see mtfc check --help)"));
  CHECK(said("check mnist.json --mesh a:2 --mesh b:2") ==
        refusal("--mesh is given more than once (join axes with a comma: --mesh rows:2,cols:4)"));
  CHECK(said("check mnist.json --layout a:b --layout c:d") ==
        refusal("--layout is given more than once (join rules with a comma: --layout "
                "batch:rows,hidden:cols)"));
  CHECK(said("run mnist.json --load w1") ==
        "exit 1: mtfc: error: cannot read the weights in 'w1': No such file or directory (one variable is "
        "loaded as "
        "NAME=FILE.npy)\n");
  CHECK(said("run mnist.json --valid-every 3") ==
        refusal("--valid-every needs --valid (give the held-out data with --valid NAME=SPEC)"));
}

// A script whose variable is not set gives an empty value, which must not pass for an option that is not given.
TEST_CASE("an empty value is an error for every option of every command, but not for the layouts of diff") {
  size_t options = 0, arguments = 0;
  for (const Command* command : all_commands()) {
    std::vector<std::string> before;  // values of earlier arguments
    for (const OptionEntry& option : entry_of(*command).options) {
      if (!option.takes_value) continue;
      const std::string& name = option.names.front();
      CAPTURE(command->name);
      CAPTURE(name);
      const auto exempt = kMayBeEmpty.find(name);
      const bool may_be_empty = exempt != kMayBeEmpty.end() && exempt->second.contains(command->name);
      std::vector<std::vector<std::string>> tries;
      if (option.is_argument) {
        ++arguments;
        tries = {before};
        tries[0].emplace_back();
        before.emplace_back(option.choices.empty() ? "x" : option.choices.front());
      } else {
        for (const std::string& each : option.names) {
          ++options;
          tries.push_back({each, ""});
          if (each.starts_with("--")) tries.push_back({each + "="}), tries.push_back({each + "=", "x"});
        }
      }
      for (const std::vector<std::string>& words : tries)
        CHECK(mistake(*command, words).starts_with(refusal_of(name)) != may_be_empty);
    }
  }
  CHECK(options > 200);
  CHECK(arguments > 15);
  CHECK(said("run mnist.json --mesh all:2 --layout ''") ==
        refusal(refusal_of("--layout").substr(7) + "mtfc run --help)"));
}

TEST_CASE("values of options") {
  CHECK(said("run mnist.json --steps abc") ==
        refusal("--steps: expected a whole number, found 'abc' (see mtfc run --help)"));
  CHECK(said("run mnist.json --steps 1.5") ==
        refusal("--steps: expected a whole number, found '1.5' (see mtfc run --help)"));
  CHECK(said("run mnist.json --steps=-1") ==
        refusal("--steps: expected 0 or more, found -1 (see mtfc run --help)"));
  CHECK(said("run mnist.json --steps 99999999999999999999") ==
        refusal("--steps: the number 99999999999999999999 is too large (see mtfc run --help)"));
  CHECK(said("run mnist.json --seed=-1") ==
        refusal("--seed: expected 0 or more, found -1 (see mtfc run --help)"));
  CHECK(said("run mnist.json --threads 0") ==
        refusal("--threads: expected 1 or more, found 0 (see mtfc run --help)"));
  CHECK(said("run mnist.json --threads 1000000") ==
        refusal("--threads: expected at most 1024, found 1000000 (see mtfc run --help)"));
  CHECK(said("run mnist.json --threads=-1") ==
        refusal("--threads: expected 1 or more, found -1 (see mtfc run --help)"));
  CHECK(said("run mnist.json --threads two") ==
        refusal("--threads: expected a whole number, found 'two' (see mtfc run --help)"));
  CHECK(said("run mnist.json --watchdog 0") ==
        refusal("--watchdog: expected 1 or more, found 0 (see mtfc run --help)"));
  CHECK(said("run mnist.json --trace-steps 0") ==
        refusal("--trace-steps: expected 1 or more, found 0 (see mtfc run --help)"));
  CHECK(said("cost-report mnist.json --entry tarin") ==
        refusal("--entry: 'tarin' is not one of init, train, evaluate, decode, encode - did you mean "
                "'train'? (see mtfc "
                "cost-report --help)"));
  CHECK(said("run mnist.json --mesh a:100000000 --simulate") ==
        refusal("--simulate holds all devices in one process, but the mesh a:100000000 has 100000000 of them "
                "(at most 65536 are possible)"));
  CHECK(said("verify mnist.json --mesh a:100000000") ==
        refusal("verify holds all devices in one process, but the mesh a:100000000 has 100000000 of them "
                "(at most 65536 are possible)"));
}

TEST_CASE("a memory limit refuses before anything runs") {
  const std::string fits = "mnist.json --mesh a:2 --layout batch:a --memory-limit ";
  for (const char* command : {"compile ", "run "}) {
    const std::string text = said(command + fits + "1MiB");
    CAPTURE(text);
    CHECK(text.starts_with("exit 2: mtfc: error: the program needs "));
    CHECK(text.find(" more than the limit of 1 MiB (") != std::string::npos);
    CHECK(text.find("variable w1 (3.06 MiB)") != std::string::npos);
    CHECK(printed(command + fits + "1MiB") == "exit 2: ");
  }
  // The message says "workspace" once, although the name of such a tensor begins with the same word.
  const std::string convolution = said("run mnist_conv.json --mesh a:2 --layout batch:a --memory-limit 1MiB");
  CAPTURE(convolution);
  CHECK(convolution.find("the largest tensors are workspace of conv2/") != std::string::npos);
  CHECK(said("compile " + fits + "1GB") == "exit 0: ");
  CHECK(said("compile " + fits + "10G") ==
        refusal("--memory-limit: expected bytes above 0, as in 10GiB, 512MiB or 4000000, found '10G' (see "
                "mtfc compile --help)"));
}

TEST_CASE("a limit on reshards names the tensor, both shardings and the bytes") {
  const ScratchFolder folder;
  const std::string layout = folder / "layout.json";
  std::ofstream(layout)
      << R"({"mesh": {"a": 4}, "rules": [["batch", "a"]], "shardings": {"w1": {"hidden": "a"}}})";
  const std::string command = fmt::format("mnist.json --layout '{}' --max-reshard-bytes ", layout);
  for (const char* name : {"compile ", "cost-report "}) {
    const std::string text = said(name + command + "100KiB");
    CAPTURE(text);
    CHECK(text.starts_with("exit 2: mtfc: error: train: 'images' is resharded for "));
    CHECK(text.find(" from [batch/a, rows, cols] to [batch, rows, cols] by all_gather, and a device sends "
                    "230 KiB, more than "
                    "100 KiB (annotate the tensor, or the operand that it is brought together with)") !=
          std::string::npos);
    CHECK(said(name + command + "1MiB") == "exit 0: ");
  }
}

TEST_CASE("a propagated layout says what it costs, and a search refuses it") {
  const std::string text = printed("compile mnist.json --mesh all:4 --layout batch:all --propagate");
  CHECK(text.find("\nlayout  batch:all, propagated\n") != std::string::npos);
  CHECK(text.find("\n  plan    cost 10,123,024, the least that is possible\n") != std::string::npos);
  CHECK(said("search mnist.json --devices 4 --propagate").find("search compares layouts of rules") !=
        std::string::npos);
}

TEST_CASE("a program is drawn for Graphviz") {
  const std::string text = printed("compile mnist.json --mesh a:2 --layout batch:a --emit dot");
  CHECK(text.starts_with("exit 0: digraph \"mnist\" {"));
  CHECK(text.find("subgraph \"cluster_train\"") != std::string::npos);
  CHECK(text.find("label=\"all_reduce over a\\n") != std::string::npos);
  CHECK(text.find("label=\"input images\\nf32[batch=50, rows=28, cols=28]\"") != std::string::npos);
  CHECK(text.find("label=\"new w1\"") != std::string::npos);
}

TEST_CASE("sources are blamed on the option or the place in the model that gives them") {
  const std::string problem = "unknown source 'randm:normal' (did you mean 'random'?)\n";
  CHECK(said("run mnist.json --input images=randm:normal") ==
        "exit 2: --input: error: images=randm:normal: " + problem);
  CHECK(said("run mnist.json --valid images=randm:normal") ==
        "exit 2: --valid: error: images=randm:normal: " + problem);
  CHECK(said("run mnist.json --valid images=randm:normal --mesh all:2 --layout batch:all") ==
        "exit 2: --valid: error: images=randm:normal: " + problem);
  CHECK(said("run mnist.json --valid imags=random:normal") ==
        refusal("--valid: the model has no input 'imags' (did you mean 'images'?)"));
  const std::string model = "../testdata/errors/data_sources/model.json";
  for (const char* command : {"check ", "compile ", "run ", "run --simulate --input a=random:normal "}) {
    const std::string text = said(command + model);
    CHECK(text.starts_with("exit 2: "));
    CHECK(text.find(model + ":21:10: error: /data/a: " + problem) != std::string::npos);
  }
}

TEST_CASE("mistakes in the model and in the text of the layout are told together") {
  const std::string model = "../testdata/errors/literal_index/model.json ";
  const std::string of_model = said("check " + model);
  CHECK(of_model.starts_with("exit 2: " + model.substr(0, model.size() - 1) + ":6:59: error: "));
  const std::string unknown_axis = "--layout:1:3: error: unknown axis 'b' (the mesh is a:2)\n",
                    twice = "--layout:1:9: error: axis 'a' appears twice in the rule of 'y'\n";
  for (const char* command : {"check ", "compile ", "run ", "verify ", "cost-report "})
    CHECK(said(command + model + "--mesh a:2 --layout x:b,y:a+a") == of_model + unknown_axis + twice);
  // Mistakes that several layouts share are reported once.
  CHECK(said("cost-report " + model + "--mesh a:0 --layout x:b --layout y:a") ==
        of_model + "--mesh:1:3: error: axis 'a' must have a size of at least 1, found 0\n");
  CHECK(said("cost-report " + model + "--mesh a:2 --layout x:b --layout y:a+a,") ==
        of_model + unknown_axis + "--layout:1:5: error: axis 'a' appears twice in the rule of 'y'\n");
}

TEST_CASE("names that the model does not have, and files that are not there") {
  CHECK(said("run mnist.json --input imags=x.npy") ==
        refusal("--input: the model has no input 'imags' (did you mean 'images'?)"));
  CHECK(said("run mnist.json --load ww1=x.npy") ==
        refusal("--load: the model has no variable 'ww1' (did you mean 'w1'?)"));
  CHECK(said("run mnist.json --output los=x.npy") ==
        refusal("the model has no tensor 'los' (did you mean 'loss'?)"));
  CHECK(
      said("check minst.json") ==
      refusal("cannot read the model 'minst.json': No such file or directory (did you mean 'mnist.json'?)"));
  CHECK(said("check mnist.json --layout absent_layout.json") ==
        refusal("cannot read the layout 'absent_layout.json': No such file or directory"));
  CHECK(
      said("check .") ==
      refusal(
          "the folder '.' has no config.json (a folder in the place of a model is that of a published one)"));
  CHECK(said("check - --layout -") ==
        refusal("the model and the layout can't both be read from standard input"));
}

}  // namespace mtfc::command_line_test
