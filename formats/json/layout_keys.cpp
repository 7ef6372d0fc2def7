#include "formats/json/layout_keys.h"

#include "core/tensors/layout.h"

namespace mtfc {

using namespace schema_parts;

const OutputObject<Layout>& split_keys() {
  static const OutputObject<Layout> kKeys = {
      {"mesh", reference("mesh"), [](const Layout& layout) { return json_of(layout.mesh); }},
      {"devices", whole(), [](const Layout& layout) { return layout.mesh.devices(); }},
      {"layout", reference("splits"), [](const Layout& layout) { return json_of(layout); }}};
  return kKeys;
}

const OutputObject<Layout>& layout_keys() {
  static const OutputObject<Layout> kKeys = {
      {"shardings", map_schema(reference("splits"), "annotations by tensor or pattern"),
       [](const Layout& layout) { return unless_empty(annotations_json(layout)); }},
      {"between",
       list_of({{"type", "array"},
                {"prefixItems", {{{"type", "string"}}, reference("axes")}},
                {"minItems", 2},
                {"maxItems", 2}},
               "rules between parts"),
       [](const Layout& layout) { return unless_empty(between_json(layout)); }},
      {"propagate", flag(), [](const Layout& layout) { return unless_empty(layout.propagate); }},
      {"shard_state_over", reference("axes"),
       [](const Layout& layout) { return unless_empty(json_of(layout.state.axes, layout.mesh)); }},
      {"shard_gradients", flag(), [](const Layout& layout) { return when(!layout.state.gradients, false); }},
      {"shard_variables", flag(), [](const Layout& layout) { return unless_empty(layout.state.variables); }},
      {"regather", texts(),
       [](const Layout& layout) {
         return unless_empty(json_list(layout.state.regather, &StateSharding::Pattern::text));
       }},
      {"ring", map_schema({{"type", "boolean"}}, "products that run in turns, or don't"),
       [](const Layout& layout) {
         Json turns = Json::object();
         for (const RingRule& rule : layout.rings) turns[rule.pattern] = rule.turns;
         return unless_empty(turns);
       }},
      {"device_order", list_of(whole(), "the rank at each position of the mesh"),
       [](const Layout& layout) { return unless_empty(layout.mesh.device_order()); }}};
  return kKeys;
}

}  // namespace mtfc
