#include "formats/data/name_map.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/diagnostics/error.h"
#include "formats/data/published_shapes.h"

namespace mtfc::name_map_test {
namespace {

// The one variable that a tensor belongs to.
std::optional<std::string> renamed(const NameMap& map, const std::string& name) {
  const std::optional<Placement> placed = map.placed(name);
  if (!placed) return std::nullopt;
  REQUIRE(placed->variables.size() == 1);
  return placed->variables.front();
}

// Tries every length of every star, the longest first.
bool matches_by_trial(std::string_view pattern, std::string_view name, std::vector<std::string>& captures) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] != '*')
    return !name.empty() && pattern[0] == name[0] &&
           matches_by_trial(pattern.substr(1), name.substr(1), captures);
  for (size_t length = std::min(name.find_first_of("./"), name.size()) + 1; length-- > 0;) {
    captures.emplace_back(name.substr(0, length));
    if (matches_by_trial(pattern.substr(1), name.substr(length), captures)) return true;
    captures.pop_back();
  }
  return false;
}

std::string drawn(std::mt19937& random, const std::string& letters, size_t most) {
  std::string text;
  for (size_t i = random() % most + 1; i > 0; --i) text += letters[random() % letters.size()];
  return text;
}

}  // namespace

TEST_CASE("a star stands for a piece of a name, in order") {
  const NameMap map({"h.*.mlp.*.weight=layer_*/ffn/*", "h.*.attn.bias=", "a*b=*x"});
  CHECK(renamed(map, "h.3.mlp.c_fc.weight") == "layer_3/ffn/c_fc");
  CHECK(renamed(map, "h.3.mlp.c.fc.weight") == "h.3.mlp.c.fc.weight");
  CHECK(renamed(map, "h.3.mlp.c_fc.weights") == "h.3.mlp.c_fc.weights");
  CHECK(renamed(map, "h.11.attn.bias") == std::nullopt);
  CHECK(renamed(map, "abcb") == "bcx");
  CHECK(renamed(map, "ab") == "x");
  CHECK(renamed(map, "other") == "other");
}

TEST_CASE("a tensor holds several variables, or a part of one") {
  const NameMap map({"h.*.qkv.* = layer_*/q/* + layer_*/k/*+layer_*/v/* per heads",
                     "h.*.experts.#.up = layer_*/up[#]", "h.#.mask =", "a.b = x + y"});
  const std::optional<Placement> qkv = map.placed("h.3.qkv.bias");
  REQUIRE(qkv);
  CHECK(qkv->variables == std::vector<std::string>{"layer_3/q/bias", "layer_3/k/bias", "layer_3/v/bias"});
  CHECK(qkv->per == "heads");
  CHECK(!qkv->index);
  const std::optional<Placement> up = map.placed("h.3.experts.17.up");
  REQUIRE(up);
  CHECK(up->variables == std::vector<std::string>{"layer_3/up"});
  CHECK(up->index == 17);
  CHECK(map.placed("h.3.experts.x.up")->variables == std::vector<std::string>{"h.3.experts.x.up"});
  CHECK(map.placed("h.3.experts.-1.up")->variables == std::vector<std::string>{"h.3.experts.-1.up"});
  CHECK(!map.placed("h.3.mask"));
  CHECK(map.placed("a.b")->variables == std::vector<std::string>{"x", "y"});
  for (const char* rule :
       {"a = b + ", "a.# = b", "a = b[#]", "a.#.# = b[#]", "a.# = b[#] + c", "a.# = b[#]/w"})
    CHECK(rule_problem(rule) != "");
}

TEST_CASE("stars match as if every length were tried, the longest of the first star first") {
  std::mt19937 random(1);
  int matched = 0;
  for (int i = 0; i < 200000; ++i) {
    const std::string pattern = drawn(random, "*ab.", 7), name = drawn(random, "abab./", 9);
    std::vector<std::string> captures;
    std::string to = ">", expected = name;
    for (const char c : pattern)
      if (c == '*') to += "*;";
    if (matches_by_trial(pattern, name, captures)) {
      ++matched;
      expected = ">";
      for (const std::string& capture : captures) expected += capture + ";";
    }
    CAPTURE(pattern);
    REQUIRE(renamed(NameMap({pattern + "=" + to}), name) == expected);
  }
  CHECK(matched > 2000);
}

TEST_CASE("patterns of many stars are matched in one go") {
  std::string stars, name(5000, 'a');
  for (int i = 0; i < 1000; ++i) stars += "a*";
  CHECK(renamed(NameMap({stars + "=all"}), name) == "all");
  CHECK(renamed(NameMap({stars + "b=all"}), name + "c") == name + "c");
  CHECK(renamed(NameMap({"*" + stars + "c*=all"}), name) == name);
}

TEST_CASE("the first pattern that matches counts") {
  const NameMap map({"w=first", "*=second"});
  CHECK(renamed(map, "w") == "first");
  CHECK(renamed(map, "v") == "second");
  CHECK(renamed(map, "v/m") == "v/m");
}

TEST_CASE("rules come from files too") {
  const auto path = std::filesystem::temp_directory_path() / ("mtfc_name_map_" + std::to_string(getpid()));
  std::ofstream(path) << "# names of others\n\n  a.* = b/*  \nc=\n";
  const NameMap map({"x=y", path.string()});
  CHECK(renamed(map, "a.1") == "b/1");
  CHECK(renamed(map, "c") == std::nullopt);
  CHECK(renamed(map, "x") == "y");
  std::ofstream(path) << "a=b\nnonsense\n";
  CHECK_THROWS_WITH_AS(
      NameMap({path.string()}),
      ("error: " + path.string() +
       ":2: 'nonsense' is not of the form FROM=TO (as in 'h.*.ln_1.weight=layer_*/norm/scale'; nothing after "
       "= leaves tensors out)")
          .c_str(),
      UserError);
  std::filesystem::remove(path);
  CHECK_THROWS_AS(NameMap({path.string()}), UserError);
  CHECK_THROWS_AS(NameMap({"=b"}), UserError);
  CHECK_THROWS_AS(NameMap({"a=*"}), UserError);
}

namespace {

VariableDecl variable(const std::string& name, Dims dims) {
  VariableDecl decl;
  decl.name = name;
  decl.type = {DType::kF32, std::move(dims)};
  return decl;
}

// `name[2, 3] = a + b per h`
std::string published_text(const std::vector<std::string>& rules, const std::vector<VariableDecl>& variables,
                           const std::vector<std::string>& merged) {
  std::string text;
  for (const PublishedTensor& tensor : published_tensors(NameMap(rules), variables, merged))
    text += fmt::format("{}[{}] = {}{}{}\n", tensor.name, fmt::join(tensor.shape, ", "),
                        fmt::join(tensor.placement.variables, " + "),
                        tensor.placement.per.empty() ? "" : " per " + tensor.placement.per,
                        tensor.placement.index ? fmt::format("[{}]", *tensor.placement.index) : "");
  return text;
}

}  // namespace

TEST_CASE("the inverse of a map gives variables their names and shapes in files") {
  const Dim heads{"heads", 2}, kv{"kv", 3}, model{"model", 5}, experts{"experts", 2};
  const std::vector<VariableDecl> all = {variable("l_0/q/weight", {heads, kv, model}),
                                         variable("l_0/k/weight", {heads, kv, model}),
                                         variable("l_0/q_norm/scale", {kv}),
                                         variable("l_0/up", {experts, kv, model}), variable("l_0/other", {})};
  const std::vector<std::string> rules = {"h.*.*_proj.* = l_*/*/*", "h.*.q_norm = l_*/q_norm/scale",
                                          "h.*.experts.#.up = l_*/up[#]", "h.*.kv.bias ="};
  // Several rules could name l_0/q_norm/scale; the one that says most of it counts.
  CHECK(published_text(rules, all, {"heads", "kv"}) ==
        "h.0.q_proj.weight[6, 5] = l_0/q/weight\n"
        "h.0.k_proj.weight[6, 5] = l_0/k/weight\n"
        "h.0.q_norm[3] = l_0/q_norm/scale\n"
        "h.0.experts.0.up[3, 5] = l_0/up[0]\n"
        "h.0.experts.1.up[3, 5] = l_0/up[1]\n"
        "l_0/other[] = l_0/other\n");
  CHECK(published_text({"h.*.qk = l_*/q/weight + l_*/k/weight per heads"}, {all[0], all[1]},
                       {"heads", "kv"}) == "h.0.qk[12, 5] = l_0/q/weight + l_0/k/weight per heads\n");
  // One of its variables does not exist.
  CHECK(published_text({"h.*.qk = l_*/q/weight + l_*/k/weight"}, {all[0]}, {}) ==
        "l_0/q/weight[2, 3, 5] = l_0/q/weight\n");
  CHECK_THROWS_WITH_AS(published_text({"h.*.qk = l_*/q/weight + l_*/up"}, {all[0], all[3]}, {"heads", "kv"}),
                       doctest::Contains("can't be rows of one tensor 'h.0.qk': [6, 5] and [2, 3, 5]"),
                       UserError);
  CHECK_THROWS_WITH_AS(published_text({"b = other", "a = b"}, {variable("a", {kv}), variable("b", {kv})}, {}),
                       doctest::Contains("does not say what 'a' of the model is called in files"), UserError);
}

}  // namespace mtfc::name_map_test
