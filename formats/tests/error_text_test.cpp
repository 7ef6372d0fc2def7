// Every folder of testdata/errors/ is a mistake and the complete text of its error: a model.json (with --set
// arguments in sets.txt, one per line), or a layout.json and flags in mesh.txt and layout.txt, or both, or a
// hardware.json, and expected.txt. An empty uneven.txt means --no-uneven. Files that a model includes, and profiles that
// others start from, are in the same folder.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/compile/pipeline.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "formats/hardware/hardware_reader.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"

namespace mtfc::error_text_test {
namespace fs = std::filesystem;

namespace {

std::optional<std::string> text_if_any(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  return contents(path);
}

std::optional<std::string> line_of(const fs::path& path) {
  std::optional<std::string> text = text_if_any(path);
  if (text && text->ends_with('\n')) text->pop_back();
  return text;
}

std::optional<Layout> layout_in(const fs::path& folder) {
  LayoutSources sources;
  sources.file = "layout.json";
  sources.file_text = text_if_any(folder / "layout.json");
  sources.mesh = line_of(folder / "mesh.txt");
  sources.rules = line_of(folder / "layout.txt");
  if (!sources.file_text && !sources.mesh && !sources.rules) return std::nullopt;
  return read_layout(sources);
}

using Compiler = std::function<void(const Model&, const Layout&, const CompileOptions&)>;

// Returns the errors or warnings for the files in `folder`.
std::string answer(const fs::path& folder, const Compiler& compiler) {
  std::vector<Diagnostic> warnings;
  try {
    if (const auto text = text_if_any(folder / "hardware.json"))
      read_hardware(*text, "hardware.json", [&](const std::string& name, const std::string&) {
        const auto found = text_if_any(folder / name);
        return found ? ProfileFile{*found, name} : no_profile(name, "");
      });
    if (const auto text = text_if_any(folder / "hardware.json"))
      read_hardware(*text, "hardware.json", [&](const std::string& name, const std::string&) {
        const auto found = text_if_any(folder / name);
        return found ? ProfileFile{*found, name} : no_profile(name, "");
      });
    std::optional<Model> model;
    if (const auto text = text_if_any(folder / "model.json")) {
      std::vector<std::string> sets;
      std::istringstream lines(text_if_any(folder / "sets.txt").value_or(""));
      for (std::string line; std::getline(lines, line);) sets.push_back(line);
      model = read_model(*text, "model.json", sets, warnings, {[&](const IncludeName& name) {
        if (const auto included = text_if_any(folder / name.file)) return IncludeText{included};
        return IncludeText{{}, "cannot read the include '" + name.file + "': No such file or directory"};
      }});
    }
    const std::optional<Layout> layout = layout_in(folder);
    CompileOptions options;
    options.allow_uneven = !fs::exists(folder / "uneven.txt");
    if (model && layout) compiler(*model, *layout, options);
  } catch (const UserError& error) {
    return std::string(error.what()) + "\n";
  }
  std::string text;
  for (const Diagnostic& warning : warnings) text += to_string(warning) + "\n";
  return text;
}

}  // namespace

TEST_CASE("mistakes are answered with the expected text, in checking and in compiling") {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(fs::path(kSourceFolder) / "testdata" / "errors"))
    if (entry.is_directory()) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  CHECK(folders.size() >= 40);
  const Compiler compiler = [](const Model& model, const Layout& layout, const CompileOptions& options) {
    compile(model, layout, options);
  };
  for (const fs::path& folder : folders) {
    CAPTURE(folder.filename().string());
    const std::string expected = text_if_any(folder / "expected.txt").value_or("expected.txt is missing");
    if (std::getenv("MTFC_UPDATE_ERROR_CASES"))
      std::ofstream(folder / "expected.txt", std::ios::binary) << answer(folder, compiler);
    CHECK(answer(folder, compiler) == expected);
    CHECK(answer(folder, check_compilable) == expected);
  }
}

}  // namespace mtfc::error_text_test
