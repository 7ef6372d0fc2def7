#include "formats/data/name_map.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/diagnostics/error.h"

namespace mtfc::name_map_test {
namespace {

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
  CHECK(map.renamed("h.3.mlp.c_fc.weight") == "layer_3/ffn/c_fc");
  CHECK(map.renamed("h.3.mlp.c.fc.weight") == "h.3.mlp.c.fc.weight");
  CHECK(map.renamed("h.3.mlp.c_fc.weights") == "h.3.mlp.c_fc.weights");
  CHECK(map.renamed("h.11.attn.bias") == std::nullopt);
  CHECK(map.renamed("abcb") == "bcx");
  CHECK(map.renamed("ab") == "x");
  CHECK(map.renamed("other") == "other");
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
    REQUIRE(NameMap({pattern + "=" + to}).renamed(name) == expected);
  }
  CHECK(matched > 2000);
}

TEST_CASE("patterns of many stars are matched in one go") {
  std::string stars, name(5000, 'a');
  for (int i = 0; i < 1000; ++i) stars += "a*";
  CHECK(NameMap({stars + "=all"}).renamed(name) == "all");
  CHECK(NameMap({stars + "b=all"}).renamed(name + "c") == name + "c");
  CHECK(NameMap({"*" + stars + "c*=all"}).renamed(name) == name);
}

TEST_CASE("the first pattern that matches counts") {
  const NameMap map({"w=first", "*=second"});
  CHECK(map.renamed("w") == "first");
  CHECK(map.renamed("v") == "second");
  CHECK(map.renamed("v/m") == "v/m");
}

TEST_CASE("rules come from files too") {
  const auto path = std::filesystem::temp_directory_path() / ("mtfc_name_map_" + std::to_string(getpid()));
  std::ofstream(path) << "# names of others\n\n  a.* = b/*  \nc=\n";
  const NameMap map({"x=y", path.string()});
  CHECK(map.renamed("a.1") == "b/1");
  CHECK(map.renamed("c") == std::nullopt);
  CHECK(map.renamed("x") == "y");
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

}  // namespace mtfc::name_map_test
