// The destinations of a command's output: files, links, pipes, standard output, full disks.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/skip.h"

namespace mtfc::output_test {
namespace {

namespace fs = std::filesystem;

const char* const kModel = R"({
  "mtfc": 1,
  "dims": {"rows": 5, "cols": 7},
  "variables": {"w": {"dims": ["rows", "cols"], "init": {"normal": 1}}},
  "ops": [{"out": "loss", "op": "reduce_sum", "in": "w"}],
  "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 0.5}}
}
)";

// A folder with the model, to run commands in.
struct Folder : ScratchFolder {
  Folder() { std::ofstream(path / "model.json") << kModel; }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(path), {})); }
  // Returns `exit N: ` and the standard error of the shell's `command`; $MTFC is the program.
  std::string said(const std::string& command) const {
    const int status =
        std::system(fmt::format("cd '{}'; MTFC='{}'; ({}) 2>../{}.err </dev/null", path.string(),
                                kTestedProgram, command, path.filename().string())
                        .c_str());
    const std::string err = "../" + path.filename().string() + ".err";
    const std::string text = read(err);
    fs::remove(path / err);
    return fmt::format("exit {}: {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1, text);
  }
};

const char* const kFull = "mtfc: error: cannot write to standard output: No space left on device\n";

}  // namespace

TEST_CASE("a full disk behind standard output fails every command") {
  const Folder folder;
  for (const char* arguments :
       {"ops", "ops gather", "run model.json", "run model.json --mesh a:2 --layout rows:a",
        "verify model.json --mesh a:2 --layout rows:a", "compile model.json", "cost-report model.json",
        "check --help", "--version", "run model.json --metrics -", "run model.json --report -",
        "run model.json --output w=-"}) {
    CAPTURE(arguments);
    const std::string said = folder.said(fmt::format("$MTFC {} >/dev/full", arguments));
    CHECK(said.starts_with("exit 1: "));
    CHECK(said.ends_with(kFull));
  }
}

TEST_CASE("a closed standard output, or one whose reader has gone, fails every command") {
  const Folder folder;
  const std::string lost = "mtfc: error: cannot write to standard output: ";
  for (const char* arguments :
       {"ops", "compile model.json", "cost-report model.json", "verify model.json", "check --help",
        "run model.json", "run model.json --mesh a:2 --layout rows:a", "run model.json --metrics -",
        "run model.json --metrics - --mesh a:2 --layout rows:a", "run model.json --report -",
        "run model.json --output w=- --mesh a:2 --layout rows:a"}) {
    CAPTURE(arguments);
    const std::string closed = folder.said(fmt::format("$MTFC {} >&-", arguments));
    CHECK(closed.starts_with("exit 1: "));
    CHECK(closed.ends_with(lost + "Bad file descriptor\n"));
    // The shell opens the pipe for reading, too, so that the command can open it, and closes that end first.
    REQUIRE(mkfifo((folder.path / "pipe").c_str(), 0600) == 0);
    const std::string gone = folder.said(fmt::format("exec 3<>pipe 4>pipe 3>&-; $MTFC {} >&4", arguments));
    CHECK(gone.starts_with("exit 1: "));
    CHECK(gone.ends_with(lost + "Broken pipe\n"));
    fs::remove(folder.path / "pipe");
  }
  // No other file takes the number of a stream that is closed.
  CHECK(folder.said("$MTFC compile model.json -o p.json >&- 2>&- <&-") == "exit 0: ");
  CHECK(folder.read("p.json").starts_with("{"));
}

TEST_CASE("an output can't have the name of another key of the metrics") {
  const Folder folder;
  for (const char* name : {"step", "step_time", "samples_per_second", "learning_rate", "tokens_per_second",
                           "mfu", "wall_time"}) {
    std::string model = kModel;
    model.replace(model.find("\"loss\", \"op\""), 6, fmt::format("\"{}\"", name));
    model.replace(model.find("\"loss\": \"loss\""), 14, fmt::format("\"loss\": \"{}\"", name));
    std::ofstream(folder.path / "named.json") << model;
    CHECK(folder.said("$MTFC run named.json -q") == "exit 0: ");
    for (const char* mesh : {"", "--mesh a:2 --layout rows:a"})
      CHECK(folder.said(fmt::format("$MTFC run named.json -q --metrics log {}", mesh)) ==
            fmt::format(
                "exit 2: mtfc: error: --metrics: the output '{}' has the name of another key of each line "
                "(rename the output in the model)\n",
                name));
    CHECK_FALSE(fs::exists(folder.path / "log"));
  }
}

TEST_CASE("an output can't have the name of a mean over held-out data that is logged with it") {
  const Folder folder;
  folder.write("means.json",
               R"({"mtfc": 1, "name": "means", "dims": {"n": 4}, "inputs": {"x": {"dims": ["n"]}},
    "variables": {"w": {"dims": ["n"], "init": 1}},
    "ops": [{"out": "loss", "op": "reduce_mean", "in": {"op": "mul", "in": ["w", "x"]}},
            {"out": "valid/loss", "op": "reduce_max", "in": "x"}, {"out": "eval/loss", "op": "reduce_min", "in": "x"}],
    "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 0.1}},
    "outputs": ["loss", "valid/loss", "eval/loss"], "data": {"x": "random:normal"}})");
  const auto refused = [](const std::string& option, const std::string& name) {
    return "exit 2: mtfc: error: " + option + ": the output '" + name +
           "' has the name of the mean of 'loss' over the data of --valid (rename the output in the model)\n";
  };
  const std::string run = "$MTFC run means.json -q ", valid = "--valid x=random:normal ";
  CHECK(folder.said(run + valid + "--metrics log") == refused("--metrics", "valid/loss"));
  CHECK(folder.said(run + valid + "--tensorboard logs") == refused("--tensorboard", "eval/loss"));
  CHECK_FALSE(fs::exists(folder.path / "log"));
  CHECK_FALSE(fs::exists(folder.path / "logs"));
  CHECK(folder.said(run + "--metrics log --tensorboard logs") == "exit 0: ");
  CHECK(folder.said(run + valid) == "exit 0: ");
}

TEST_CASE("an output follows links, and replaces what they point to") {
  const Folder folder;
  fs::create_directory(folder.path / "sub");
  fs::create_symlink("sub/w.npy", folder.path / "link");
  fs::create_symlink("link", folder.path / "link2");
  for (int round = 0; round < 2; ++round) {  // the link leads nowhere, then to a file
    CHECK(folder.said("$MTFC run model.json -q --output w=link2 --report sub/report") == "exit 0: ");
    CHECK(fs::is_symlink(folder.path / "link2"));
    CHECK(fs::is_symlink(folder.path / "link"));
    CHECK(folder.read("sub/w.npy").substr(1, 5) == "NUMPY");
    CHECK(std::distance(fs::directory_iterator(folder.path / "sub"), {}) == 2);
  }
  fs::create_symlink("sub/other", folder.path / "link3");
  CHECK(folder.said("$MTFC run model.json -q --report link3") == "exit 0: ");
  CHECK(fs::is_symlink(folder.path / "link3"));
  CHECK(fs::is_regular_file(folder.path / "sub" / "other"));
  CHECK(folder.files() == 5);
}

TEST_CASE("no file is written through a link that another user has laid in a folder of all") {
  if (geteuid() != 0) return skip_without("root", "only root can give a link to another user");
  const Folder folder;
  folder.write("victim", "precious");
  fs::create_directory(folder.path / "shared");
  fs::create_symlink("../victim", folder.path / "shared/link");
  constexpr uid_t kOther = 12345;
  REQUIRE(lchown((folder / "shared/link").c_str(), kOther, kOther) == 0);
  REQUIRE(chmod((folder / "shared").c_str(), 01777) == 0);
  for (const std::string option : {"--output w=", "--report ", "--trace ", "--metrics "})
    for (const char* mesh : {"", " --mesh a:2 --layout rows:a"}) {
      CAPTURE(option);
      CHECK(folder.said("$MTFC run model.json -q " + option + "shared/link" + mesh) ==
            "exit 1: mtfc: error: cannot write 'shared/link': Permission denied\n");
    }
  CHECK(folder.said("$MTFC schema layout -o shared/link") ==
        "exit 1: mtfc: error: cannot write 'shared/link': Permission denied\n");
  CHECK(folder.read("victim") == "precious");
  CHECK(std::distance(fs::directory_iterator(folder.path / "shared"), {}) == 1);
}

TEST_CASE("an output to a pipe or to standard output has the bytes of the file") {
  const Folder folder;
  REQUIRE(mkfifo((folder.path / "pipe").c_str(), 0600) == 0);
  for (const char* mesh :
       {"", "--mesh a:2,b:2 --layout rows:a,cols:b --simulate", "--mesh a:2 --layout cols:a"}) {
    CAPTURE(mesh);
    CHECK(folder.said(fmt::format("$MTFC run model.json -q {} --output w=w.npy", mesh)) == "exit 0: ");
    CHECK(folder.said(fmt::format("cat pipe >got & $MTFC run model.json -q {} --output w=pipe; wait",
                                  mesh)) == "exit 0: ");
    CHECK(folder.read("got") == folder.read("w.npy"));
    CHECK(fs::is_fifo(folder.path / "pipe"));
    const std::string said = folder.said(fmt::format("$MTFC run model.json {} --output w=- >got", mesh));
    CHECK(said.starts_with("exit 0: "));
    CHECK(said.find("\nstep 1") != std::string::npos);
    CHECK(folder.read("got") == folder.read("w.npy"));
    CHECK(folder.said(fmt::format("$MTFC run model.json -q {} --output w=/dev/stdout | cat >got", mesh)) ==
          "exit 0: ");
    CHECK(folder.read("got") == folder.read("w.npy"));
  }
}

TEST_CASE("- is standard output for metrics and reports") {
  const Folder folder;
  CHECK(folder.said("$MTFC run model.json --steps 2 --metrics - >got").starts_with("exit 0: "));
  std::ifstream lines(folder.path / "got");
  int count = 0;
  for (std::string line; std::getline(lines, line);) CHECK(nlohmann::json::parse(line)["step"] == ++count);
  CHECK(count == 2);
  CHECK(folder.said("$MTFC run model.json -q --mesh a:2 --layout rows:a --report - >got") == "exit 0: ");
  CHECK(nlohmann::json::parse(folder.read("got")).is_object());
  CHECK(folder.said("$MTFC compile model.json --emit json -o - >got") == "exit 0: ");
  CHECK(nlohmann::json::parse(folder.read("got")).is_object());
  CHECK(folder.files() == 2);
}

TEST_CASE("a file that can't be finished is named as it was given, and is not there") {
  const Folder folder;
  // The largest file that the shell allows simulates a full disk.
  for (const char* options :
       {"--output w=w.npy", "--output w=w.npy --mesh a:2 --layout rows:a --simulate", "--report w.json"})
    CHECK(folder.said(fmt::format("(trap '' XFSZ; ulimit -f 0; $MTFC run model.json -q {}; echo $? >&2) "
                                  "2>&1 >/dev/null | cat >&2",
                                  options)) ==
          fmt::format("exit 0: mtfc: error: cannot write 'w.{}': File too large\n1\n",
                      std::string(options).ends_with(".json") ? "json" : "npy"));
  CHECK(folder.files() == 1);
}

TEST_CASE("a file is written under a name that nobody can foresee") {
  const Folder folder;
  const std::string write = "umask 027; $MTFC run model.json -q --report w.json --output w=w.npy";
  for (const char* name : {"w.json.partial", "w.npy.partial"}) {
    std::ofstream(folder.path / "precious") << "precious";
    fs::create_symlink("precious", folder.path / name);
  }
  CHECK(folder.said(write) == "exit 0: ");
  CHECK(folder.read("precious") == "precious");
  CHECK(folder.files() == 6);
  for (const char* name : {"w.json", "w.npy"}) {
    CHECK(fs::status(folder.path / name).permissions() == fs::perms(0640));
    CHECK(fs::is_regular_file(fs::symlink_status(folder.path / name)));
  }
}

TEST_CASE("runs that write the same file do not disturb each other") {
  const Folder folder;
  const std::string once = "$MTFC compile model.json -o p.json && $MTFC run model.json -q --output w=w.npy";
  REQUIRE(folder.said(once) == "exit 0: ");
  const std::string program = folder.read("p.json"), array = folder.read("w.npy");
  CHECK(folder.said(fmt::format("for i in 1 2 3 4 5 6; do ({}) & done; wait", once)) == "exit 0: ");
  CHECK(folder.read("p.json") == program);
  CHECK(folder.read("w.npy") == array);
  CHECK(folder.files() == 3);
}

TEST_CASE("a file is what the ending of its name says, or is refused before any work") {
  const Folder folder;
  const auto refused = [&](const std::string& arguments, const std::string& message) {
    CAPTURE(arguments);
    CHECK(folder.said("$MTFC " + arguments + " >out").starts_with("exit 2: mtfc: error: " + message));
    fs::remove(folder.path / "out");
    CHECK(folder.files() == 1);
  };
  for (const char* ending : {"pdf", "svg", "xlsx", "npy"}) {
    const std::string file = std::string("r.") + ending;
    refused("cost-report model.json -o " + file,
            fmt::format("-o: '{}' ends in .{}, but a cost report is written as .json, .csv, .html or .txt",
                        file, ending));
    refused("run model.json --report " + file,
            fmt::format("--report: '{}' ends in .{}, but a report", file, ending));
    refused("run model.json --trace " + file,
            fmt::format("--trace: '{}' ends in .{}, but a time", file, ending));
    refused("run model.json --metrics " + file,
            fmt::format("--metrics: '{}' ends in .{}, but a", file, ending));
    refused("schema model -o " + file, fmt::format("-o: '{}' ends in .{}, but a schema", file, ending));
    refused("calibrate --quick -o " + file,
            fmt::format("-o: '{}' ends in .{}, but a hardware", file, ending));
    refused("search model.json --devices 2 -o " + file, fmt::format("the layout file '{}'", file));
    refused("compile model.json -o " + file,
            fmt::format("-o: '{}' ends in .{}, but a program is written as .json, .txt, .dot or .gv", file,
                        ending));
  }
  refused("run model.json --output w=w.csv",
          "--output: 'w.csv' ends in .csv, but an array is written as .npy");
  refused("cost-report model.json --format csv -o r.html",
          "-o: 'r.html' ends in .html, but the format is to be 'csv'");
  refused("compile model.json --emit json -o r.dot",
          "-o: 'r.dot' ends in .dot, but the format is to be 'json'");
  const auto begins = [&](const std::string& arguments, const std::string& file,
                          const std::string& beginning) {
    CAPTURE(arguments);
    CHECK(folder.said("$MTFC " + arguments + file) == "exit 0: ");
    CHECK(folder.read(file).starts_with(beginning));
  };
  begins("cost-report model.json -o ", "r.txt", "model, train");
  begins("cost-report model.json -o ", "r.csv", "number,model,");
  begins("cost-report model.json -o ", "r.json", "{");
  begins("cost-report model.json -o ", "r", "{");
  begins("cost-report model.json -o ", "r.html", "<!doctype html>");
  begins("cost-report model.json --format json -o ", "r.pdf", "{");
  begins("compile model.json -o ", "p.txt", "program model");
  begins("compile model.json -o ", "p.dot", "digraph");
  begins("compile model.json -o ", "p.json", "{");
}

TEST_CASE("ranks without a mesh are told how to get one") {
  const Folder folder;
  const std::string said = folder.said("mpiexec.mpich -n 2 $MTFC run model.json");
  CHECK(said.starts_with("exit 2: "));
  CHECK(
      said.find("mtfc: error: there are 2 ranks, but there is no mesh (give --mesh, as in --mesh all:2)\n") !=
      std::string::npos);
}

TEST_CASE("two outputs to one place, and sources for one name, are refused") {
  const Folder folder;
  const auto refused = [&](const std::string& arguments) {
    return folder.said("$MTFC run model.json " + arguments + " >out");
  };
  const auto refusal = [](const std::string& text) { return "exit 2: mtfc: error: " + text + "\n"; };
  CHECK(refused("--output w=a --output loss=a") ==
        refusal("--output w and --output loss would both write to 'a' (give them files of their own)"));
  CHECK(
      refused("--output w=- --metrics -") ==
      refusal("--metrics and --output w would both write to standard output (give them files of their own)"));
  CHECK(refused("--input x=a.npy --input x=b.npy") ==
        refusal("--input feeds 'x' twice: from 'a.npy' and from 'b.npy' (give it once)"));
  CHECK(refused("--load w=a.npy --load w=a.npy") ==
        refusal("--load loads 'w' twice: from 'a.npy' and from 'a.npy' (give it once)"));
  CHECK(refused("--evaluate --steps 1") ==
        refusal("--steps is for training, but --evaluate reads the data of --input once (leave out "
                "--evaluate or --steps)"));
  CHECK(refused("--evaluate --microbatches 2") ==
        refusal("--microbatches is for training, but --evaluate reads the data of --input once (leave out "
                "--evaluate or --microbatches)"));
  CHECK(refused("--trace-steps 2") ==
        refusal("--trace-steps needs --trace (give the file with --trace FILE.json)"));
  CHECK(refused("--evaluate --valid x=a.npy --valid-every 2") ==
        refusal("--valid is for training, but --evaluate reads the data of --input once (leave out "
                "--evaluate or --valid)"));
}

// Whatever reads it: the writer would replace what the command has read.
TEST_CASE("no command writes to a file that it reads") {
  Folder folder;
  const std::string layout = R"({"mesh": {"p": 2}, "rules": [["rows", "p"]]})";
  folder.write("layout.json", layout);
  folder.write("metrics.jsonl", R"({"step": 0, "loss": 1})"
                                "\n");
  folder.write("model.job", kModel);
  fs::copy_file(fs::path(kSourceFolder) / "models/char_lm.json", folder.path / "chars.json");
  REQUIRE(folder.said("$MTFC run chars.json -q --steps 0 --checkpoint ck") == "exit 0: ");
  fs::rename(folder.path / "ck/step_00000000/variables.safetensors", folder.path / "chars.safetensors");
  fs::create_symlink("model.json", folder.path / "link.json");
  REQUIRE(folder.said("$MTFC compile model.json --format json -o program.json") == "exit 0: ");
  REQUIRE(folder.said("$MTFC run model.json -q --evaluate --output w=w.npy") == "exit 0: ");
  const std::pair<const char*, const char*> commands[] = {
      {"compile model.json --format json -o model.json", "model.json"},
      {"compile model.json --format json -o link.json", "link.json"},
      {"compile model.json --layout layout.json --format json -o layout.json", "layout.json"},
      {"cost-report program.json --format json -o program.json", "program.json"},
      {"cost-report model.json --format json -o model.json", "model.json"},
      {"diff model.json layout.json layout.json -o layout.json", "layout.json"},
      {"explain model.json -o model.json", "model.json"},
      {"show model.json -o model.json", "model.json"},
      {"search model.json --devices 2 -o model.json", "model.json"},
      {"search model.json --mesh p:2 --layout rows:p --fit --memory-limit 1MB -o model.json", "model.json"},
      {"search model.json --mesh p:2 --annotations -o model.json", "model.json"},
      {"slurm model.job --nodes 1 --checkpoint jobs -o model.job", "model.job"},
      {"report metrics.jsonl --format text -o metrics.jsonl", "metrics.jsonl"},
      {"run model.json --report model.json", "model.json"},
      {"run model.json --trace model.json", "model.json"},
      {"generate chars.json --load chars.safetensors -q --prompt-tokens 1 --length 1 -o chars.safetensors",
       "chars.safetensors"},
      {"run model.json --evaluate --load w=w.npy --output w=w.npy", "w.npy"},
      {"run model.json --evaluate --layout layout.json --simulate --report layout.json", "layout.json"},
  };
  std::map<std::string, std::string> before;
  for (const auto& [command, file] : commands) before[file] = folder.read(file);
  for (const auto& [command, file] : commands) {
    INFO(std::string(command));
    const std::string said = folder.said(fmt::format("$MTFC {}", command));
    CHECK(said.starts_with("exit 2: "));
    CHECK(said.ends_with(
        fmt::format("mtfc: error: '{}' is read, so it can't be written (name another file)\n", file)));
    CHECK(folder.read(file) == before[file]);
  }
  CHECK(fs::is_symlink(folder.path / "link.json"));
}

}  // namespace mtfc::output_test
