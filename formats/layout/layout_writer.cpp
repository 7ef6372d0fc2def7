#include "formats/layout/layout_writer.h"

#include "formats/json/ordered_json.h"

namespace mtfc {

std::string layout_json(const Layout& layout, const std::string& doc,
                        const std::optional<FoundFor>& found_for) {
  Json json = Json::object();
  if (!doc.empty()) json["doc"] = doc;
  json["mesh"] = json_of(layout.mesh);
  const auto axes_of = [&](const Rule& rule) {
    const Json axes = json_of(rule.axes, layout.mesh);
    return axes.size() == 1 ? axes.item(0) : axes;
  };
  json["rules"] = Json::array();
  for (const Rule& rule : layout.rules) json["rules"].push_back(Json::array({rule.dim, axes_of(rule)}));
  for (const auto& [rule, pattern] : layout.limited_rules)
    json["rules"].push_back(Json::array({rule.dim, axes_of(rule), Json({{"in", pattern}})}));
  if (!layout.annotations.empty()) json["shardings"] = annotations_json(layout);
  if (layout.propagate) json["propagate"] = true;
  json.update(state_sharding_json(layout));
  json.update(rings_json(layout));
  if (!layout.mesh.device_order().empty()) json["device_order"] = layout.mesh.device_order();
  if (found_for) {
    Json sizes = Json::object();
    for (const auto& [name, size] : found_for->sizes) sizes[name] = size;
    json["found_for"] = {{"model", found_for->model}, {"sizes", std::move(sizes)}};
  }
  return dump_lines(json, 1);
}

}  // namespace mtfc
