#include "formats/layout/layout_writer.h"

#include "formats/json/layout_keys.h"

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
  json.update(layout_keys().json(layout));
  if (found_for) json["found_for"] = {{"model", found_for->model}, {"sizes", json_map(found_for->sizes)}};
  return dump_lines(json, 1);
}

}  // namespace mtfc
