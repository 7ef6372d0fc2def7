// Every folder testdata/passes/PASS/CASE/ shows what one pass makes of a small model: model.json, whose "doc"
// says what to look for, perhaps a layout in mesh.txt and layout.txt, perhaps how its weights are stored in weights.txt,
// and expected.txt, which is what `mtfc compile --dump-after PASS` prints of the model, or of the entry point `train`, or
// of `evaluate` where the model changes no variables, the parts of its loops first. scripts/update_pass_cases.sh writes expected.txt anew.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/compile/pipeline.h"
#include "core/model/entry_points.h"
#include "core/testing/checkout.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "formats/program/program_writer.h"

namespace mtfc::pass_cases_test {
namespace fs = std::filesystem;

namespace {

std::optional<std::string> contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<std::string> line_of(const fs::path& path) {
  std::optional<std::string> text = contents(path);
  if (text && text->ends_with('\n')) text->pop_back();
  return text;
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

// The texts that are dumped after a pass. If a later pass fails, the texts of the entry point and of some loops
// may be missing.
struct Dump {
  std::vector<std::string> parts;    // of loops
  std::optional<std::string> entry;  // the entry point itself
  std::string failure;               // the message of the pass that has failed

  std::string text() const {
    std::string all;
    for (const std::string& part : parts) all += part;
    return all + entry.value_or("");
  }
};

// The dump after the pass, for the model in `folder`.
Dump dump_after(const std::string& pass, const fs::path& folder) {
  std::map<std::string, std::string> texts;  // by entry point
  CompileOptions options;
  options.verify = true;
  options.dump_after = pass;
  options.dump_graph = [&](const std::string& entry, const std::string& text) { texts[entry] += text; };
  options.dump_steps = [&](const Program& program, const EntryPoint& entry) {
    texts[entry.name] += entry_text(program, entry) + buffers_text(entry);
  };
  std::vector<Diagnostic> warnings;
  Model model = read_model(contents(folder / "model.json").value(), (folder / "model.json").string(), {},
                           warnings, {.compile_options = &options});
  if (const std::optional<std::string> weights = line_of(folder / "weights.txt")) {
    texts.clear();
    model = with_form(std::move(model), {.weights = value_named<WeightFormat>(*weights).value()}, options);
  }
  LayoutSources sources;
  sources.mesh = line_of(folder / "mesh.txt");
  sources.rules = line_of(folder / "layout.txt");
  sources.file = (folder / "layout.json").string();
  sources.file_text = contents(sources.file);
  const Layout layout = sources.mesh || sources.file_text ? read_layout(sources) : Layout{};
  Dump dump;
  try {
    compile(model, layout, options);
  } catch (const std::exception& error) {
    dump.failure = error.what();
  }
  const std::string wanted = texts.contains(std::string(kModelDump)) ? std::string(kModelDump)
                             : has_train_entry(model)                ? "train"
                                                                     : "evaluate";
  for (const auto& [entry, made] : texts)
    if (entry.starts_with(wanted + ",")) dump.parts.push_back(entry + "\n" + made + "\n");
  if (texts.contains(wanted)) dump.entry = texts[wanted];
  return dump;
}

// Checks what was dumped. All of it must have been, unless a pass has failed.
void check_dump(const std::string& pass, const Dump& dump, const std::string& expected) {
  CHECK(dump.failure == "");
  INFO("the pass '" << pass << "' makes something else than expected.txt");
  if (dump.entry || dump.failure.empty())
    CHECK(dump.text() == expected);
  else
    for (const std::string& part : dump.parts) CHECK_MESSAGE(expected.find(part) != std::string::npos, part);
}

const fs::path kPasses = fs::path(kSourceFolder) / "testdata" / "passes";

}  // namespace

TEST_CASE("passes make what their cases show") {
  const bool rewrites = std::getenv("MTFC_UPDATE_PASS_CASES") != nullptr;
  for (const std::string& pass : pass_names())
    for (const fs::path& folder : folders_in(kPasses / pass)) {
      CAPTURE(folder);
      const Dump dump = dump_after(pass, folder);
      if (rewrites && dump.failure.empty())
        std::ofstream(folder / "expected.txt", std::ios::binary) << dump.text();
      check_dump(pass, dump, contents(folder / "expected.txt").value_or(""));
    }
}

TEST_CASE("every pass has at least three cases in which it does something") {
  for (const fs::path& folder : folders_in(kPasses)) {
    CAPTURE(folder);
    CHECK(std::count(pass_names().begin(), pass_names().end(), folder.filename().string()) == 1);
  }
  std::string before;  // the pass that comes before
  for (const std::string& pass : pass_names()) {
    CAPTURE(pass);
    int telling = 0;
    if (fs::exists(kPasses / pass))
      for (const fs::path& folder : folders_in(kPasses / pass))
        telling +=
            before.empty() || dump_after(before, folder).text() != dump_after(pass, folder).text() ? 1 : 0;
    CHECK(telling >= 3);
    before = pass;
  }
}

}  // namespace mtfc::pass_cases_test
