#pragma once
// The keys of a hardware profile: one row for each, which drives reader and writer (formats/hardware/) and schema
// (formats/reference/). Rows stand in the order in which files have the keys.
//
// A row whose field is a member needs nothing else than its use: the type of the member says how it is read,
// checked and written, and one that isn't required is written where it differs from its default. A row whose
// field is a HardwarePart has code of its own for it in reader, writer and schema.

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/cost/hardware.h"

namespace mtfc {

enum class NumberRange { kAboveZero, kNotNegative, kZeroToOne, kAtLeastOne };

template <typename Owner>
struct NumberField {
  double Owner::*member;
  NumberRange range;
  std::string_view unit;
};

/// A whole number of at least 1; 0 stands for one that is not stated.
template <typename Owner>
struct CountField {
  int64_t Owner::*member;
};

template <typename Owner>
struct CurveField {
  Curve Owner::*member;
  std::string_view unit;  // of its values
  double most = 0;        // the largest value that is allowed; 0: any
};

template <typename Owner>
struct OptionalCurveField {
  std::optional<Curve> Owner::*member;
  std::string_view unit;
};

/// Values with a form of their own.
enum class HardwarePart {
  kNote /* text that is not kept */,
  kBase /* the profile that has all other values */,
  kFactors /* of the base's values */,
  kFlops,
  kEfficiency,
  kAxes,
  kTopology,
  kCollectives,
  kSources
};

template <typename Owner>
struct HardwareKey {
  std::string_view name;
  bool required;
  std::variant<std::string Owner::*, bool Owner::*, NumberField<Owner>, CountField<Owner>, CurveField<Owner>,
               OptionalCurveField<Owner>, HardwarePart>
      field;
  std::string_view doc;  // for the schema; that of a text or a HardwarePart may be empty
};

std::span<const HardwareKey<Hardware>> hardware_keys();
/// The keys of a rate. A link has them too, followed by link_keys().
std::span<const HardwareKey<Rate>> rate_keys();
std::span<const HardwareKey<Link>> link_keys();

template <typename Owner>
void append_key_names(std::span<const HardwareKey<Owner>> keys, bool only_required,
                      std::vector<std::string>& names) {
  for (const HardwareKey<Owner>& key : keys)
    if (key.required || !only_required) names.emplace_back(key.name);
}

/// Topologies that a file names by a string; a two-level one is an object.
std::vector<std::string> plain_topologies();

}  // namespace mtfc
