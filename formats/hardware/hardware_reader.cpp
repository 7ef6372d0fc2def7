#include "formats/hardware/hardware_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/cost/hardware_keys.h"
#include "core/diagnostics/suggest.h"
#include "core/graph/op_registry.h"
#include "core/program/program.h"
#include "formats/hardware/profile_numbers.h"
#include "formats/hardware/profile_values.h"
#include "formats/json/cursor.h"

namespace mtfc {
namespace {

std::optional<double> number(const Cursor& at) {
  if (at.is(JsonKind::kNumber)) return at.value().number();
  at.expected("a number");
  return std::nullopt;
}

std::optional<double> number_above_zero(const Cursor& at) {
  const std::optional<double> value = number(at);
  if (!value || *value > 0) return value;
  at.error(fmt::format("expected a number above 0, found {}", at.value().text));
  return std::nullopt;
}

double ranged_number(const Cursor& at, NumberRange range) {
  if (range == NumberRange::kAboveZero) return number_above_zero(at).value_or(1);
  const std::optional<double> value = number(at);
  if (range == NumberRange::kAtLeastOne) {
    if (value && *value < 1)
      at.error(fmt::format("expected a number of at least 1, found {}", at.value().text));
    return value.value_or(1);
  }
  if (value && *value < 0)
    at.error(fmt::format("expected a number of at least 0, found {}", at.value().text));
  if (value && *value > 1 && range == NumberRange::kZeroToOne)
    at.error(fmt::format("expected at most 1, found {}", at.value().text));
  return value.value_or(0);
}

int64_t count_of(const Cursor& at) {
  const std::optional<int64_t> count = at.integer();
  if (count && *count < 1) at.error(fmt::format("expected at least 1, found {}", *count));
  return count.value_or(1);
}

// A number, or a list of [size, value] pairs in ascending order of sizes.
Curve curve(const Cursor& at, double most = 0) {
  const auto value = [&](const Cursor& place) {
    const double found = number_above_zero(place).value_or(1);
    if (most > 0 && found > most)
      place.error(fmt::format("expected at most {}, found {}", most, place.value().text));
    return found;
  };
  if (!at.is(JsonKind::kArray)) {
    if (at.is(JsonKind::kNumber)) return value(at);
    at.expected("a number, or a list of pairs [size, value]");
    return 1;
  }
  std::vector<std::pair<double, double>> points;
  for (const Cursor& pair : at.items()) {
    if (!pair.is(JsonKind::kArray) || pair.value().items.size() != 2) {
      pair.error("a point is a list of a size and a value");
      continue;
    }
    const double size = number_above_zero(pair.item(0)).value_or(1);
    if (!points.empty() && size <= points.back().first)
      pair.item(0).error(fmt::format("the sizes must ascend, but {} follows {}", size, points.back().first));
    points.emplace_back(size, value(pair.item(1)));
  }
  if (at.value().items.empty()) at.error("the list has no points");
  return points.empty() ? Curve(1) : Curve(std::move(points));
}

void read_part(const Cursor& at, HardwarePart part, Rate& rate);
void read_part(const Cursor& at, HardwarePart part, Link& link);
void read_part(const Cursor& at, HardwarePart part, Hardware& hardware);

// An object that the profile states alone must have the required keys; one whose other values are those of the base
// need not.
enum class Extent { kWhole, kChanges };

// By the type of the member; a HardwarePart goes to the overload of read_part for its owner.
template <typename Owner>
struct FieldReader {
  const Cursor& at;
  Owner& owner;

  void operator()(std::string Owner::*member) const { owner.*member = at.string().value_or(""); }
  void operator()(bool Owner::*member) const { owner.*member = at.flag().value_or(owner.*member); }
  void operator()(const NumberField<Owner>& field) const {
    owner.*field.member = ranged_number(at, field.range);
  }
  void operator()(const CountField<Owner>& field) const { owner.*field.member = count_of(at); }
  void operator()(const CurveField<Owner>& field) const { owner.*field.member = curve(at, field.most); }
  void operator()(const OptionalCurveField<Owner>& field) const { owner.*field.member = curve(at); }
  void operator()(HardwarePart part) const { read_part(at, part, owner); }
};

template <typename Owner>
void read_fields(const Cursor& at, std::span<const HardwareKey<Owner>> keys, Extent extent, Owner& owner) {
  for (const HardwareKey<Owner>& key : keys) {
    const bool is_needed = key.required && extent == Extent::kWhole;
    if (const auto value = is_needed ? at.require(key.name) : at.find(key.name))
      std::visit(FieldReader<Owner>{*value, owner}, key.field);
  }
}

std::vector<std::string> names_of_rate() {
  std::vector<std::string> names;
  append_key_names(rate_keys(), false, names);
  return names;
}

// Changes the link, or makes one.
void read_link(const Cursor& at, Extent extent, Link& link, std::vector<std::string> further_keys = {}) {
  std::vector<std::string> names = std::move(further_keys);
  append_key_names(rate_keys(), false, names);
  append_key_names(link_keys(), false, names);
  if (!at.check_keys(names)) return;
  // The rates of single kinds are those of another link if the rate of all is.
  if (at.find("bytes_per_s")) link.collectives.clear();
  read_fields<Rate>(at, rate_keys(), extent, link);
  read_fields(at, link_keys(), extent, link);
}

void read_part(const Cursor&, HardwarePart, Rate&) {
  check_invariant(false, "a rate has no part with a form of its own");
}

void read_part(const Cursor& at, HardwarePart part, Link& link) {
  if (part == HardwarePart::kNote) {
    at.string();
    return;
  }
  check_invariant(part == HardwarePart::kCollectives, "a link has an unknown part");
  if (!at.check_keys(enum_names<CollectiveKind>())) return;
  for (const NamedCursor& kind : at.members()) {
    if (!kind.value.check_keys(names_of_rate())) continue;
    const auto [rate, is_new] = link.collectives.try_emplace(kind.key);
    read_fields(kind.value, rate_keys(), is_new ? Extent::kWhole : Extent::kChanges, rate->second);
  }
}

void read_flops(const Cursor& at, Hardware& hardware) {
  if (!at.check_keys(model_dtypes())) return;
  for (const NamedCursor& dtype : at.members())
    hardware.flops[dtype.key] = number_above_zero(dtype.value).value_or(1);
  if (hardware.flops.empty())
    at.error("no dtype is listed", "f32 is the one that models compute in by default");
}

double share_of(const Cursor& at) {
  const double value = number_above_zero(at).value_or(1);
  if (value > 1) at.error(fmt::format("expected at most 1, found {}", at.value().text));
  return value;
}

// The sizes of a dimension of a table. If it is left out, it makes no difference.
std::vector<double> ascending_sizes(const Cursor& at, const std::string& key) {
  std::vector<double> sizes;
  const auto list = at.find(key);
  if (!list) return {1};
  for (const Cursor& item : list->items("a list of sizes")) {
    const double size = number_above_zero(item).value_or(1);
    if (!sizes.empty() && size <= sizes.back())
      item.error(fmt::format("the sizes must ascend, but {} follows {}", size, sizes.back()));
    sizes.push_back(size);
  }
  if (list->is(JsonKind::kArray) && sizes.empty()) list->error("the list has no sizes");
  return sizes;
}

// {"m": [16, 256], "n": [16, 256], "k": [64], "share": [0.1, 0.5, 0.5, 0.9]}
ShareTable share_table(const Cursor& at, const std::vector<std::string>& dims) {
  ShareTable table;
  std::vector<std::string> keys = dims;
  keys.emplace_back("share");
  keys.emplace_back("factors");
  if (!at.check_keys(keys)) return table;
  if (const auto factors = at.find("factors"); factors && factors->check_keys(dims)) {
    table.factors.assign(dims.size(), Curve(1));
    for (size_t d = 0; d < dims.size(); ++d)
      if (const auto factor = factors->find(dims[d])) table.factors[d] = curve(*factor);
    if (factors->value().members.empty()) table.factors.clear();
  }
  std::vector<size_t> counts;
  size_t wanted = 1;
  for (const std::string& dim : dims) {
    table.sizes.push_back(ascending_sizes(at, dim));
    counts.push_back(table.sizes.back().size());
    wanted *= counts.back();
  }
  const auto shares = at.require("share");
  if (!shares) return table;
  for (const Cursor& item : shares->items("a list of shares")) table.shares.push_back(share_of(item));
  if (table.shares.size() != wanted)
    shares->error(fmt::format("expected a share for each of {} sizes, {} in all, found {}",
                              fmt::join(counts, " x "), wanted, table.shares.size()),
                  fmt::format("those of all sizes of {} for the first of {} come first", dims.back(),
                              fmt::join(dims.begin(), dims.end() - 1, " and ")));
  return table;
}

void read_efficiency(const Cursor& at, Hardware& hardware) {
  std::vector<std::string> known = kernel_classes();
  for (const OpDef* op : all_ops()) known.emplace_back(op->signature.name);
  for (const NamedCursor& kernel : at.members("an object {class of kernels: share}")) {
    if (std::find(known.begin(), known.end(), kernel.key) == known.end()) {
      const std::string near = did_you_mean(kernel.key, known);
      at.sink().error(kernel.key_location,
                      fmt::format("'{}' is neither an operation nor a class of kernels", kernel.key),
                      near.empty() ? fmt::format("classes are {}", fmt::join(kernel_classes(), ", ")) : near);
    }
    hardware.tables.erase(kernel.key);
    hardware.efficiency.erase(kernel.key);
    const std::vector<std::string> dims = table_dims(kernel.key);
    if (kernel.value.is(JsonKind::kObject) && !dims.empty())
      hardware.tables[kernel.key] = share_table(kernel.value, dims);
    else
      hardware.efficiency[kernel.key] = curve(kernel.value, 1);
  }
}

void require_kind(const Cursor& at, const std::string& expected) {
  if (const auto kind = at.require("kind"))
    if (const auto name = kind->string(); name && *name != expected)
      kind->error(fmt::format("expected '{}', found '{}'", expected, *name), "other topologies are a string");
}

// {"kind": "levels", "levels": [{"devices": 8, "latency_s": ...}, {"devices": 64, ...}]}
void read_levels(const Cursor& at, Hardware& hardware) {
  if (!at.check_keys({"kind", "levels"})) return;
  require_kind(at, "levels");
  hardware.inside.reset();
  int64_t devices = 1;
  for (const Cursor& item : at.find("levels")->items("a list of levels")) {
    Link link;
    read_link(item, Extent::kWhole, link, {"devices"});
    const auto count = item.require("devices");
    const int64_t inner = std::exchange(devices, count ? count_of(*count) : devices + 1);
    if (count && devices <= inner)
      count->error(fmt::format("each level must have more devices than the one before, but {} follows {}",
                               devices, inner));
    if (hardware.inside) {
      hardware.wider.push_back({devices, link});
      continue;
    }
    hardware.devices_per_node = devices;
    hardware.inside = link;
  }
  if (!hardware.inside)
    at.find("levels")->error("the list has no levels", "the first is that of the devices of a node");
}

void read_topology(const Cursor& at, Hardware& hardware) {
  const bool has_nodes = hardware.topology == Topology::kTwoLevel;
  hardware.wider.clear();
  if (at.is(JsonKind::kObject)) {
    hardware.topology = Topology::kTwoLevel;
    if (at.find("levels")) return read_levels(at, hardware);
    if (!at.check_keys({"kind", "devices_per_node", "inside"})) return;
    require_kind(at, "two_level");
    if (const auto count = has_nodes ? at.find("devices_per_node") : at.require("devices_per_node"))
      hardware.devices_per_node = count_of(*count);
    if (const auto inside = at.find("inside")) {
      const Extent extent = hardware.inside ? Extent::kChanges : Extent::kWhole;
      if (!hardware.inside) hardware.inside.emplace();
      read_link(*inside, extent, *hardware.inside);
    }
    return;
  }
  hardware.devices_per_node = 1;
  hardware.inside.reset();
  const auto name = at.string("a topology");
  if (!name) return;
  const std::vector<std::string> names = plain_topologies();
  if (std::find(names.begin(), names.end(), *name) != names.end()) {
    hardware.topology = *value_named<Topology>(*name);
    return;
  }
  const std::string near = did_you_mean(*name, names);
  at.error(fmt::format("unknown topology '{}'", *name),
           !near.empty() ? near : R"(it is fully_connected, ring, torus, or {"kind": "two_level", ...})");
}

void read_axes(const Cursor& at, Hardware& hardware) {
  for (const NamedCursor& axis : at.members("an object {axis: link}")) {
    const auto [link, is_new] = hardware.axes.try_emplace(axis.key);
    read_link(axis.value, is_new ? Extent::kWhole : Extent::kChanges, link->second);
  }
}

void read_part(const Cursor& at, HardwarePart part, Hardware& hardware) {
  switch (part) {
    case HardwarePart::kFlops:
      return read_flops(at, hardware);
    case HardwarePart::kEfficiency:
      return read_efficiency(at, hardware);
    case HardwarePart::kAxes:
      return read_axes(at, hardware);
    case HardwarePart::kTopology:
      return read_topology(at, hardware);
    case HardwarePart::kSources:
      for (const NamedCursor& source : at.members("an object {path of a value: its origin}"))
        hardware.sources[source.key] = source.value.string().value_or("");
      return;
    case HardwarePart::kBase:  // ProfileReader reads it before all else
      return;
    case HardwarePart::kFactors:  // likewise
      return;
    case HardwarePart::kCollectives:
    case HardwarePart::kNote:
      break;
  }
  throw InternalError("a hardware profile has an unknown part");
}

// The paths of sources are those of values of the file, or of objects with such values.
void check_sources(const Cursor& root, const Hardware& hardware) {
  const auto sources = root.find("sources");
  if (!sources) return;
  std::vector<std::string> known;
  for (const ProfileValue& value : profile_values(hardware))
    for (size_t end = value.path.find('/');; end = value.path.find('/', end + 1)) {
      known.push_back(value.path.substr(0, end));
      if (end == std::string::npos) break;
    }
  for (const NamedCursor& source : sources->members()) {
    if (std::find(known.begin(), known.end(), source.key) != known.end()) continue;
    const std::string near = did_you_mean(source.key, known);
    root.sink().error(
        source.key_location, fmt::format("'{}' is the path of no value of the profile", source.key),
        near.empty() ? "a path is as in flops/bf16, efficiency/einsum or axes/*/bytes_per_s" : near);
  }
}

// True if the file has a value at the path, such as "topology/levels/0/devices".
bool states(const JsonValue& value, std::string_view path) {
  const size_t end = std::min(path.find('/'), path.size());
  const std::string part(path.substr(0, end));
  const JsonValue* next = value.kind == JsonKind::kObject ? value.find(part) : nullptr;
  if (!next) return false;
  if (end == path.size() || next->kind != JsonKind::kObject) return true;
  return states(*next, path.substr(end + 1));
}

// By path.
using Factors = std::map<std::string, double>;

// The factors of values of the base. One that this file states as well has no factor.
Factors read_factors(const Cursor& root, const Hardware& base) {
  Factors factors;
  const auto at = root.find("factors");
  if (!at) return factors;
  std::vector<std::string> known;
  for (const ProfileValue& value : profile_values(base)) known.push_back(value.path);
  for (const NamedCursor& factor : at->members("an object {path of a value of the base: factor}")) {
    factors[factor.key] = number_above_zero(factor.value).value_or(1);
    if (std::find(known.begin(), known.end(), factor.key) == known.end()) {
      const std::string near = did_you_mean(factor.key, known);
      root.sink().error(factor.key_location,
                        fmt::format("'{}' is the path of no value of the base", factor.key),
                        near.empty() ? "a path is as in efficiency/einsum or axes/*/bytes_per_s" : near);
    } else if (states(root.value(), factor.key)) {
      factor.value.error("the profile states this value itself", "a factor is for a value of the base");
    }
  }
  return factors;
}

Hardware multiplied(const Hardware& base, const Factors& factors, const std::string& file) {
  if (factors.empty()) return base;
  std::string text = exact_hardware_json(base);
  for (const auto& [path, factor] : factors) text = scaled_profile(text, path, factor);
  return read_hardware(text, file);
}

// The factor of a value. That of a rate of a link is also that of its collectives.
Factors::const_iterator factor_of(const Factors& factors, const std::string& path) {
  constexpr std::string_view kKinds = "/collectives/";
  const size_t kinds = path.rfind(kKinds);
  if (kinds == std::string::npos || factors.contains(path)) return factors.find(path);
  return factors.find(path.substr(0, kinds) + path.substr(path.find('/', kinds + kKinds.size())));
}

// Gives each value that is as in the base the source that it has there. Single paths name them, since a shorter one of
// the base would cover values of this file too. The source of a multiplied value says what is multiplied.
void inherit_sources(const JsonValue& json, const Hardware& base, const Factors& factors,
                     Hardware& hardware) {
  std::map<std::string, std::string> own;
  for (const ProfileValue& value : profile_values(hardware)) own[value.path] = value.source;
  for (const ProfileValue& value : profile_values(base)) {
    const auto at = own.find(value.path);
    if (at == own.end() || states(json, value.path)) continue;
    if (const auto factor = factor_of(factors, value.path); factor != factors.end())
      hardware.sources[value.path] =
          fmt::format("{}; times {:.4g}, {}", value.source.empty() ? "no source" : value.source,
                      factor->second, own[factor->first].empty() ? "no source" : own[factor->first]);
    else if (!value.is_default && !value.source.empty())
      hardware.sources.try_emplace(value.path, value.source);
  }
}

// Reads files and what they start from.
class ProfileReader {
 public:
  explicit ProfileReader(const FindProfile& find) : find_(find) {}

  Hardware read(std::string_view text, const std::string& file) {
    DiagnosticSink sink;
    std::vector<Diagnostic> none;
    const JsonValue json = parse_json(text, file);
    const Cursor root(json, file, sink);
    Hardware hardware;
    if (root.find("mtfc") || root.find("rules") || root.find("mtfc_program"))
      root.error("this is not a hardware profile", "`mtfc schema hardware` describes one");
    else
      hardware = read_profile(root);
    sink.finish(none);
    return hardware;
  }

 private:
  Hardware read_profile(const Cursor& root) {
    std::vector<std::string> names;
    append_key_names(hardware_keys(), false, names);
    if (!root.check_keys(names)) return {};
    const std::optional<Hardware> base = read_base(root);
    if (root.find("base") && !base) return {};
    if (const auto factors = root.find("factors"); factors && !base)
      factors->error("factors multiply the values of a base, and the profile has none", "\"base\" names one");
    const Factors factors = base ? read_factors(root, *base) : Factors();
    if (root.sink().failed()) return {};
    Hardware hardware = base ? multiplied(*base, factors, root.file()) : Hardware();
    hardware.name = hardware.doc = "";
    hardware.sources.clear();
    if (base) root.require("name");
    read_fields(root, hardware_keys(), base ? Extent::kChanges : Extent::kWhole, hardware);
    if (root.sink().failed()) return hardware;
    check_sources(root, hardware);
    if (base) inherit_sources(root.value(), *base, factors, hardware);
    if (hardware.reserved_bytes > 0 && hardware.reserved_bytes >= hardware.memory_bytes)
      root.find("reserved_bytes")
          .value_or(root)
          .error("all memory of a device is reserved", "\"memory_bytes\" has what programs use as well");
    return hardware;
  }

  // nullopt if there is none, or, with an error, if it can't be had.
  std::optional<Hardware> read_base(const Cursor& root) {
    const auto at = root.find("base");
    const auto name = at ? at->string("the name of a profile") : std::nullopt;
    if (!name) return std::nullopt;
    files_.push_back(root.file());
    ProfileFile found;
    try {
      found = find_(*name, root.file());
    } catch (const UserError& error) {
      at->error(error.diagnostics().front().message, error.diagnostics().front().hint);
      return std::nullopt;
    }
    if (const auto open = std::find(files_.begin(), files_.end(), found.file); open != files_.end()) {
      at->error("the profile starts from itself",
                open + 1 == files_.end()
                    ? ""
                    : fmt::format("by way of {}", fmt::join(open + 1, files_.end(), ", ")));
      return std::nullopt;
    }
    return read(found.text, found.file);
  }

  const FindProfile& find_;
  std::vector<std::string> files_;  // those that are being read
};

}  // namespace

Hardware read_hardware(std::string_view text, const std::string& file, const FindProfile& find) {
  return ProfileReader(find).read(text, file);
}

ProfileFile no_profile(const std::string& name, const std::string&) {
  throw UserError(fmt::format("there is no hardware profile '{}'", name));
}

}  // namespace mtfc
