// The files that `cmake --install` puts in place work from anywhere.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::install_test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("an installed mtfc finds what it needs") {
  const ScratchFolder scratch;
  const std::string folder = scratch.path.string();
  const auto succeeds = [](const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
  };
  const fs::path build = fs::path(kTestedProgram).parent_path();
  CHECK(succeeds(fmt::format("cmake --install '{}' --prefix '{}'", build.string(), folder)));
  CHECK(succeeds(fmt::format("cd / && '{}/bin/mtfc' --version", folder)));
  for (const char* file : {"man/man1/mtfc.1", "man/man1/mtfc-run.1", "man/man7/mtfc-layout.7",
                           "bash-completion/completions/mtfc", "zsh/site-functions/_mtfc",
                           "fish/vendor_completions.d/mtfc.fish"}) {
    CAPTURE(file);
    CHECK(fs::file_size(fs::path(folder) / "share" / file) > 1000);
  }
  // The library is the installed one, even if the source still exists.
  std::ofstream(folder + "/share/mtfc/models/std/installed.json") << R"({"params": {"here": 1}})";
  std::ofstream(folder + "/model.json")
      << R"({"mtfc": 1, "include": ["std/installed.json"], "dims": {"n": "here"}, "inputs": {"x": {"dims": ["n"]}},
             "ops": [], "outputs": ["x"]})";
  CHECK(succeeds(fmt::format("'{0}/bin/mtfc' check '{0}/model.json'", folder)));
  CHECK_FALSE(succeeds(fmt::format("'{}' check '{}/model.json'", kTestedProgram, folder)));
  for (const auto& entry : fs::directory_iterator(fs::path(kSourceFolder) / "models"))
    if (entry.path().extension() == ".json") {
      const std::string model = entry.path().filename().string();
      CAPTURE(model);
      CHECK(succeeds(fmt::format("cd / && '{0}/bin/mtfc' check '{0}/share/mtfc/models/{1}'", folder, model)));
    }
  CHECK(succeeds(
      fmt::format("cd / && '{0}/bin/mtfc' run -q --mesh a:2 '{0}/share/mtfc/models/mnist.json'", folder)));
}

}  // namespace
}  // namespace mtfc::install_test
