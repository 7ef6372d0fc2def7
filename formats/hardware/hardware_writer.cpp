#include <fmt/format.h>

#include <cstdlib>

#include "core/cost/hardware_keys.h"
#include "formats/hardware/hardware_reader.h"
#include "formats/json/ordered_json.h"

namespace mtfc {
namespace {

enum class Digits { kFour, kAll };

double rounded(double value, Digits digits) {
  return digits == Digits::kAll ? value : std::strtod(fmt::format("{:.3e}", value).c_str(), nullptr);
}

Json curve_json(const Curve& curve, Digits digits) {
  if (curve.points().size() == 1) return rounded(curve.points().front().second, digits);
  Json list = Json::array();
  for (const auto& [size, value] : curve.points())
    list.push_back({rounded(size, digits), rounded(value, digits)});
  return list;
}

Json table_json(const ShareTable& table, const std::vector<std::string>& dims, Digits digits) {
  Json json;
  for (size_t d = 0; d < dims.size(); ++d)
    if (table.sizes[d] != std::vector<double>{1}) json[dims[d]] = table.sizes[d];
  json["share"] = Json::array();
  for (const double share : table.shares) json["share"].push_back(rounded(share, digits));
  for (size_t d = 0; d < table.factors.size(); ++d)
    if (table.factors[d] != Curve(1)) json["factors"][dims[d]] = curve_json(table.factors[d], digits);
  return json;
}

void write_part(HardwarePart part, const Rate& rate, Digits digits, Json& json);
void write_part(HardwarePart part, const Link& link, Digits digits, Json& json);
void write_part(HardwarePart part, const Hardware& hardware, Digits digits, Json& json);

// Sets a member of `json` by the type of the field; a HardwarePart goes to the overload of write_part for its
// owner.
template <typename Owner>
struct FieldWriter {
  const HardwareKey<Owner>& key;
  const Owner& owner;
  const Digits digits;
  Json& json;

  template <typename Value>
  bool is_left_out(Value Owner::*member) const {
    return !key.required && owner.*member == Owner{}.*member;
  }
  void set(Json value) const { json[std::string(key.name)] = std::move(value); }

  void operator()(std::string Owner::*member) const {
    if (!is_left_out(member)) set(owner.*member);
  }
  void operator()(bool Owner::*member) const {
    if (!is_left_out(member)) set(owner.*member);
  }
  void operator()(const NumberField<Owner>& field) const {
    if (!is_left_out(field.member)) set(rounded(owner.*field.member, digits));
  }
  void operator()(const CountField<Owner>& field) const {
    if (!is_left_out(field.member)) set(owner.*field.member);
  }
  void operator()(const CurveField<Owner>& field) const {
    if (!is_left_out(field.member)) set(curve_json(owner.*field.member, digits));
  }
  void operator()(const OptionalCurveField<Owner>& field) const {
    if (owner.*field.member) set(curve_json(*(owner.*field.member), digits));
  }
  void operator()(HardwarePart part) const { write_part(part, owner, digits, json); }
};

template <typename Owner>
void write_fields(std::span<const HardwareKey<Owner>> keys, const Owner& owner, Digits digits, Json& json) {
  for (const HardwareKey<Owner>& key : keys)
    std::visit(FieldWriter<Owner>{key, owner, digits, json}, key.field);
}

Json rate_json(const Rate& rate, Digits digits) {
  Json json;
  write_fields(rate_keys(), rate, digits, json);
  return json;
}

Json link_json(const Link& link, Digits digits) {
  Json json = rate_json(link, digits);
  write_fields(link_keys(), link, digits, json);
  return json;
}

void write_part(HardwarePart, const Rate&, Digits, Json&) {
  check_invariant(false, "a rate has no part with a form of its own");
}

void write_part(HardwarePart part, const Link& link, Digits digits, Json& json) {
  if (part != HardwarePart::kCollectives) return;
  for (const auto& [kind, rate] : link.collectives) json["collectives"][kind] = rate_json(rate, digits);
}

Json topology_json(const Hardware& hardware, Digits digits) {
  if (hardware.topology != Topology::kTwoLevel) return to_string(hardware.topology);
  if (!hardware.wider.empty()) {
    Json levels = Json::array();
    const auto add = [&](int64_t devices, const Link& link) {
      Json level = {{"devices", devices}};
      level.update(link_json(link, digits));
      levels.push_back(std::move(level));
    };
    add(hardware.devices_per_node, *hardware.inside);
    for (const Level& level : hardware.wider) add(level.devices, level.link);
    return {{"kind", "levels"}, {"levels", std::move(levels)}};
  }
  Json json = {{"kind", to_string(hardware.topology)}, {"devices_per_node", hardware.devices_per_node}};
  if (hardware.inside) json["inside"] = link_json(*hardware.inside, digits);
  return json;
}

void write_part(HardwarePart part, const Hardware& hardware, Digits digits, Json& json) {
  switch (part) {
    case HardwarePart::kFlops:
      for (const auto& [dtype, rate] : hardware.flops) json["flops"][dtype] = rounded(rate, digits);
      return;
    case HardwarePart::kEfficiency:
      for (const auto& [kernel, share] : hardware.efficiency)
        json["efficiency"][kernel] = curve_json(share, digits);
      for (const auto& [kernel, table] : hardware.tables)
        json["efficiency"][kernel] = table_json(table, table_dims(kernel), digits);
      return;
    case HardwarePart::kAxes:
      json["axes"] = Json::object();
      for (const auto& [axis, link] : hardware.axes) json["axes"][axis] = link_json(link, digits);
      return;
    case HardwarePart::kTopology:
      json["topology"] = topology_json(hardware, digits);
      return;
    case HardwarePart::kSources:
      for (const auto& [path, source] : hardware.sources) json["sources"][path] = source;
      return;
    case HardwarePart::kBase:  // all of its values are written, multiplied
    case HardwarePart::kFactors:
      return;
    case HardwarePart::kCollectives:
    case HardwarePart::kNote:
      break;
  }
  throw InternalError("a hardware profile has an unknown part");
}

std::string profile_json(const Hardware& hardware, Digits digits) {
  Json json;
  write_fields(hardware_keys(), hardware, digits, json);
  return dump_lines(json, 2);
}

}  // namespace

std::string hardware_json(const Hardware& hardware) {
  return profile_json(hardware, Digits::kFour);
}

std::string exact_hardware_json(const Hardware& hardware) {
  return profile_json(hardware, Digits::kAll);
}

}  // namespace mtfc
