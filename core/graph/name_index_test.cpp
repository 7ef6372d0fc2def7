#include "core/graph/name_index.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/diagnostics/error.h"

namespace mtfc::name_index_test {
namespace {

// An index with the list of names that it is over.
struct Names {
  std::vector<std::string> list;
  NameIndex index;

  auto is(const std::string& name) const {
    return [this, name](int32_t entry) { return list[static_cast<size_t>(entry)] == name; };
  }
  bool add(const std::string& name) {
    if (!index.add_unless(name, static_cast<int32_t>(list.size()), is(name))) return false;
    list.push_back(name);
    return true;
  }
  std::optional<int32_t> find(const std::string& name) const { return index.find(name, is(name)); }
};

TEST_CASE("an index finds each of many names, and no others") {
  Names names;
  CHECK(names.find("x") == std::nullopt);
  for (int i = 0; i < 1000; ++i) REQUIRE(names.add("layer_" + std::to_string(i) + "/w"));
  for (int i = 0; i < 1000; ++i) CHECK(names.find("layer_" + std::to_string(i) + "/w") == i);
  CHECK(names.find("layer_1000/w") == std::nullopt);
  CHECK_FALSE(names.add("layer_7/w"));
  CHECK(names.find("layer_7/w") == 7);
}

TEST_CASE("a name that is removed is free again, and others stay") {
  Names names;
  for (int i = 0; i < 100; ++i) names.add("w" + std::to_string(i));
  for (int i = 0; i < 100; i += 2) names.index.remove("w" + std::to_string(i), i);
  for (int i = 0; i < 100; ++i)
    CHECK(names.find("w" + std::to_string(i)) == (i % 2 == 0 ? std::nullopt : std::optional(i)));
  CHECK(names.add("w4"));
  CHECK(names.find("w4") == 100);
  CHECK_THROWS_AS(names.index.remove("w6", 6), InternalError);
  names.index.clear();
  CHECK(names.find("w4") == std::nullopt);
}

}  // namespace
}  // namespace mtfc::name_index_test
