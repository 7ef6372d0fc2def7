#include "formats/json/ordered_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/tensors/tensor_form.h"

namespace mtfc {
namespace {

// True if JSON has the text as it is.
bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

// As nlohmann writes a number or a string.
template <typename T>
void append_scalar(std::string& text, const T& value) {
  if constexpr (std::same_as<T, std::string>) {
    if (is_plain(value)) {
      text += '"';
      text += value;
      text += '"';
      return;
    }
  }
  if constexpr (std::integral<T> && !std::same_as<T, bool>)
    fmt::format_to(std::back_inserter(text), "{}", value);
  else
    text += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_lines(std::string& text, const Json& value, int depth, const std::string& indent,
                  const std::string& outer = "") {
  if (depth == 0 || value.empty()) {
    value.append_to(text);
    return;
  }
  const std::string margin = outer + indent;
  const auto begin_item = [&](size_t i) {
    text += i == 0 ? "\n" : ",\n";
    text += margin;
  };
  text += value.is_object() ? "{" : "[";
  for (size_t i = 0; i < value.size(); ++i) {
    begin_item(i);
    if (value.is_object()) {
      const auto& [key, item] = value.object_members()[i];
      append_scalar(text, key);
      text += ": ";
      append_lines(text, item, depth - 1, indent, margin);
    } else {
      append_lines(text, value.item(i), depth - 1, indent, margin);
    }
  }
  text += "\n" + outer + (value.is_object() ? "}" : "]");
}

template <typename Items, typename AppendItem>
void append_items(std::string& text, const Items& items, const AppendItem& append_item) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += ",";
    append_item(items[i]);
  }
}

}  // namespace

Json::Json(std::initializer_list<Item> values) {
  const bool is_object = std::all_of(values.begin(), values.end(), [](const Item& item) {
    const Json& value = item.value();
    return value.is_list() && value.size() == 2 && value.item(0).is_string();
  });
  if (!is_object) {
    *this = array(values);
    return;
  }
  Object& members = value_.emplace<Object>();
  members.reserve(values.size());
  for (const Item& item : values) {
    Json pair = item.take();
    List& parts = std::get<List>(pair.value_);
    (*this)[std::get<std::string>(parts[0].value_)] = std::move(parts[1]);
  }
}

Json Json::array(std::initializer_list<Item> values) {
  List list;
  list.reserve(values.size());
  for (const Item& item : values) list.push_back(item.take());
  return Json(std::move(list));
}

size_t Json::size() const {
  if (is_list()) return list().size();
  return is_object() ? object_members().size() : 0;
}

Json& Json::operator[](std::string_view key) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Object();
  Object& members = std::get<Object>(value_);
  for (Member& member : members)
    if (member.first == key) return member.second;
  return members.emplace_back(std::string(key), Json()).second;
}

void Json::push_back(Json value) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = List();
  std::get<List>(value_).push_back(std::move(value));
}

void Json::update(Json other) {
  for (auto& [key, value] : std::get<Object>(other.value_)) (*this)[key] = std::move(value);
}

std::string Json::dump() const {
  std::string text;
  append_to(text);
  return text;
}

void Json::append_to(std::string& text) const {
  if (is_list()) {
    text += "[";
    append_items(text, list(), [&](const Json& item) { item.append_to(text); });
    text += "]";
  } else if (is_object()) {
    text += "{";
    append_items(text, object_members(), [&](const Member& member) {
      append_scalar(text, member.first);
      text += ":";
      member.second.append_to(text);
    });
    text += "}";
  } else {
    std::visit(
        [&]<typename T>(const T& value) {
          if constexpr (std::same_as<T, std::monostate>)
            text += "null";
          else if constexpr (!std::same_as<T, List> && !std::same_as<T, Object>)
            append_scalar(text, value);
        },
        value_);
  }
}

Json json_of(const Mesh& mesh) {
  return json_list(mesh.axes(), [](const Axis& axis) { return Json::array({axis.name, axis.size}); });
}

Json json_of(const AxisList& axes, const Mesh& mesh) {
  return json_list(axes, [&](int axis) { return mesh.axes()[static_cast<size_t>(axis)].name; });
}

namespace {

Json rules_json(const std::vector<Rule>& rules, const Mesh& mesh) {
  Json json = Json::object();
  for (const Rule& rule : rules) json[rule.dim] = json_of(rule.axes, mesh);
  return json;
}

}  // namespace

Json json_of(const Layout& layout) {
  return rules_json(layout.rules, layout.mesh);
}

Json between_json(const Layout& layout) {
  return json_list(layout.between, [&](const Rule& rule) {
    return Json::array({rule.dim, json_of(rule.axes, layout.mesh)});
  });
}

Json limited_rules_json(const Layout& layout) {
  return json_list(layout.limited_rules, [&](const LimitedRule& limited) {
    const auto& [rule, pattern] = limited;
    return Json::array({rule.dim, json_of(rule.axes, layout.mesh), Json({{"in", pattern}})});
  });
}

Json annotations_json(const Layout& layout) {
  Json json = Json::object();
  for (const Annotation& annotation : layout.annotations)
    json[annotation.pattern] = rules_json(annotation.splits, layout.mesh);
  return json;
}

Json json_of(const Interval& interval) {
  return Json::array({interval.begin, interval.end});
}

Json json_of(const Dims& dims) {
  Json json = Json::object();
  for (const Dim& dim : dims) json[dim.name] = dim.size;
  return json;
}

Json json_of(const Dims& dims, const Sharding& sharding, const Mesh& mesh) {
  check_form(dims, sharding);
  Json json = Json::object();
  for (size_t i = 0; i < dims.size(); ++i)
    if (!sharding.dims[i].empty()) json[dims[i].name] = json_of(sharding.dims[i], mesh);
  return json;
}

Json partial_json(const Sharding& sharding, const Mesh& mesh) {
  Json json = Json::object();
  for (const Partial& partial : sharding.partial)
    json[mesh.axes()[static_cast<size_t>(partial.axis)].name] = to_string(partial.kind);
  return json;
}

Json real_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string dump_lines(const Json& value, int depth, int indent) {
  std::string text;
  append_lines(text, value, depth, std::string(static_cast<size_t>(indent), ' '));
  text += "\n";
  return text;
}

}  // namespace mtfc
