#include "formats/json/ordered_json.h"

#include <cmath>

namespace mtfc {
namespace {

void dump_into(std::string& text, const Json& value, int depth, int indent) {
  if (depth == 0 || !value.is_structured() || value.empty()) {
    // A file name may be no UTF-8.
    text += value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  const std::string margin(static_cast<size_t>(indent + 1), ' ');
  text += value.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& item : value.items()) {
    text += (first ? "\n" : ",\n") + margin;
    first = false;
    if (value.is_object())
      text += Json(item.key()).dump(-1, ' ', false, Json::error_handler_t::replace) + ": ";
    dump_into(text, item.value(), depth - 1, indent + 1);
  }
  text += "\n" + margin.substr(1) + (value.is_object() ? "}" : "]");
}

}  // namespace

Json json_of(const Mesh& mesh) {
  Json json = Json::object();
  for (const Axis& axis : mesh.axes()) json[axis.name] = axis.size;
  return json;
}

Json json_of(const AxisList& axes, const Mesh& mesh) {
  Json json = Json::array();
  for (const int axis : axes) json.push_back(mesh.axes()[static_cast<size_t>(axis)].name);
  return json;
}

Json json_of(const Layout& layout) {
  Json json = Json::object();
  for (const Rule& rule : layout.rules) json[rule.dim] = json_of(rule.axes, layout.mesh);
  return json;
}

Json json_of(const Dims& dims) {
  Json json = Json::object();
  for (const Dim& dim : dims) json[dim.name] = dim.size;
  return json;
}

Json json_of(const Dims& dims, const Sharding& sharding, const Mesh& mesh) {
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

std::string dump_lines(const Json& value, int depth) {
  std::string text;
  dump_into(text, value, depth, 0);
  return text + "\n";
}

}  // namespace mtfc
