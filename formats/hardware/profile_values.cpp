#include "formats/hardware/profile_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/cost/hardware_keys.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr std::string_view kShare = "share of ", kShareOfPeak = "share of the peak";

// 3.12e14 and FLOP/s: `312 TFLOP/s`.
std::string scaled(double value, std::string_view unit) {
  constexpr std::array<const char*, 9> kPrefixes = {"p", "n", "u", "m", "", "k", "M", "G", "T"};
  constexpr int kNone = 4;
  const int power = value > 0 ? static_cast<int>(std::floor(std::log10(value * (1 + 1e-12)) / 3)) : 0;
  const int last = static_cast<int>(kPrefixes.size()) - 1;
  const int index = std::clamp(kNone + power, 0, last);
  const std::string text = fmt::format("{:.4g} {}", value * std::pow(1000.0, kNone - index),
                                       kPrefixes.at(static_cast<size_t>(index))) +
                           std::string(unit);
  return text.ends_with(' ') ? text.substr(0, text.size() - 1) : text;
}

std::string quantity(double value, std::string_view unit) {
  if (unit == "seconds") return scaled(value, "s");
  if (unit == "bytes") return scaled(value, "B");
  if (unit == "bytes per second") return scaled(value, "B/s");
  if (unit == "operations per second") return scaled(value, "FLOP/s");
  if (unit.starts_with(kShare)) return fmt::format("{:.4g} %", 100 * value);
  return fmt::format("{:.4g}", value);
}

std::string range(double least, double most, std::string_view unit) {
  return least == most ? quantity(most, unit)
                       : fmt::format("{} to {}", quantity(least, unit), quantity(most, unit));
}

std::string curve_text(const Curve& curve, std::string_view unit) {
  const auto& points = curve.points();
  if (points.size() == 1) return quantity(points[0].second, unit);
  double least = curve.most();
  for (const auto& [size, value] : points) least = std::min(least, value);
  return fmt::format(
      "{} over sizes {} ({})", range(least, curve.most(), unit),
      fmt::format("{} to {}", scaled(points.front().first, ""), scaled(points.back().first, "")),
      counted(static_cast<int64_t>(points.size()), "point"));
}

std::string table_text(const ShareTable& table, const std::vector<std::string>& dims) {
  std::vector<std::string> sizes;
  for (size_t d = 0; d < dims.size(); ++d)
    if (table.sizes[d] != std::vector<double>{1})
      sizes.push_back(dims[d] + " " + range(table.sizes[d].front(), table.sizes[d].back(), ""));
  return fmt::format(
      "{} over {} ({})",
      range(*std::min_element(table.shares.begin(), table.shares.end()), table.most(), kShareOfPeak),
      fmt::join(sizes, ", "), counted(static_cast<int64_t>(table.shares.size()), "share"));
}

class Lister {
 public:
  explicit Lister(const Hardware& hardware) : hardware_(hardware) {}

  std::vector<ProfileValue> list() {
    add_fields<Hardware>(hardware_keys(), hardware_, "");
    return std::move(found_);
  }

 private:
  // The source of the longest path that covers this one.
  std::string source_of(std::string path) const {
    for (;;) {
      if (const auto at = hardware_.sources.find(path); at != hardware_.sources.end()) return at->second;
      const size_t end = path.rfind('/');
      if (end == std::string::npos) return "";
      path.resize(end);
    }
  }

  void add(const std::string& path, std::string text, bool is_default = false) {
    found_.push_back({path, std::move(text), source_of(path), is_default});
  }

  template <typename Owner>
  struct Field {
    Lister& lister;
    const HardwareKey<Owner>& key;
    const Owner& owner;
    std::string path;

    template <typename Value>
    bool is_default(Value Owner::*member) const {
      return !key.required && owner.*member == Owner{}.*member;
    }
    void operator()(std::string Owner::*) const {}
    void operator()(bool Owner::*member) const {
      lister.add(path, owner.*member ? "yes" : "no", is_default(member));
    }
    void operator()(const NumberField<Owner>& field) const {
      lister.add(path, quantity(owner.*field.member, field.unit), is_default(field.member));
    }
    void operator()(const CountField<Owner>& field) const {
      lister.add(path, grouped(owner.*field.member), is_default(field.member));
    }
    void operator()(const CurveField<Owner>& field) const {
      lister.add(path, curve_text(owner.*field.member, field.unit), is_default(field.member));
    }
    void operator()(const OptionalCurveField<Owner>& field) const {
      if (const std::optional<Curve>& curve = owner.*field.member)
        lister.add(path, curve_text(*curve, field.unit));
    }
    void operator()(HardwarePart part) const { lister.add_part(part, owner, path); }
  };

  template <typename Owner>
  void add_fields(std::span<const HardwareKey<Owner>> keys, const Owner& owner, const std::string& prefix) {
    for (const HardwareKey<Owner>& key : keys)
      std::visit(Field<Owner>{*this, key, owner, prefix + std::string(key.name)}, key.field);
  }

  void add_link(const Link& link, const std::string& path) {
    add_fields<Rate>(rate_keys(), link, path + "/");
    add_fields<Link>(link_keys(), link, path + "/");
  }

  void add_part(HardwarePart, const Rate&, const std::string&) {}
  void add_part(HardwarePart part, const Link& link, const std::string& path) {
    if (part != HardwarePart::kCollectives) return;
    for (const auto& [kind, rate] : link.collectives)
      add_fields<Rate>(rate_keys(), rate, fmt::format("{}/{}/", path, kind));
  }
  void add_part(HardwarePart part, const Hardware& hardware, const std::string& path) {
    if (part == HardwarePart::kFlops)
      for (const auto& [dtype, rate] : hardware.flops)
        add(path + "/" + dtype, quantity(rate, "operations per second"));
    if (part == HardwarePart::kEfficiency) {
      for (const auto& [kernel, share] : hardware.efficiency)
        add(path + "/" + kernel, curve_text(share, kShareOfPeak));
      for (const auto& [kernel, table] : hardware.tables)
        add(path + "/" + kernel, table_text(table, table_dims(kernel)));
    }
    if (part == HardwarePart::kAxes)
      for (const auto& [axis, link] : hardware.axes) add_link(link, path + "/" + axis);
    if (part == HardwarePart::kTopology) add_topology(hardware, path);
  }

  void add_topology(const Hardware& hardware, const std::string& path) {
    if (hardware.topology != Topology::kTwoLevel) {
      add(path, to_string(hardware.topology), hardware.topology == Topology::kFullyConnected);
      return;
    }
    if (!hardware.wider.empty()) {
      const std::string levels = path + "/levels/";
      add(levels + "0/devices", grouped(hardware.devices_per_node));
      add_link(*hardware.inside, levels + "0");
      for (size_t i = 0; i < hardware.wider.size(); ++i) {
        const std::string level = levels + std::to_string(i + 1);
        add(level + "/devices", grouped(hardware.wider[i].devices));
        add_link(hardware.wider[i].link, level);
      }
      return;
    }
    add(path + "/devices_per_node", grouped(hardware.devices_per_node));
    if (hardware.inside) add_link(*hardware.inside, path + "/inside");
  }

  const Hardware& hardware_;
  std::vector<ProfileValue> found_;
};

}  // namespace

std::vector<ProfileValue> profile_values(const Hardware& hardware) {
  return Lister(hardware).list();
}

}  // namespace mtfc
