#include "formats/layout/found_for.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/testing/text.h"
#include "formats/layout/layout_reader.h"
#include "formats/layout/layout_writer.h"

namespace mtfc::found_for_test {
namespace {

Model model_of(int64_t batch, double layers) {
  Model model;
  model.name = "tiny";
  model.dims = {{"batch", batch}, {"hidden", 8}};
  model.params = {{"layers", layers}, {"lr", 0.5}};
  return model;
}

LayoutExtras extras_in(const std::string& text) {
  LayoutSources sources;
  sources.file = "layout.json";
  sources.file_text = text;
  std::vector<Diagnostic> none;
  LayoutExtras extras;
  read_layout(sources, none, &extras);
  return extras;
}

std::string complaint(const std::string& found_for) {
  try {
    extras_in(R"({"mesh": {"a": 2}, "found_for": )" + found_for + "}");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a layout records the sizes that it was found for, and a model of other sizes is noted") {
  const std::string text = layout_json({Mesh({{"a", 2}}), {}}, "", found_for(model_of(16, 2)));
  CHECK(text ==
        "{\n \"mesh\": [[\"a\",2]],\n \"rules\": [],\n"
        " \"found_for\": {\"model\":\"tiny\",\"sizes\":{\"batch\":16,\"hidden\":8,\"layers\":2}}\n}\n");
  const LayoutExtras read = extras_in(text);
  REQUIRE(read.found_for);
  CHECK(!other_sizes_note(*read.found_for, model_of(16, 2)));
  const auto note = other_sizes_note(*read.found_for, model_of(4, 3));
  REQUIRE(note);
  CHECK(note->severity == Severity::kNote);
  CHECK(to_string(*note) ==
        "layout.json:4:15: note: /found_for: the layout was found for batch=16 layers=2, and the model has "
        "batch=4 layers=3 (search again for these sizes, or give those with --set)");
  Model other = model_of(4, 3);
  other.name = "other";
  CHECK(!other_sizes_note(*read.found_for, other));
  CHECK(!extras_in(layout_json({Mesh({{"a", 2}}), {}}, "")).found_for);
}

TEST_CASE("the note names a few sizes of many") {
  Model model = model_of(1, 1);
  for (int i = 0; i < 6; ++i) model.dims.push_back({fmt::format("d{}", i), 2});
  const FoundFor found = found_for(model);
  for (Dim& dim : model.dims) dim.size = 3;
  const auto note = other_sizes_note(found, model);
  REQUIRE(note);
  CHECK(note->message ==
        "the layout was found for batch=1 d0=2 d1=2 d2=2, and the model has batch=3 d0=3 d1=3 d2=3; 4 more "
        "differ");
}

TEST_CASE("nonsense in the place of the sizes is refused") {
  CHECK(complaint(R"({"model": "m", "sizes": {"batch": 4}})") == "");
  CHECK(has(complaint("3"), "error: /found_for: expected an object, found a number"));
  CHECK(has(complaint("{}"), "/found_for: 'model' is missing"));
  CHECK(has(complaint(R"({"model": 3, "sizes": {}})"), "/found_for/model: expected the name of a model"));
  CHECK(has(complaint(R"({"model": "m", "sizes": [4]})"),
            "/found_for/sizes: expected an object {name: size}, found a list"));
  CHECK(has(complaint(R"({"model": "m", "sizes": {"batch": "4"}})"), "/found_for/sizes/batch: "));
  CHECK(has(complaint(R"({"model": "m", "sizes": {"batch": 4.5}})"), "/found_for/sizes/batch: "));
  CHECK(has(complaint(R"({"model": "m", "sizes": {}, "set": {}})"), "/found_for/set: unknown key 'set'"));
}

}  // namespace mtfc::found_for_test
