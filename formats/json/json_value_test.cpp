#include "formats/json/json_value.h"

#include <doctest/doctest.h>

#include <string>

namespace mtfc::json_value_test {

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
  CHECK(complaint("{\"a\" 1}") == "f.json:1:6: error: malformed JSON: ':' is missing after the key");
  CHECK(complaint("[1,,2]") == "f.json:1:4: error: malformed JSON: unexpected ',', expected a value");
  CHECK(complaint("[1:2]") == "f.json:1:3: error: malformed JSON: unexpected ':', expected ']'");
  CHECK(complaint("{\"a\": 1,\n \"b\": [1, 2}") ==
        "f.json:2:12: error: malformed JSON: unexpected '}', expected ']'");
  CHECK(
      complaint("[tru]") ==
      "f.json:1:2: error: malformed JSON: 'tru' needs quotes; only numbers, true, false and null go without");
  CHECK(complaint("[1, 2") ==
        "f.json:1:6: error: malformed JSON: the file ends before a list does: ']' is missing");
  CHECK(complaint("") == "f.json:1:1: error: the file is empty");
  CHECK(complaint("[1] 2") ==
        "f.json:1:5: error: malformed JSON: unexpected number literal, expected end of input");
  CHECK(complaint("[\"abc") ==
        "f.json:1:2: error: malformed JSON: the string is not closed: '\"' is missing");
  CHECK(complaint("[1e400, 2]") == "f.json:1:2: error: the number 1e400 is too large");
  CHECK(complaint(std::string("[1]\0 x", 6)) == "f.json:1:4: error: malformed JSON: a zero byte");
  CHECK(
      complaint("[\"a\xFF\"]")
          .find("f.json:1:4: error: malformed JSON: the text is not UTF-8; save the file in that encoding") ==
      0);
}

TEST_CASE("what people often get wrong is said in plain words") {
  const auto said = [](const std::string& text) {
    const std::string all = complaint(text), prefix = "error: malformed JSON: ";
    return all.substr(all.find(prefix) + prefix.size());
  };
  CHECK(complaint("{\"a\": 1\n \"b\": 2}") ==
        "f.json:2:2: error: malformed JSON: ',' is missing before this");
  CHECK(said("[1 2]") == "',' is missing before this");
  CHECK(said("[{} {}]") == "',' is missing before this");
  CHECK(said("{\"a\": 1,}") == "a comma with nothing after it");
  CHECK(said("[1, ]") == "a comma with nothing after it");
  CHECK(said("{a: 1}") == "'a' needs quotes; only numbers, true, false and null go without");
  CHECK(said("{\"a\": batch}") == "'batch' needs quotes; only numbers, true, false and null go without");
  CHECK(said("{\u201ca\u201d: 1}") == "these quotes are curly; JSON's are straight: \"");
  CHECK(complaint("{\"a\": \"b,\n \"c\": 1}") ==
        "f.json:1:7: error: malformed JSON: the string is not closed in its line: '\"' is missing");
  CHECK(said("{\"a\":") == "the file ends in the middle: expected a value");
  CHECK(said("{\"a\": {") == "the file ends in the middle: expected a key in quotes");
  CHECK(said("{\"a\": {}") == "the file ends before an object does: '}' is missing");
  CHECK(complaint("\x89PNG\r\n\x1a\n") == "f.json:1:1: error: the file is binary, not JSON");
  CHECK(complaint(std::string("\x7f"
                              "ELF\2\1\1\0\0",
                              9))
            .ends_with("error: the file is binary, not JSON"));
}

TEST_CASE("duplicate keys are errors, all of them") {
  CHECK(complaint("{\"a\": 1,\n \"a\": 2, \"b\": {\"a\": 1, \"c\": 2, \"c\": 3}}") ==
        "f.json:2:2: error: /a: duplicate key 'a' (it is first given in line 1)\n"
        "f.json:2:32: error: /b/c: duplicate key 'c' (it is first given in line 2)");
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

}  // namespace mtfc::json_value_test
