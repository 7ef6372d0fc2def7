#include "formats/layout/layout_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/diagnostics/suggest.h"
#include "formats/expression/number_reader.h"
#include "formats/json/cursor.h"
#include "formats/layout/layout_checks.h"
#include "formats/layout/preset.h"

namespace mtfc {
namespace {

constexpr const char* kMeshFlag = "--mesh";
constexpr const char* kLayoutFlag = "--layout";
constexpr const char* kMeshForm = "AXIS:SIZE";
constexpr const char* kZero = "zero";

// A piece of a flag's value and its offset.
struct Piece {
  std::string_view text;
  size_t offset = 0;
};

std::vector<Piece> split(Piece whole, std::string_view separators) {
  std::vector<Piece> pieces;
  size_t start = 0;
  while (true) {
    const size_t end = std::min(whole.text.find_first_of(separators, start), whole.text.size());
    pieces.push_back({whole.text.substr(start, end - start), whole.offset + start});
    if (end == whole.text.size()) return pieces;
    start = end + 1;
  }
}

// True for `zero3`, `ZeRO-3` and the like, as other programs write a stage of ZeRO.
bool is_stage_without_colon(std::string_view part) {
  std::string letters;
  for (const char letter : part)
    if (letter != '-' && letter != '_')
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return letters.size() == 5 && letters.starts_with("zero") && letters[4] >= '1' && letters[4] <= '3';
}

// Returns a hint for a part that lacks its colon and is not `word`, or "" if there is none.
std::string part_hint(std::string_view part, std::string_view form, std::string_view word) {
  const size_t equals = part.find('=');
  if (equals != std::string_view::npos && equals > 0 && equals + 1 < part.size())
    return fmt::format("write {}:{}", part.substr(0, equals), part.substr(equals + 1));
  if (const std::string near = did_you_mean(part, {std::string(word)}); !near.empty()) return near;
  if (!word.empty() && is_stage_without_colon(part)) return fmt::format("write zero:{}", part.back());
  if (form == kMeshForm) return "an axis has a name and a size, as in rows:2,cols:4";
  return part.find_first_of("./") == std::string_view::npos ? "" : "the name of a layout file ends in .json";
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The short form NAME:VALUE,NAME:VALUE … of a flag.
class ShortForm {
 public:
  ShortForm(const char* flag, std::string_view text, const char* form, DiagnosticSink& sink)
      : flag_(flag), text_(text), form_(form), sink_(sink) {}

  struct Part {
    Piece name;
    Piece value;
    bool is_prefixed = false;
  };
  /// `word` may stand in the place of a part; has_word() then says so. `prefix` may stand before a part, as in
  /// PREFIX:NAME:VALUE. A stage of ZeRO may have axes behind it, as in zero:1:VALUE; they are part of its value.
  std::vector<Part> parts(std::string_view word = "", std::string_view prefix = "") {
    std::vector<Part> parts;
    for (const Piece& piece : split({text_, 0}, ",; \t\n")) {
      if (piece.text.empty()) continue;
      if (!word.empty() && piece.text == word) {
        has_word_ = true;
        continue;
      }
      std::vector<Piece> sides = split(piece, ":");
      const bool is_prefixed = sides.size() == 3 && sides[0].text == prefix;
      if (is_prefixed) sides.erase(sides.begin());
      if (sides.size() == 3 && sides[0].text == kZero && is_number(sides[1].text)) {
        sides[1].text = piece.text.substr(sides[1].offset - piece.offset);
        sides.pop_back();
      }
      if (sides.size() == 2 && !sides[0].text.empty() && !sides[1].text.empty())
        parts.push_back({sides[0], sides[1], is_prefixed});
      else
        sink_.error(at(piece), fmt::format("expected {}, found '{}'", form_, piece.text),
                    part_hint(piece.text, form_, word));
    }
    return parts;
  }
  Location at(const Piece& piece) const { return {flag_, 1, 1 + characters(text_, piece.offset), ""}; }
  /// True if parts() has met the word.
  bool has_word() const { return has_word_; }

 private:
  const char* flag_;
  std::string_view text_;
  const char* form_;
  DiagnosticSink& sink_;
  bool has_word_ = false;
};

// An axis or the size of one, or several axes, as the short form has them.
std::string axes_text(const JsonValue& value) {
  std::string text = value.text;
  for (const JsonValue& axis : value.items) text += (text.empty() ? "" : "+") + axis.text;
  return text;
}

// The pairs of an object, or of a list, as the short form has them; "" if one has no short form.
std::string short_pairs(const JsonValue& pairs) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& name, const JsonValue& value) {
    const std::string axes = axes_text(value);
    if (!name.empty() && !axes.empty()) parts.push_back(name + ":" + axes);
  };
  for (const JsonMember& member : pairs.members) add(member.key, member.value);
  for (const JsonValue& pair : pairs.items)
    if (pair.items.size() == 2) add(pair.items[0].text, pair.items[1]);
  if (parts.size() != pairs.members.size() + pairs.items.size()) return "";
  return fmt::format("{}", fmt::join(parts, ","));
}

Mesh short_mesh(std::string_view text, DiagnosticSink& sink) {
  ShortForm form(kMeshFlag, text, kMeshForm, sink);
  MeshChecker checker(sink);
  if (text.starts_with("{") || text.starts_with("[")) {
    const std::string axes = flags_of(text);
    sink.error({kMeshFlag, 0, 0, ""}, "the mesh is not given as JSON",
               "write " + (axes.empty() ? "its axes, as in rows:2,cols:4" : axes));
    return {};
  }
  for (const auto& [name, value, is_prefixed] : form.parts()) {
    int64_t size = 0;
    const char* end = value.text.data() + value.text.size();
    const auto [stop, error] = std::from_chars(value.text.data(), end, size);
    if (error == std::errc::result_out_of_range && stop == end)
      sink.error(form.at(value), fmt::format("the number {} is too large", value.text));
    else if (error == std::errc() && stop == end)
      checker.add(std::string(name.text), size, form.at(name), form.at(value));
    else
      sink.error(form.at(value), fmt::format("the size of axis '{}' must be a whole number, found '{}'",
                                             name.text, value.text));
  }
  return std::move(checker).mesh();
}

// The names that `+` joins.
std::vector<LocatedName> joined_axes(const ShortForm& form, const Piece& value, DiagnosticSink& sink) {
  std::vector<LocatedName> axes;
  for (const Piece& axis : split(value, "+")) {
    if (axis.text.empty())
      sink.error(form.at(axis), fmt::format("'{}' lacks the name of an axis next to '+'", value.text));
    else
      axes.push_back({std::string(axis.text), form.at(axis)});
  }
  return axes;
}

// `zero:3` is no rule: no axis has such a name. Nor is `zero:3:rows+cols`, which names axes of the mesh.
ZeroStage zero_stage(const ShortForm& form, const Piece& value, const Mesh& mesh, DiagnosticSink& sink) {
  const std::vector<Piece> sides = split(value, ":");
  const std::string_view stage = sides[0].text;
  if (stage.size() != 1 || stage[0] > '3')
    sink.error(form.at(value), fmt::format("there is no stage {} of ZeRO", stage),
               "1 splits the state of the optimizer, 2 gradients as well, and 3 variables as well");
  ZeroStage zero{stage[0] - '0', form.at(value), {}};
  if (sides.size() == 1) return zero;
  RuleChecker checker(mesh, sink);
  checker.add(kZero, form.at(value), joined_axes(form, sides[1], sink));
  for (const Rule& rule : std::move(checker).rules()) zero.axes = rule.axes;
  return zero;
}

struct ShortLayout {
  std::vector<Rule> rules, between;
  bool propagate = false;
  std::optional<ZeroStage> zero = {};
};

ShortLayout short_layout(std::string_view text, const Mesh& mesh, DiagnosticSink& sink) {
  ShortForm form(kLayoutFlag, text, "DIMENSION:AXIS", sink);
  RuleChecker checker(mesh, sink), between(mesh, sink);
  ShortLayout layout;
  for (const auto& [name, value, is_between] : form.parts("propagate", "between")) {
    if (name.text == kZero && is_number(split(value, ":")[0].text)) {
      if (layout.zero) sink.error(form.at(name), "the layout states two stages of ZeRO");
      layout.zero = zero_stage(form, value, mesh, sink);
      continue;
    }
    (is_between ? between : checker)
        .add(std::string(name.text), form.at(name), joined_axes(form, value, sink));
  }
  layout.rules = std::move(checker).rules();
  layout.between = std::move(between).rules();
  layout.propagate = form.has_word();
  return layout;
}

// The mesh is a list of pairs, [["rows", 2], ["cols", 4]], or an object, {"rows": 2, "cols": 4}.
Mesh file_mesh(const Cursor& at) {
  MeshChecker checker(at.sink());
  if (at.is(JsonKind::kArray)) {
    for (const Cursor& pair : at.items()) {
      if (!pair.is(JsonKind::kArray) || pair.value().items.size() != 2) {
        pair.error("expected an axis and its size, [axis, size]");
        continue;
      }
      const auto name = pair.item(0).string("the name of an axis");
      const auto size = pair.item(1).integer();
      if (name && size) checker.add(*name, *size, pair.item(0).location(), pair.item(1).location());
    }
    return std::move(checker).mesh();
  }
  for (const NamedCursor& axis : at.members("a list of [axis, size] or an object {axis: size}"))
    if (const auto size = axis.value.integer())
      checker.add(axis.key, *size, axis.key_location, axis.value.location());
  return std::move(checker).mesh();
}

bool has_sorted_keys(const JsonValue& object) {
  return std::is_sorted(object.members.begin(), object.members.end(),
                        [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
}

// Programs such as `jq -S` sort the keys of objects, and the order of the axes decides which ranks share one. A
// mesh that is an object with sorted keys, in a file with sorted keys, is doubtful if its rules name the axes
// in another order.
void doubt_sorted_mesh(const Cursor& root, const Layout& layout) {
  const auto mesh = root.find("mesh");
  if (!mesh || !mesh->is(JsonKind::kObject) || !has_sorted_keys(root.value()) ||
      !has_sorted_keys(mesh->value()))
    return;
  AxisList named;  // in the order in which the rules first name them
  const auto note = [&](const Rule& rule) {
    for (const int axis : rule.axes)
      if (!contains(named, axis)) named.push_back(axis);
  };
  for (const Rule& rule : layout.rules) note(rule);
  for (const LimitedRule& rule : layout.limited_rules) note(rule.rule);
  for (const Annotation& annotation : layout.annotations)
    for (const Rule& split : annotation.splits) note(split);
  if (std::is_sorted(named.begin(), named.end())) return;
  std::string pairs;
  for (const int axis : named) {
    const Axis& own = layout.mesh.axes()[static_cast<size_t>(axis)];
    pairs += fmt::format("{}[\"{}\", {}]", pairs.empty() ? "" : ", ", own.name, own.size);
  }
  root.sink().warning(
      mesh->location(),
      fmt::format(
          "the mesh is {}, but the rules name its axes in another order: its keys may have been sorted",
          to_string(layout.mesh)),
      fmt::format("a list keeps its order, as in \"mesh\": [{}]", pairs));
}

Layout layout_from(const LayoutSources& sources, DiagnosticSink& sink, const Cursor* root,
                   LayoutExtras& extras) {
  Layout layout;
  const auto mesh = root ? root->find("mesh") : std::nullopt;
  const auto rules = root ? root->find("rules") : std::nullopt;
  const size_t before = sink.error_count();
  if (sources.mesh) {
    layout.mesh = short_mesh(*sources.mesh, sink);
    if (layout.mesh.axes().empty() && sink.error_count() == before)
      sink.error({kMeshFlag, 0, 0, ""}, "the mesh is empty",
                 "name its axes, as in rows:2,cols:4; one device needs no --mesh");
  }
  if (!sources.mesh && mesh) layout.mesh = file_mesh(*mesh);
  if (sink.error_count() > before) return layout;  // otherwise every axis would be unknown
  if (sources.rules) {
    ShortLayout given = short_layout(*sources.rules, layout.mesh, sink);
    layout.rules = std::move(given.rules);
    layout.between = std::move(given.between);
    layout.propagate = given.propagate;
    extras.zero = given.zero;
  } else if (rules) {
    read_rules(*rules, layout);
  }
  if (!root) return layout;
  if (const auto order = root->find("device_order")) layout.mesh = with_device_order(layout.mesh, *order);
  if (const auto shardings = root->find("shardings"))
    layout.annotations = read_annotations(*shardings, layout.mesh);
  if (const auto propagate = root->find("propagate"))
    layout.propagate = propagate->flag().value_or(false) || layout.propagate;
  if (const auto between = root->find("between"); between && !sources.rules)
    layout.between = read_between(*between, layout.mesh);
  layout.state = read_state_sharding(*root, layout.mesh);
  layout.rings = read_rings(*root);
  if (const auto found = root->find("found_for")) extras.found_for = read_found_for(*found);
  if (!sources.mesh && !sources.rules && !sink.failed()) doubt_sorted_mesh(*root, layout);
  return layout;
}

}  // namespace

Mesh parse_mesh(std::string_view text) {
  DiagnosticSink sink;
  std::vector<Diagnostic> none;
  Mesh mesh = short_mesh(text, sink);
  sink.finish(none);
  return mesh;
}

Layout read_layout(const LayoutSources& sources, std::vector<Diagnostic>& warnings, LayoutExtras* extras) {
  DiagnosticSink sink;
  Layout layout;
  LayoutExtras found;
  if (sources.file_text) {
    const JsonValue json = parse_json(*sources.file_text, sources.file);
    const Cursor root(json, sources.file, sink);
    const bool is_model = root.find("mtfc") || root.find("ops");
    if (root.find("flops") && !is_model)
      root.error("this looks like a hardware profile, not a layout", "give it with --hardware");
    else if (is_model || root.find("mtfc_program"))
      root.error(fmt::format("this is a {}, not a layout", is_model ? "model" : "compiled program"),
                 "a layout has a \"mesh\" and \"rules\"");
    else if (root.check_keys({"mesh", "rules", "between", "shardings", "propagate", "shard_state_over",
                              "shard_gradients", "shard_variables", "regather", "ring", "device_order",
                              "found_for", "doc"}))
      layout = layout_from(sources, sink, &root, found);
  } else {
    layout = layout_from(sources, sink, nullptr, found);
    if (sources.preset) {
      const JsonValue json = parse_json(*sources.preset, sources.file);
      add_preset(Cursor(json, sources.file, sink), sources.preset_between, layout, found);
    }
  }
  sink.finish(warnings);
  if (extras) *extras = std::move(found);
  return layout;
}

Layout read_layout(const LayoutSources& sources) {
  std::vector<Diagnostic> none;
  return read_layout(sources, none);
}

std::string flags_of(std::string_view json) {
  const std::optional<JsonValue> whole = find_json(json);
  if (!whole) return "";
  const JsonValue *mesh = whole->find("mesh"), *rules = whole->find("rules"),
                  *propagate = whole->find("propagate");
  if (!mesh && !rules) return short_pairs(*whole);
  std::string text = mesh ? short_pairs(*mesh) : "", layout = rules ? short_pairs(*rules) : "";
  // The short form has nothing else.
  for (const JsonMember& member : whole->members)
    if (&member.value != mesh && &member.value != rules && &member.value != propagate) return "";
  if ((mesh && text.empty()) || (rules && layout.empty() && rules->members.size() + rules->items.size() > 0))
    return "";
  if (propagate && propagate->flag) layout += layout.empty() ? "propagate" : ",propagate";
  if (!mesh) return layout;
  return layout.empty() ? "--mesh " + text : fmt::format("--mesh {} --layout {}", text, layout);
}

bool is_layout_file(std::string_view flag) {
  return flag == "-" || flag.ends_with(".json");
}

}  // namespace mtfc
