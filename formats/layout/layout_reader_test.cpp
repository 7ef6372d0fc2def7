#include "formats/layout/layout_reader.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

namespace mtfc::layout_reader_test {

namespace {

std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::vector<Rule> parse_rules(const std::string& text, const Mesh& mesh) {
  LayoutSources sources;
  sources.mesh = to_string(mesh);
  sources.rules = text;
  return read_layout(sources).rules;
}

}  // namespace

TEST_CASE("short forms") {
  const Mesh mesh = parse_mesh("rows:2,cols:4; planes:1");
  CHECK(to_string(mesh) == "rows:2,cols:4,planes:1");
  CHECK(parse_mesh("").axes().empty());
  const std::vector<Rule> rules = parse_rules("batch:rows+planes hidden:cols", mesh);
  REQUIRE(rules.size() == 2);
  CHECK(rules[0].dim == "batch");
  CHECK(rules[0].axes == AxisList{0, 2});
  CHECK(rules[1].axes == AxisList{1});
  CHECK(rules[1].location.column == 19);
  CHECK(parse_rules("", mesh).empty());
}

TEST_CASE("the short form of rules may have a stage of ZeRO and propagation") {
  LayoutSources sources;
  sources.mesh = "all:4";
  std::vector<Diagnostic> none;
  LayoutExtras extras;
  const auto read = [&](const char* rules) {
    sources.rules = rules;
    return read_layout(sources, none, &extras);
  };
  Layout layout = read("batch:all,zero:3");
  CHECK(to_string(layout) == "batch:all");
  REQUIRE(extras.zero);
  CHECK(extras.zero->stage == 3);
  CHECK(extras.zero->location.column == 16);
  layout = read("propagate,batch:all");
  CHECK(layout.propagate);
  CHECK(layout.rules.size() == 1);
  CHECK_FALSE(extras.zero);
  CHECK_FALSE(read("batch:all").propagate);
  // An axis has no such name, but a dimension may be called so.
  sources.mesh = "all:4,rows:2";
  CHECK(read("zero:all,propagate:rows").rules.size() == 2);
  CHECK(complaint([&] { read("batch:all,zero:4"); }) ==
        "--layout:1:16: error: there is no stage 4 of ZeRO (1 splits the state of the optimizer, 2 gradients "
        "as "
        "well, and 3 variables as well)");
  CHECK(complaint([&] { read("zero:1,zero:2"); }) ==
        "--layout:1:8: error: the layout states two stages of ZeRO");
  CHECK(complaint([&] { read("batch:all,propagated"); }) ==
        "--layout:1:11: error: expected DIMENSION:AXIS, found 'propagated' (did you mean 'propagate'?)");
  for (const std::string stage : {"zero3", "ZeRO-3", "zero_3"})
    CHECK(complaint([&] { read(("batch:all," + stage).c_str()); }) ==
          "--layout:1:11: error: expected DIMENSION:AXIS, found '" + stage + "' (write zero:3)");
  CHECK(complaint([&] { read("batch:all,zero4"); }) ==
        "--layout:1:11: error: expected DIMENSION:AXIS, found 'zero4'");
}

TEST_CASE("a stage of ZeRO may name its axes") {
  LayoutSources sources;
  sources.mesh = "replicas:2,data:4,model:2";
  std::vector<Diagnostic> none;
  LayoutExtras extras;
  const auto read = [&](const char* rules) {
    sources.rules = rules;
    return read_layout(sources, none, &extras);
  };
  CHECK(to_string(read("batch:replicas+data,zero:2:data")) == "batch:replicas+data");
  REQUIRE(extras.zero);
  CHECK(extras.zero->stage == 2);
  CHECK(extras.zero->axes == AxisList{1});
  read("batch:replicas+data,zero:1:data+replicas");
  CHECK(extras.zero->axes == AxisList{1, 0});
  CHECK(complaint([&] { read("batch:data,zero:1:dat"); }) ==
        "--layout:1:19: error: unknown axis 'dat' (did you mean 'data'?)");
  CHECK(complaint([&] { read("batch:data,zero:4:data"); }) ==
        "--layout:1:17: error: there is no stage 4 of ZeRO (1 splits the state of the optimizer, 2 gradients "
        "as well, and 3 variables as well)");
  CHECK(complaint([&] { read("batch:data,zero:1:"); }) ==
        "--layout:1:19: error: '' lacks the name of an axis next to '+'");
  CHECK(complaint([&] { read("batch:data,zero:data:1"); }) ==
        "--layout:1:12: error: expected DIMENSION:AXIS, found 'zero:data:1'");
}

TEST_CASE("the short form of rules may have rules between parts") {
  LayoutSources sources;
  sources.mesh = "data:2,model:2";
  sources.rules = "heads:model,between:length:data+model,between:model";
  const Layout layout = read_layout(sources);
  REQUIRE(layout.between.size() == 1);
  CHECK(layout.between[0].dim == "length");
  CHECK(layout.between[0].axes == AxisList{0, 1});
  // A dimension may be called so.
  CHECK(to_string(layout) == "heads:model,between:model, length:data+model between parts");
}

TEST_CASE("flags replace what the file says") {
  LayoutSources sources;
  sources.file = "l.json";
  sources.file_text =
      R"({"mesh": {"rows": 2}, "rules": [["batch", "rows"], ["hidden", ["cols"]]], "shardings": {},
                          "propagate": false, "device_order": [0, 1, 2, 3]})";
  sources.mesh = "rows:2,cols:2";
  Layout layout = read_layout(sources);
  CHECK(to_string(layout.mesh) == "rows:2,cols:2");
  REQUIRE(layout.rules.size() == 2);
  CHECK(layout.rules[1].axes == AxisList{1});
  CHECK(layout.rules[1].location.pointer == "/rules/1");
  sources.rules = "";
  layout = read_layout(sources);
  CHECK(layout.rules.empty());
}

TEST_CASE("a rule may be limited to tensors of some names") {
  LayoutSources sources;
  sources.file = "l.json";
  sources.file_text = R"({"mesh": {"rows": 2, "cols": 2},
    "rules": [["batch", "rows"], ["experts", ["rows", "cols"], {"in": "moe_*/**"}], ["batch", "cols", {"in": "x"}]]})";
  const Layout layout = read_layout(sources);
  CHECK(to_string(layout) == "batch:rows, experts:rows+cols in moe_*/**, batch:cols in x");
  REQUIRE(layout.limited_rules.size() == 2);
  CHECK(layout.limited_rules[0].rule.location.pointer == "/rules/1");
  CHECK(layout.limited_rules[1].rule.location.line == 2);
}

TEST_CASE("a mesh is a list of pairs or an object") {
  const auto mesh_of = [](const std::string& mesh) {
    LayoutSources sources;
    sources.file = "l.json";
    sources.file_text = R"({"mesh": )" + mesh + R"(, "rules": []})";
    return to_string(read_layout(sources).mesh);
  };
  CHECK(mesh_of(R"([["rows", 2], ["cols", 4]])") == "rows:2,cols:4");
  CHECK(mesh_of(R"([["cols", 4], ["rows", 2]])") == "cols:4,rows:2");
  CHECK(mesh_of(R"({"rows": 2, "cols": 4})") == "rows:2,cols:4");
  CHECK(mesh_of("[]") == "");
}

TEST_CASE("a mesh whose keys have been sorted is noticed where the rules name the axes in another order") {
  const auto warnings_of = [](const std::string& text) {
    LayoutSources sources;
    sources.file = "l.json";
    sources.file_text = text;
    std::vector<Diagnostic> warnings;
    read_layout(sources, warnings);
    return warnings.empty() ? "" : to_string(warnings.front());
  };
  CHECK(
      warnings_of(R"({"mesh": {"cols": 4, "rows": 2}, "rules": [["batch", "rows"], ["hidden", "cols"]]})") ==
      "l.json:1:10: warning: /mesh: the mesh is cols:4,rows:2, but the rules name its axes in another order: "
      "its "
      "keys may have been sorted (a list keeps its order, as in \"mesh\": [[\"rows\", 2], [\"cols\", 4]])");
  for (const char* text :
       {R"({"mesh": {"rows": 2, "cols": 4}, "rules": [["hidden", "cols"], ["batch", "rows"]]})",
        R"({"mesh": [["cols", 4], ["rows", 2]], "rules": [["batch", "rows"], ["hidden", "cols"]]})",
        R"({"mesh": {"cols": 4, "rows": 2}, "rules": [["batch", "cols"], ["hidden", "rows"]]})",
        R"({"rules": [["batch", "rows"], ["hidden", "cols"]], "mesh": {"cols": 4, "rows": 2}})"}) {
    CAPTURE(text);
    CHECK(warnings_of(text) == "");
  }
}

TEST_CASE("without anything there is one device") {
  const Layout layout = read_layout({});
  CHECK(layout.mesh.devices() == 1);
  CHECK(layout.rules.empty());
}

TEST_CASE("mistakes in the flags are located") {
  CHECK(complaint([] { parse_mesh("rows,cols:x,cols:0"); }) ==
        "--mesh:1:1: error: expected AXIS:SIZE, found 'rows' (an axis has a name and a size, as in "
        "rows:2,cols:4)\n"
        "--mesh:1:11: error: the size of axis 'cols' must be a whole number, found 'x'\n"
        "--mesh:1:18: error: axis 'cols' must have a size of at least 1, found 0");
  CHECK(complaint([] { parse_mesh("a:65536,b:65536"); }) ==
        "--mesh:1:11: error: the mesh has too many devices: at most 2147483647 are possible");
  CHECK(complaint([] { parse_mesh("a:2,a:2"); }) == "--mesh:1:5: error: the mesh has two axes 'a'");
  CHECK(complaint([] { parse_rules("batch:rowz,batch:rows,h:cols+cols", parse_mesh("rows:2,cols:2")); }) ==
        "--layout:1:7: error: unknown axis 'rowz' (did you mean 'rows'?)\n"
        "--layout:1:12: error: dimension 'batch' has two rules (one rule may name several axes)\n"
        "--layout:1:30: error: axis 'cols' appears twice in the rule of 'h'");
  CHECK(complaint([] { parse_rules("rows:batch", parse_mesh("rows:2,cols:2")); }) ==
        "--layout:1:6: error: unknown axis 'batch' ('rows' is an axis, and the dimension comes first: "
        "batch:rows)");
  CHECK(complaint([] { parse_rules("rows:rowz", parse_mesh("rows:2,cols:2")); }) ==
        "--layout:1:6: error: unknown axis 'rowz' (did you mean 'rows'?)");
  CHECK(complaint([] { parse_rules("batch:", parse_mesh("rows:2")); }) ==
        "--layout:1:1: error: expected DIMENSION:AXIS, found 'batch:'");
  CHECK(complaint([] { parse_mesh("rows=2"); }) ==
        "--mesh:1:1: error: expected AXIS:SIZE, found 'rows=2' (write rows:2)");
  CHECK(complaint([] { parse_rules("batch=rows", parse_mesh("rows:2")); }) ==
        "--layout:1:1: error: expected DIMENSION:AXIS, found 'batch=rows' (write batch:rows)");
  for (const char* json : {R"({"rows": 2, "cols": 4})", R"([["rows", 2], ["cols", 4]])"})
    CHECK(complaint([&] { parse_mesh(json); }) ==
          "--mesh: error: the mesh is not given as JSON (write rows:2,cols:4)");
  CHECK(complaint([] { parse_mesh("[2"); }) ==
        "--mesh: error: the mesh is not given as JSON (write its axes, as in rows:2,cols:4)");
  LayoutSources sources;
  sources.rules = "batch:rows";
  CHECK(complaint([&] { read_layout(sources); }) ==
        "--layout:1:7: error: unknown axis 'rows' (there is no mesh: give one with --mesh, or in the layout "
        "file)");
}

TEST_CASE("a layout flag that names a file") {
  CHECK(is_layout_file("x.json"));
  CHECK(is_layout_file("-"));
  CHECK_FALSE(is_layout_file(""));
  CHECK_FALSE(is_layout_file("batch:rows"));
}

TEST_CASE("rules that are an object are answered with the list that says the same") {
  LayoutSources sources;
  sources.file = "layout.json";
  sources.mesh = "a:2,b:2";
  sources.file_text = R"({"rules": {"batch": "a", "hidden": "b"}})";
  CHECK(complaint([&] { read_layout(sources); }) ==
        "layout.json:1:11: error: /rules: expected a list of rules, found an object (write \"rules\": "
        "[[\"batch\", \"a\"], [\"hidden\", \"b\"]])");
  sources.file_text = R"({"rules": {}})";
  CHECK(complaint([&] { read_layout(sources); }).ends_with("(write \"rules\": [[DIMENSION, AXIS], ...])"));
}

TEST_CASE("JSON is turned into the short form of what it names") {
  CHECK(flags_of(R"({"batch": "rows", "hidden": ["rows", "cols"]})") == "batch:rows,hidden:rows+cols");
  CHECK(flags_of(R"({"rules": [["batch", "rows"]], "propagate": true})") == "batch:rows,propagate");
  CHECK(flags_of(R"({"mesh": {"rows": 2}})") == "--mesh rows:2");
  CHECK(flags_of(R"({"mesh": {"all": 2}, "rules": [["batch", "all"]]})") ==
        "--mesh all:2 --layout batch:all");
  CHECK(flags_of(R"({"rules": {"batch": "all"}, "mesh": [["all", 2]], "propagate": false})") ==
        "--mesh all:2 --layout batch:all");
  CHECK(flags_of(R"({"mesh": {"all": 2}, "rules": [], "propagate": true})") ==
        "--mesh all:2 --layout propagate");
  // Neither limited rules nor annotations have a short form.
  CHECK(flags_of(R"({"rules": [["batch", "all"], ["h", "all", {"in": ["w"]}]]})") == "");
  CHECK(flags_of(R"({"rules": [["batch", "all"]], "shardings": {"w": {"h": "all"}}})") == "");
  CHECK(flags_of("[1, 2]") == "");
  CHECK(flags_of("{batch: rows}") == "");
}

}  // namespace mtfc::layout_reader_test
