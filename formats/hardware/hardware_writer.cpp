#include <fmt/format.h>

#include <cstdlib>

#include "formats/hardware/hardware_reader.h"
#include "formats/json/ordered_json.h"

namespace mtfc {
namespace {

double rounded(double value) {
  return std::strtod(fmt::format("{:.3e}", value).c_str(), nullptr);
}

Json curve_json(const Curve& curve) {
  if (curve.points().size() == 1) return rounded(curve.points().front().second);
  Json list = Json::array();
  for (const auto& [size, value] : curve.points()) list.push_back({rounded(size), rounded(value)});
  return list;
}

Json table_json(const ProductTable& table) {
  Json json = {{"m", table.m}, {"n", table.n}, {"k", table.k}, {"share", Json::array()}};
  for (const double share : table.shares) json["share"].push_back(rounded(share));
  return json;
}

Json rate_json(const Rate& rate) {
  return {{"latency_s", rounded(rate.latency_s)}, {"bytes_per_s", curve_json(rate.bytes_per_s)}};
}

Json link_json(const Link& link) {
  Json json = rate_json(link);
  if (!link.overlaps) json["overlaps"] = false;
  for (const auto& [kind, rate] : link.collectives) json["collectives"][kind] = rate_json(rate);
  return json;
}

}  // namespace

std::string hardware_json(const Hardware& hardware) {
  Json json = {{"name", hardware.name}};
  if (!hardware.doc.empty()) json["doc"] = hardware.doc;
  for (const auto& [dtype, rate] : hardware.flops) json["flops"][dtype] = rounded(rate);
  json["memory_bytes"] = rounded(hardware.memory_bytes);
  json["memory_bandwidth"] = curve_json(hardware.memory_bandwidth);
  if (hardware.write_bandwidth) json["write_bandwidth"] = curve_json(*hardware.write_bandwidth);
  if (hardware.overlap < 1) json["overlap"] = rounded(hardware.overlap);
  if (hardware.step_overhead_s > 0) json["step_overhead_s"] = rounded(hardware.step_overhead_s);
  for (const auto& [kernel, share] : hardware.efficiency) json["efficiency"][kernel] = curve_json(share);
  for (const auto& [kernel, table] : hardware.products) json["efficiency"][kernel] = table_json(table);
  json["axes"] = Json::object();
  for (const auto& [axis, link] : hardware.axes) json["axes"][axis] = link_json(link);
  if (hardware.topology != Topology::kTwoLevel) {
    json["topology"] = to_string(hardware.topology);
  } else {
    json["topology"] = {{"kind", "two_level"}, {"devices_per_node", hardware.devices_per_node}};
    if (hardware.inside) json["topology"]["inside"] = link_json(*hardware.inside);
  }
  return dump_lines(json, 2);
}

}  // namespace mtfc
