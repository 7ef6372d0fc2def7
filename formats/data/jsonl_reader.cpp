#include "formats/data/jsonl_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "formats/data/number_list.h"

namespace mtfc {
namespace {

constexpr size_t kDeepest = 8;  // dimensions of a value

// Passes the object of each line that is not empty.
void read_objects(const DataFile& file,
                  const std::function<void(const nlohmann::json& object, int64_t line)>& visit) {
  if (file.bytes.empty()) throw RunError(file.name + ": the file is empty");
  const std::string_view text = file.text();
  int64_t number = 1;
  for (size_t begin = 0; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    if (object.is_discarded()) fail_at(file, number, "the line is not JSON");
    if (!object.is_object()) fail_at(file, number, "the line is not an object, as in {\"x\": 1}");
    visit(object, number);
  }
}

const nlohmann::json& value_of(const nlohmann::json& object, const std::string& key, const DataFile& file,
                               int64_t line) {
  const auto at = object.find(key);
  if (at != object.end()) return *at;
  std::vector<std::string> keys;
  for (const auto& [name, value] : object.items()) keys.push_back(name);
  const std::string near = did_you_mean(key, keys);
  fail_at(file, line, fmt::format("there is no key '{}'{}", key, near.empty() ? "" : " (" + near + ")"));
}

// The kind of a value that is neither a number nor a list of them.
const char* kind_of(const nlohmann::json& value) {
  return value.is_null()     ? "null"
         : value.is_string() ? "a text"
         : value.is_array()  ? "a list"
         : value.is_object() ? "an object"
                             : "a number";
}

class JsonlReader {
 public:
  JsonlReader(const DataFile& file, const std::string& key) : file_(file), key_(key) {}

  StoredArray read() {
    int64_t rows = 0;
    read_objects(file_, [&](const nlohmann::json& object, int64_t line) {
      line_ = line;
      add_value(value_of(object, key_, file_, line), rows++ == 0);
    });
    std::vector<int64_t> shape = {rows};
    shape.insert(shape.end(), first_shape_.begin(), first_shape_.end());
    return numbers_.array(file_, std::move(shape));
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { fail_at(file_, line_, problem); }

  void add_value(const nlohmann::json& value, bool is_first) {
    const std::vector<int64_t> shape = shape_of(value, 0);
    add(value);
    if (is_first) {
      first_shape_ = shape;
      first_line_ = line_;
    } else if (shape != first_shape_) {
      fail(fmt::format("'{}' has the shape [{}], but [{}] on line {}", key_, fmt::join(shape, ", "),
                       fmt::join(first_shape_, ", "), first_line_));
    }
  }

  // The lengths of the lists of a value, by depth.
  std::vector<int64_t> shape_of(const nlohmann::json& value, size_t depth) const {
    if (!value.is_array()) return {};
    if (depth == kDeepest) fail(fmt::format("'{}' has lists in more than {} levels", key_, kDeepest));
    std::vector<int64_t> shape = {static_cast<int64_t>(value.size())};
    if (value.empty()) return shape;
    const std::vector<int64_t> inner = shape_of(value.front(), depth + 1);
    for (const nlohmann::json& element : value)
      if (shape_of(element, depth + 1) != inner)
        fail(fmt::format("'{}' has lists of different lengths, or numbers beside lists", key_));
    shape.insert(shape.end(), inner.begin(), inner.end());
    return shape;
  }

  void add(const nlohmann::json& value) {
    if (!value.is_array()) return add_number(value);
    for (const nlohmann::json& element : value) add(element);
  }

  void add_number(const nlohmann::json& value) {
    if (value.is_boolean()) return numbers_.add(int64_t{value.get<bool>()});
    if (value.is_number_unsigned() &&
        value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return numbers_.add(value.get<double>());
    if (value.is_number_integer()) return numbers_.add(value.get<int64_t>());
    if (value.is_number()) return numbers_.add(value.get<double>());
    fail(fmt::format("'{}' has {}, which is not a number{}", key_, kind_of(value),
                     value.is_string() ? fmt::format(" (text={} makes tokens of texts)", key_) : ""));
  }

  const DataFile& file_;
  const std::string& key_;
  NumberList numbers_;
  int64_t line_ = 1, first_line_ = 1;
  std::vector<int64_t> first_shape_;
};

}  // namespace

StoredArray read_jsonl(const std::string& path, const std::string& key) {
  const DataFile file = open_data_file(path);
  return JsonlReader(file, key).read();
}

void read_jsonl_texts(const DataFile& file, const std::vector<std::string>& keys,
                      const std::function<void(std::string_view text, int64_t line)>& visit) {
  read_objects(file, [&](const nlohmann::json& object, int64_t line) {
    for (const std::string& key : keys) {
      const nlohmann::json& value = value_of(object, key, file, line);
      if (!value.is_string())
        fail_at(file, line, fmt::format("'{}' has {}, which is not a text", key, kind_of(value)));
      visit(value.get_ref<const std::string&>(), line);
    }
  });
}

}  // namespace mtfc
