#include "formats/data/name_map.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/diagnostics/error.h"

namespace mtfc::name_map_test {

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
