// Evaluation over data that does not divide into batches: omitted rows are reported, and none are omitted if
// an input marks the rows.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/testing/scratch_folder.h"

namespace mtfc::evaluation_test {
namespace {

const char* const kModel = R"({
  "mtfc": 1,
  "include": ["std/loss.json"],
  "params": {"masked": 0},
  "dims": {"batch": 4},
  "inputs": {"x": {"dims": ["batch"]}, "mask": {"dims": ["batch"], "dtype": "bool"}},
  "ops": [
    {"out": "all", "op": "reduce_mean", "in": "x", "when": "not masked"},
    {"out": "all", "op": "call", "block": "masked_mean", "in": ["x", "mask"], "when": "masked"}
  ],
  "outputs": ["all"],
  "data": {"x": "x.npy", "mask": "present"}
}
)";

struct Folder : ScratchFolder {
  Folder() {
    std::ofstream(path / "model.json") << kModel;
    const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (10,), }";
    std::ofstream file(path / "x.npy", std::ios::binary);
    file << std::string("\x93NUMPY\x01\0", 8) << static_cast<char>(header.size()) << '\0' << header;
    for (int i = 0; i < 10; ++i) {
      const auto value = static_cast<float>(i * i);
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  // Returns the output of an evaluation with `arguments`; `err` receives standard error.
  std::string printed(const std::string& arguments) const {
    REQUIRE(std::system(fmt::format("cd '{}'; {} run model.json --evaluate {} >out 2>err </dev/null",
                                    path.string(), MTFC_BINARY, arguments)
                            .c_str()) == 0);
    return read("out");
  }
};

}  // namespace

TEST_CASE("an evaluation fills up the last batch where an input says which rows are present") {
  const Folder folder;
  for (const char* mesh : {"", "--mesh a:3 --layout batch:a --simulate", "--mesh a:2 --layout batch:a"}) {
    CAPTURE(mesh);
    // The mean of 0, 1, 4, ..., 81.
    CHECK(folder.printed(fmt::format("--set masked=1 {}", mesh)) == "all 28.5\n");
    CHECK(folder.read("err") == "");
    CHECK(folder.printed(fmt::format("--set masked=1 --set batch=10 {}", mesh)) == "all 28.5\n");
  }
}

TEST_CASE("without such an input an evaluation goes in whole batches and says what it leaves out") {
  const Folder folder;
  CHECK(folder.printed("--input mask=random:int,lo=1,hi=2").starts_with("all 17.5\n"));
  CHECK(folder.read("err").find("evaluation takes whole batches of 4: 2 rows are left out\n") !=
        std::string::npos);
}

}  // namespace mtfc::evaluation_test
