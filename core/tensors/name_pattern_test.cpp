#include "core/tensors/name_pattern.h"

#include <doctest/doctest.h>

#include <string>

namespace mtfc {
namespace {

TEST_CASE("one star stays within a part of a name, two stars don't") {
  CHECK(matches_name("w", "w"));
  CHECK_FALSE(matches_name("w", "wi"));
  CHECK(matches_name("layer_*/moe/wi", "layer_0/moe/wi"));
  CHECK(matches_name("layer_*/moe/wi", "layer_12/moe/wi"));
  CHECK(matches_name("layer_*/moe/wi", "layer_/moe/wi"));
  CHECK_FALSE(matches_name("layer_*/moe/wi", "layer_0/a/moe/wi"));
  CHECK(matches_name("layer_*/**/wi", "layer_0/a/b/wi"));
  CHECK_FALSE(matches_name("layer_*/**/wi", "layer_0/wi"));
  CHECK(matches_name("**", "a/b/c"));
  CHECK(matches_name("**/wi", "layer_0/moe/wi"));
  CHECK_FALSE(matches_name("**/wi", "wi"));
  CHECK(matches_name("*", "a"));
  CHECK_FALSE(matches_name("*", "a/b"));
  CHECK(matches_name("**wi", "wi"));
  CHECK_FALSE(matches_name("", "a"));
  CHECK(matches_name("", ""));
}

TEST_CASE("a pattern of many stars takes no more than the product of the lengths") {
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "*a";
  CHECK_FALSE(matches_name(pattern + "b", std::string(5000, 'a')));
  CHECK(matches_name(pattern, std::string(5000, 'a')));
}

}  // namespace
}  // namespace mtfc
