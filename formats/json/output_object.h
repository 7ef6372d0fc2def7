#pragma once
// Objects that mtfc writes as JSON. Each is a table of its keys, which gives both the JSON and its schema: a new key is
// a new row.
//
//   const OutputObject<Halo> kHalo = {{"left", whole("indices before those that it holds"), &Halo::left},
//                                     {"from", text(), [](const Halo& halo) { return unless_empty(halo.from); }}};
//   kHalo.json(halo);   // {"left": 2}, since halo.from is ""
//   kHalo.schema();     // {"type": "object", "properties": {"left": …, "from": …}, "required": ["left"], …}

#include <functional>
#include <initializer_list>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "formats/json/ordered_json.h"
#include "formats/json/schema_parts.h"

namespace mtfc {

/// Nothing unless `holds`, so that its key is left out.
template <typename Value>
std::optional<Value> when(bool holds, Value value) {
  return holds ? std::optional(std::move(value)) : std::nullopt;
}

/// Nothing for what is empty, false or 0.
template <typename Value>
std::optional<Value> unless_empty(const Value& value) {
  if constexpr (std::is_arithmetic_v<Value>)
    return when(value != Value(), value);
  else
    return when(!value.empty(), value);
}

template <typename Value>
inline constexpr bool kIsOptionalType = false;
template <typename Value>
inline constexpr bool kIsOptionalType<std::optional<Value>> = true;
template <typename Value>
requires std::is_class_v<Value>
inline constexpr bool kIsOptionalType<const Value*> = true;

/// The value of the key of an object that says which version of a format it has.
inline constexpr auto kFirstVersion = [](const auto&) { return 1; };

/// It is made from a value of type `First`, and from what it takes to write it, such as the mesh.
template <typename First, typename... Rest>
class OutputObject {
 public:
  class Row {
   public:
    /// `value` is called with what the object is made from, or with the first of it. If it gives a std::optional, the
    /// object has the key only where this is not empty; likewise of a pointer.
    template <typename Value>
    Row(const char* key, Json schema, Value value) {
      properties_[std::string(key) + (kMayLack<Value> ? "?" : "")] = std::move(schema);
      put_ = [key, value](Json& object, const First& first, const Rest&... rest) {
        put(object, key, call(value, first, rest...));
      };
    }
    /// A key with an object that is made from what `value` gives, and from the rest where it takes as many values.
    template <typename... Others, typename Value = std::identity>
    Row(const char* key, const OutputObject<Others...>& other, Value value = {})
        : Row(key, other.schema(), [&other, value](const First& first, const Rest&... rest) {
            return written(other, call(value, first, rest...), rest...);
          }) {}
    template <typename... Others, typename... Value>  // `other` must stay
    Row(const char* key, const OutputObject<Others...>&& other, Value...) = delete;
    /// All rows of such an object. If `value` gives nothing, none of the keys is there.
    template <typename... Others, typename Value = std::identity>
    Row(const OutputObject<Others...>& other, Value value = {}) {
      const Json properties = other.properties();
      for (const auto& [key, schema] : properties.object_members())
        properties_[key + (kMayLack<Value> && !key.ends_with('?') ? "?" : "")] = schema;
      put_ = [&other, value](Json& object, const First& first, const Rest&... rest) {
        const auto found = written(other, call(value, first, rest...), rest...);
        if constexpr (!kMayLack<Value>)
          object.update(found);
        else if (found)
          object.update(*found);
      };
    }
    /// The keys with these schemas, as schema_parts::record() takes them, and an object with values for them.
    template <typename Value>
    Row(Json properties, Value value)
        : properties_(std::move(properties)),
          put_([value](Json& object, const First& first, const Rest&... rest) {
            object.update(call(value, first, rest...));
          }) {}

   private:
    friend class OutputObject;

    template <typename Value>
    static decltype(auto) call(const Value& value, const First& first, const Rest&... rest) {
      if constexpr (std::is_invocable_v<const Value&, const First&, const Rest&...>)
        return std::invoke(value, first, rest...);
      else
        return std::invoke(value, first);
    }
    template <typename Value>
    static constexpr bool kMayLack = kIsOptionalType<std::remove_cvref_t<decltype(call(
        std::declval<const Value&>(), std::declval<const First&>(), std::declval<const Rest&>()...))>>;
    template <typename Value>
    static void put(Json& object, const char* key, const Value& value) {
      if constexpr (!kIsOptionalType<Value>)
        object[key] = value;
      else if (value)
        object[key] = *value;
    }
    template <typename... Others, typename Value>
    static auto written(const OutputObject<Others...>& object, const Value& value, const Rest&... rest) {
      if constexpr (kIsOptionalType<Value>)
        return value ? std::optional(written(object, *value, rest...)) : std::nullopt;
      else if constexpr (sizeof...(Others) > 1)
        return object.json(value, rest...);
      else
        return object.json(value);
    }

    Json properties_ = Json::object();
    std::function<void(Json&, const First&, const Rest&...)> put_;
  };

  OutputObject(std::initializer_list<Row> rows) : rows_(rows) {}
  explicit OutputObject(std::vector<Row> rows) : rows_(std::move(rows)) {}

  Json json(const First& first, const Rest&... rest) const {
    Json object = Json::object();
    for (const Row& row : rows_) row.put_(object, first, rest...);
    return object;
  }
  /// Its keys with their schemas, as schema_parts::record() takes them.
  Json properties() const {
    Json all = Json::object();
    for (const Row& row : rows_) all.update(row.properties_);
    return all;
  }
  Json schema() const { return schema_parts::record(properties()); }

 private:
  std::vector<Row> rows_;
};

/// The list of the objects that are made from each item.
template <typename Items, typename First, typename... Rest>
Json json_list(const Items& items, const OutputObject<First, Rest...>& object,
               const std::type_identity_t<Rest>&... rest) {
  return json_list(items, [&](const First& item) { return object.json(item, rest...); });
}

/// The object of the objects that are made from each value of a map from texts.
template <typename Map, typename First>
Json json_map(const Map& map, const OutputObject<First>& object) {
  return json_map(map, [&](const First& value) { return object.json(value); });
}

}  // namespace mtfc
