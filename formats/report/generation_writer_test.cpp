#include "formats/report/generation_writer.h"

#include <doctest/doctest.h>

#include "formats/json/json_value.h"

namespace mtfc::generation_writer_test {

TEST_CASE("generated sequences are written one a line, with what they have") {
  CHECK(generation_json("a \"model\"", {}) ==
        "{\n \"mtfc_generation\": 1,\n \"model\": \"a \\\"model\\\"\",\n \"sequences\": []\n}\n");
  const std::string text =
      generation_json("lm", {{0, {84}, {104, 101}, "The", std::nullopt}, {1, {}, {7}, std::nullopt, -0.5}});
  CHECK(text ==
        "{\n \"mtfc_generation\": 1,\n \"model\": \"lm\",\n \"sequences\": [\n"
        "  {\"beginning\":0,\"prompt\":[84],\"tokens\":[104,101],\"text\":\"The\"},\n"
        "  {\"beginning\":1,\"prompt\":[],\"tokens\":[7],\"score\":-0.5}\n"
        " ]\n}\n");
  CHECK(find_json(text).has_value());
}

TEST_CASE("bytes that are no text do not break the JSON") {
  CHECK(find_json(generation_json("lm", {{0, {}, {255}, "\xff", std::nullopt}})).has_value());
}

}  // namespace mtfc::generation_writer_test
