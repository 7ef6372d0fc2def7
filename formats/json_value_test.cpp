#include "formats/json_value.h"

#include <doctest/doctest.h>

#include <string>

using namespace mtfc;

namespace {

std::string complaint(const std::string& text) {
  try {
    parse_json(text, "f.json");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::string place(const JsonValue& value) {
  return std::to_string(value.place.line) + ":" + std::to_string(value.place.column);
}

}  // namespace

TEST_CASE("every value knows where it stands") {
  const JsonValue root =
      parse_json("{\"a\": 12,\n \"bé\" :[true , null,-1.5e3],\n\"c\":{\"d\":\"x\"} }", "f.json");
  CHECK(place(root) == "1:1");
  CHECK(place(root.members[0].value) == "1:7");
  CHECK(root.members[1].place.line == 2);
  CHECK(root.members[1].place.column == 2);
  const JsonValue& list = root.members[1].value;
  CHECK(place(list) == "2:8");
  CHECK(place(list.items[0]) == "2:9");
  CHECK(place(list.items[1]) == "2:16");
  CHECK(place(list.items[2]) == "2:21");
  CHECK(list.items[2].number() == -1500);
  CHECK(place(root.members[2].value) == "3:5");
  CHECK(place(*root.members[2].value.find("d")) == "3:10");
  CHECK(root.members[2].value.find("e") == nullptr);
}

TEST_CASE("numbers keep their value exactly") {
  const JsonValue root =
      parse_json("[9223372036854775807, -9223372036854775808, 9223372036854775808, 1e3, 1.5, -0]", "f");
  CHECK(root.items[0].integer() == INT64_MAX);
  CHECK(root.items[1].integer() == INT64_MIN);
  CHECK_FALSE(root.items[2].integer());
  CHECK(root.items[2].number() == 9223372036854775808.0);
  CHECK(root.items[3].integer() == 1000);
  CHECK_FALSE(root.items[4].integer());
  CHECK(root.items[5].integer() == 0);
  CHECK(parse_json("7", "f").integer() == 7);
}

TEST_CASE("a byte order mark is no content") {
  const JsonValue root = parse_json("\xEF\xBB\xBF[1]", "f");
  CHECK(place(root) == "1:1");
  CHECK(place(root.items[0]) == "1:2");
}

TEST_CASE("malformed texts are located") {
  CHECK(complaint("{\"a\" 1}") ==
        "f.json:1:6: error: malformed JSON: unexpected number literal, expected ':'");
  CHECK(complaint("[1,,2]") == "f.json:1:4: error: malformed JSON: unexpected ',', expected a value");
  CHECK(complaint("[1:2]") == "f.json:1:3: error: malformed JSON: unexpected ':', expected ']'");
  CHECK(complaint("{\"a\": 1,\n \"b\": [1, 2}") ==
        "f.json:2:12: error: malformed JSON: unexpected '}', expected ']'");
  CHECK(complaint("[tru]") == "f.json:1:2: error: malformed JSON: invalid literal");
  CHECK(complaint("[1, 2") == "f.json:1:6: error: malformed JSON: unexpected end of input, expected ']'");
  CHECK(complaint("") == "f.json:1:1: error: the file is empty");
  CHECK(complaint("[1] 2") ==
        "f.json:1:5: error: malformed JSON: unexpected number literal, expected end of input");
  CHECK(complaint("[\"abc") == "f.json:1:2: error: malformed JSON: invalid string: missing closing quote");
  CHECK(complaint("[1e400, 2]") == "f.json:1:2: error: the number 1e400 is too large");
  CHECK(complaint(std::string("[1]\0 x", 6)) == "f.json:1:4: error: malformed JSON: a zero byte");
  CHECK(
      complaint("[\"a\xFF\"]").find("f.json:1:4: error: malformed JSON: invalid string: ill-formed UTF-8") ==
      0);
}

TEST_CASE("duplicate keys are errors, all of them") {
  CHECK(complaint("{\"a\": 1,\n \"a\": 2, \"b\": {\"a\": 1, \"c\": 2, \"c\": 3}}") ==
        "f.json:2:2: error: duplicate key 'a' (it is first given in line 1)\n"
        "f.json:2:32: error: duplicate key 'c' (it is first given in line 2)");
}

TEST_CASE("nesting is limited") {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(complaint(nested(kDeepestJson)) == "");
  CHECK(complaint(nested(kDeepestJson + 1)) == "f.json:1:1001: error: values nest more than 1000 deep");
  CHECK(complaint(std::string(1000000, '[')) == "f.json:1:1001: error: values nest more than 1000 deep");
}

TEST_CASE("pointers escape as RFC 6901 says") {
  CHECK(child_pointer("/a", "b/c~d") == "/a/b~1c~0d");
  CHECK(child_pointer("", "") == "/");
}
