// The files that commands read whole: regular files, pipes, devices, and what a model includes.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::input_file_test {
namespace {

const char* const kModel = R"({
  "mtfc": 1,
  "dims": {"rows": 4},
  "inputs": {"x": {"dims": ["rows"]}},
  "ops": [{"out": "y", "op": "exp", "in": "x"}],
  "outputs": ["y"]
}
)";

// A folder with the model, a pipe without a writer and an endless file, to run commands in.
struct Folder : ScratchFolder {
  Folder() {
    write("model.json", kModel);
    REQUIRE(mkfifo((*this / "pipe.json").c_str(), 0600) == 0);
    std::filesystem::create_symlink("/dev/zero", path / "endless.json");
  }
  // Returns the output after `exit N: `. A command that waits for ever is ended.
  std::string said(const std::string& command) const {
    const auto [code, text] =
        outcome_of(fmt::format("cd '{}' && export MTFC='{}' && $HANG_GUARD bash -c '{}' 2>&1 </dev/null",
                               path.string(), kTestedProgram, command));
    return fmt::format("exit {}: {}", code, text);
  }
};

}  // namespace

TEST_CASE("a model, a layout and a hardware profile may come from a pipe") {
  const Folder folder;
  folder.write("layout.json", R"({"mesh": [["p", 2]], "rules": [["rows", "p"]]})");
  const std::string checked = ": no errors, no warnings\n";
  REQUIRE(folder.said("$MTFC check model.json --layout layout.json") == "exit 0: model.json" + checked);
  for (const std::string command :
       {"$MTFC check <(cat model.json) --layout layout.json",
        "cat model.json | $MTFC check /dev/stdin --layout layout.json",
        "cat model.json | $MTFC check - --layout layout.json",
        "cat layout.json >pipe.json & $MTFC check model.json --layout pipe.json; wait"}) {
    CAPTURE(command);
    const std::string said = folder.said(command);
    CHECK(said.starts_with("exit 0: "));
    CHECK(said.ends_with(checked));
  }
}

TEST_CASE("a text without an end is refused") {
  const Folder folder;
  const std::string refused = " is longer than 256 MiB, the most that mtfc reads from a pipe or a device\n";
  CHECK(folder.said("$MTFC check - </dev/zero") ==
        "exit 2: mtfc: error: the model from standard input" + refused);
  CHECK(folder.said("$MTFC check model.json --layout endless.json") ==
        "exit 2: mtfc: error: the layout 'endless.json'" + refused);
}

TEST_CASE("an include is a regular file of limited size") {
  const Folder folder;
  const auto answer = [&](const std::string& include) {
    folder.write("includes.json", fmt::format(R"({{"mtfc": 1, "include": ["{}"], "ops": []}})", include));
    return folder.said("$MTFC check includes.json");
  };
  const std::string refused = "exit 2: includes.json:1:25: error: /include/0: ";
  for (const char* name : {"pipe.json", "endless.json", "/dev/stdin"}) {
    CAPTURE(name);
    CHECK(answer(name) ==
          fmt::format("{}cannot read the include '{}': it is not a regular file\n", refused, name));
  }
  CHECK(answer(".") == refused + "cannot read the include '.': it is a folder\n");
  std::filesystem::resize_file(folder.write("large.json", "{"), uintmax_t{1} << 31);
  CHECK(answer("large.json") ==
        refused + "the include 'large.json' is longer than 1024 MiB, the most that mtfc reads from a file\n");
}

}  // namespace mtfc::input_file_test
