#include "cmd/options/help_layout.h"

#include <doctest/doctest.h>

namespace mtfc::help_layout_test {

TEST_CASE("words of help are wrapped at blanks, and long ones at commas and bars") {
  CHECK(help_words("- ", "one two three", 2, 14) == "- one two\n  three\n");
  CHECK(help_words("", "a,bbbbbbbbbb|cccccccccccc", 2, 14) == "a,bbbbbbbbbb|\n  cccccccccccc\n");
  CHECK(help_words("", "unbreakable_and_long", 2, 10) == "unbreakable_and_long\n");
  CHECK(help_words("x", "", 2, 10) == "x\n");
}

TEST_CASE("a description stands beside a short name and below a long one") {
  CHECK(help_entry("--top N", "how many to show", 12, 24) == "  --top N   how many to\n            show\n");
  CHECK(help_entry("--a-long-name", "how many", 12, 24) == "  --a-long-name\n            how many\n");
  CHECK(help_entry("--top N", "", 12, 24) == "  --top N\n");
}

TEST_CASE("a command that is too long continues after a backslash") {
  CHECK(help_commands("  mill grind wheat --fine\n  mill clean\n", 20) ==
        "  mill grind wheat \\\n      --fine\n  mill clean\n");
}

}  // namespace mtfc::help_layout_test
