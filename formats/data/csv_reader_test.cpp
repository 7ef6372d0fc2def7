#include "formats/data/csv_reader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/testing/scratch_folder.h"
#include "formats/data/jsonl_reader.h"

namespace mtfc::csv_reader_test {
namespace {

template <typename Element>
std::vector<Element> elements_as(const StoredArray& array) {
  size_t count = 1;
  for (const int64_t size : array.shape) count *= static_cast<size_t>(size);
  std::vector<Element> elements(count);
  if (count > 0) std::memcpy(elements.data(), array.data, count * sizeof(Element));
  return elements;
}

struct Files : ScratchFolder {
  StoredArray csv(const std::string& text, const std::vector<std::string>& columns) const {
    return read_csv(write("d.csv", text), columns);
  }
  StoredArray jsonl(const std::string& text) const { return read_jsonl(write("d.jsonl", text), "x"); }
  // Returns the error for a file, from the number of its line on.
  template <typename Read>
  std::string complaint(const std::string& file, Read read) const {
    try {
      read();
    } catch (const RunError& error) {
      const std::string what = error.what();
      CHECK(what.starts_with((path / file).string() + ":"));
      return what.substr((path / file).string().size() + 1);
    }
    return "";
  }
  std::string csv_complaint(const std::string& text, const std::vector<std::string>& columns) const {
    return complaint("d.csv", [&] { csv(text, columns); });
  }
  std::string jsonl_complaint(const std::string& text) const {
    return complaint("d.jsonl", [&] { jsonl(text); });
  }
};

}  // namespace

TEST_CASE("columns of numbers are read by name, in the order of the names") {
  const Files files;
  const std::string text = "a,b,\"c \"\"d\"\", e\"\n1,2.5,3\n-4, 5e-1 ,\"6\"\n";
  const StoredArray whole = files.csv(text, {"a"});
  CHECK(whole.type == StoredType::kI64);
  CHECK(whole.shape == std::vector<int64_t>{2});
  CHECK(elements_as<int64_t>(whole) == std::vector<int64_t>{1, -4});
  const StoredArray several = files.csv(text, {"b", "a"});
  CHECK(several.type == StoredType::kF64);
  CHECK(several.shape == std::vector<int64_t>{2, 2});
  CHECK(elements_as<double>(several) == std::vector<double>{2.5, 1, 0.5, -4});
  const StoredArray quoted = files.csv(text, {"c \"d\", e"});
  CHECK(quoted.type == StoredType::kU8);
  CHECK(elements_as<uint8_t>(quoted) == std::vector<uint8_t>{3, 6});
  CHECK(files.csv("p1,q,p2\n1,2,3\n", {"p*"}).shape == std::vector<int64_t>{1, 2});
  CHECK(elements_as<uint8_t>(files.csv("t\ntrue\nFalse\n", {"t"})) == std::vector<uint8_t>{1, 0});
  CHECK(files.csv("a,b\n", {"a"}).shape == std::vector<int64_t>{0});
}

TEST_CASE("lines end in any way, and a line may be empty") {
  const Files files;
  for (const char* text : {"a,b\r\n1,2\r\n\r\n3,4\r\n",
                           "\xEF\xBB\xBF"
                           "a,b\n\n1,2\n3,4",
                           "a,b\n1,2\n3,4\n\n"}) {
    CAPTURE(text);
    CHECK(elements_as<uint8_t>(files.csv(text, {"a"})) == std::vector<uint8_t>{1, 3});
    CHECK(elements_as<uint8_t>(files.csv(text, {"b"})) == std::vector<uint8_t>{2, 4});
  }
  CHECK(elements_as<uint8_t>(files.csv("name,a\n\"one\r\ntwo, \"\"three\"\"\",7\n", {"a"})) ==
        std::vector<uint8_t>{7});
}

TEST_CASE("broken CSV is refused with line and column") {
  const Files files;
  CHECK(files.csv_complaint("age,name\n3,x\n", {"aeg"}) ==
        "1: there is no column 'aeg' (did you mean 'age'?)");
  CHECK(files.csv_complaint("age,name\n3,x\n", {"z*"}) ==
        "1: there is no column 'z*' (the columns are age, name)");
  CHECK(files.csv_complaint("a,a\n1,2\n", {"a"}) == "1: there are several columns 'a'");
  CHECK(files.csv_complaint("a,b\n1,2\n\n3\n", {"a"}) ==
        "4: the line has 1 field, but the first line names 2");
  CHECK(files.csv_complaint("a,b\n1,2,3\n", {"a"}) == "2: the line has 3 fields, but the first line names 2");
  CHECK(files.csv_complaint("a,b\n1,\"x\ny\"\n2x,3\n", {"a"}) == "4: column 'a': '2x' is not a number");
  CHECK(files.csv_complaint("a,b\n1,2\n,3\n", {"a"}) ==
        "3: column 'a': the field is empty (leave the row out of the file, or give it a number)");
  CHECK(files.csv_complaint("a,b\n1,\"2\n3,4\n", {"a"}) ==
        "2: the quote that begins field 2 is never closed");
  CHECK(files.csv_complaint("a,b\n1,\"2\" 3\n", {"a"}) ==
        "2: text follows the quotes of field 2 (a quote inside of them is doubled)");
  CHECK(files.csv_complaint("a\n\x1b[2J\n", {"a"}) == "2: column 'a': '\\x1b[2J' is not a number");
  CHECK(files.csv_complaint("", {"a"}) == " the file is empty");
  CHECK(files.csv_complaint("\n\n", {"a"}) == " the file has no line with the names of its columns");
}

TEST_CASE("values of JSON Lines are numbers, lists, and lists of lists") {
  const Files files;
  const StoredArray numbers = files.jsonl("{\"x\": 1, \"y\": \"text\"}\r\n\n{\"y\": [], \"x\": -2.5}");
  CHECK(numbers.type == StoredType::kF64);
  CHECK(numbers.shape == std::vector<int64_t>{2});
  CHECK(elements_as<double>(numbers) == std::vector<double>{1, -2.5});
  const StoredArray lists = files.jsonl("{\"x\": [1, 2, 300]}\n{\"x\": [4, 5, 6]}\n");
  CHECK(lists.shape == std::vector<int64_t>{2, 3});
  CHECK(elements_as<int64_t>(lists) == std::vector<int64_t>{1, 2, 300, 4, 5, 6});
  CHECK(files.jsonl("{\"x\": [[true, false], [false, true]]}\n").shape == std::vector<int64_t>{1, 2, 2});
  CHECK(files.jsonl("{\"x\": 18446744073709551615}").type == StoredType::kF64);
}

TEST_CASE("broken JSON Lines are refused with the line") {
  const Files files;
  CHECK(files.jsonl_complaint("") == " the file is empty");
  CHECK(files.jsonl_complaint("{\"x\": 1}\n{\"x\": 1\n") == "2: the line is not JSON");
  CHECK(files.jsonl_complaint("[1]\n") == "1: the line is not an object, as in {\"x\": 1}");
  CHECK(files.jsonl_complaint("{\"X\": 1}\n") == "1: there is no key 'x' (did you mean 'X'?)");
  CHECK(files.jsonl_complaint("{}\n") == "1: there is no key 'x'");
  CHECK(files.jsonl_complaint("{\"x\": \"1\"}\n") ==
        "1: 'x' has a text, which is not a number (text=x makes tokens of texts)");
  CHECK(files.jsonl_complaint("{\"x\": [1, null]}\n") == "1: 'x' has null, which is not a number");
  CHECK(files.jsonl_complaint("{\"x\": [1, 2]}\n\n{\"x\": [1]}\n") ==
        "3: 'x' has the shape [1], but [2] on line 1");
  CHECK(files.jsonl_complaint("{\"x\": [1, [2]]}\n") ==
        "1: 'x' has lists of different lengths, or numbers beside lists");
  const std::string deep(100000, '[');
  CHECK(files.jsonl_complaint("{\"x\": " + deep + "}\n") == "1: the line is not JSON");
  CHECK(files.jsonl_complaint("{\"x\": " + deep + std::string(100000, ']') + "}\n") ==
        "1: 'x' has lists in more than 8 levels");
}

}  // namespace mtfc::csv_reader_test
