#pragma once
// JSON as the writers of this folder make it: keys in the order they were added, lists one element a line.

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/tensors/layout.h"
#include "core/tensors/mesh.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// A JSON value to be written: null, a bool, a number, a string, a list or an object whose keys keep the order
/// in which they were added. Writers build with it, so that nlohmann's header, which takes seconds to compile,
/// stays in this class's source file; reading is JsonValue's part (formats/json/json_value.h).
///
///   Json json = {{"name", "w"}, {"dims", Json::array()}};   // {"name":"w","dims":[]}
///   json["dims"].push_back("hidden");
///
/// A braced list whose elements all are pairs that begin with a string is an object; any other is a list.
class Json {
 public:
  using List = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;
  class Item;

  Json() = default;
  Json(bool value) : value_(value) {}
  template <std::signed_integral T>
  Json(T value) : value_(static_cast<int64_t>(value)) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Json(T value) : value_(static_cast<uint64_t>(value)) {}
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  template <typename T>
  Json(const std::vector<T>& values) : value_(List(values.begin(), values.end())) {}
  Json(std::initializer_list<Item> values);

  static Json array() { return Json(List{}); }
  static Json array(std::initializer_list<Item> values);
  static Json object() { return Json(Object{}); }

  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool is_list() const { return std::holds_alternative<List>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  /// Elements of a list or members of an object; 0 of anything else.
  size_t size() const;
  bool empty() const { return size() == 0; }

  /// The member `key` of an object, added where it is missing. A null becomes an object.
  Json& operator[](std::string_view key);
  /// Element `index` of a list.
  const Json& item(size_t index) const { return list()[index]; }
  /// The last element of a list.
  Json& back() { return std::get<List>(value_).back(); }
  /// Adds to a list. A null becomes a list.
  void push_back(Json value);
  /// Sets all members of `other`, an object, in this one.
  void update(Json other);

  const std::string& text() const { return std::get<std::string>(value_); }
  const List& list() const { return std::get<List>(value_); }
  const Object& object_members() const { return std::get<Object>(value_); }
  /// On one line, without blanks. Bytes of strings that are no UTF-8 become U+FFFD.
  std::string dump() const;
  /// Adds the same to `text`.
  void append_to(std::string& text) const;

 private:
  explicit Json(List list) : value_(std::move(list)) {}
  explicit Json(Object object) : value_(std::move(object)) {}

  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, List, Object> value_;
};

/// An element of a braced list. The list lets go of its elements' values, which an initializer_list of Json could only
/// copy.
class Json::Item {
 public:
  Item() = default;
  template <typename T>
  requires(!std::same_as<std::remove_cvref_t<T>, Item> && std::convertible_to<T, Json>) Item(T&& value)
      : value_(std::forward<T>(value)) {}
  Item(std::initializer_list<Item> values) : value_(values) {}

  const Json& value() const { return value_; }
  Json take() const { return std::move(value_); }

 private:
  mutable Json value_;
};

/// The list of what `json_of_item` gives for each item.
template <typename Items, typename ItemJson>
Json json_list(const Items& items, ItemJson json_of_item) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(std::invoke(json_of_item, item));
  return list;
}

/// The object of what `json_of_value` gives for each value of a map from texts.
template <typename Map, typename ValueJson = std::identity>
Json json_map(const Map& map, ValueJson json_of_value = {}) {
  Json object = Json::object();
  for (const auto& [key, value] : map) object[key] = std::invoke(json_of_value, value);
  return object;
}

/// [["rows", 2]]: a list, since other programs may sort the keys of an object.
Json json_of(const Mesh& mesh);
/// {"batch": ["rows"]}
Json json_of(const Layout& layout);
/// {"w": {"hidden": ["rows"]}, "logits": {}}
Json annotations_json(const Layout& layout);
/// The rules between parts, as layout files have them.
Json between_json(const Layout& layout);
/// [[dimension, [axes], {"in": pattern}], ...], as in a layout file.
Json limited_rules_json(const Layout& layout);
/// [2, 5]
Json json_of(const Interval& interval);
/// {"batch": 100}, in the order of the dimensions
Json json_of(const Dims& dims);
/// The split dimensions: {"batch": ["rows"]}
Json json_of(const Dims& dims, const Sharding& sharding, const Mesh& mesh);
/// {"rows": "sum"}
Json partial_json(const Sharding& sharding, const Mesh& mesh);
/// ["rows", "cols"]
Json json_of(const AxisList& axes, const Mesh& mesh);
/// A number, or "inf", "-inf", "nan", which JSON has no numbers for.
Json real_json(double value);

inline constexpr int kAllLevels = -1;

/// Objects and lists spread over lines down to `depth`, compact below: a line per step, easy to compare. Each
/// level is indented by `indent` blanks.
std::string dump_lines(const Json& value, int depth, int indent = 1);

}  // namespace mtfc
