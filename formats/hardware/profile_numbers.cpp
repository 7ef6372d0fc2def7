#include "formats/hardware/profile_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <variant>
#include <vector>

#include "core/cost/hardware_keys.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "formats/json/json_value.h"
#include "formats/json/ordered_json.h"

namespace mtfc {
namespace {

constexpr double kSmallSeconds = 1e-6, kSmallBytes = 1e8, kSmallShare = 0.01;

std::vector<std::string> path_parts(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

double small_number(const std::string& path) {
  return path.ends_with("_s") ? kSmallSeconds : path.ends_with("_bytes") ? kSmallBytes : kSmallShare;
}

// Keys that profiles may lack, at any level.
bool is_known_number(const std::string& name) {
  const auto has = [&]<typename Owner>(std::span<const HardwareKey<Owner>> keys) {
    return std::any_of(keys.begin(), keys.end(), [&](const HardwareKey<Owner>& key) {
      return key.name == name && std::holds_alternative<NumberField<Owner>>(key.field);
    });
  };
  return has(hardware_keys()) || has(rate_keys()) || has(link_keys());
}

// Copies a profile and changes what a path leads to.
class ProfileEditor {
 public:
  ProfileEditor(const std::string& path, double factor)
      : path_(path), parts_(path_parts(path)), factor_(factor), is_share_(path.starts_with("efficiency/")) {}

  Json edited(const JsonValue& value, size_t depth) {
    if (depth == parts_.size()) return scaled(value);
    if (value.kind != JsonKind::kObject) fail(value);
    Json object = Json::object();
    bool is_found = false;
    for (const JsonMember& member : value.members) {
      const bool is_next = member.key == parts_[depth];
      is_found = is_found || is_next;
      object[member.key] = is_next ? edited(member.value, depth + 1)
                           : depth + 1 == parts_.size() && member.key == "collectives"
                               ? of_collectives(member.value)
                               : copied(member.value);
    }
    if (!is_found && depth + 1 == parts_.size() && is_known_number(parts_[depth])) {
      object[parts_[depth]] = small_number(path_) * factor_;
      number_ = small_number(path_);
    } else if (!is_found) {
      fail(value);
    }
    return object;
  }
  double number() const { return number_; }

  static Json copied(const JsonValue& value) {
    switch (value.kind) {
      case JsonKind::kNull:
        return Json();
      case JsonKind::kBool:
        return value.flag;
      case JsonKind::kNumber:
        return value.integer() ? Json(*value.integer()) : Json(value.number());
      case JsonKind::kString:
        return value.text;
      case JsonKind::kArray:
        return json_list(value.items, copied);
      case JsonKind::kObject:
        break;
    }
    Json object = Json::object();
    for (const JsonMember& member : value.members) object[member.key] = copied(member.value);
    return object;
  }

 private:
  double times(double number) const { return is_share_ ? std::min(number * factor_, 1.0) : number * factor_; }

  // The rates of a link that differ by the kind of a collective change with those of the link.
  Json of_collectives(const JsonValue& collectives) {
    const double number = number_;
    Json object = Json::object();
    for (const JsonMember& kind : collectives.members) {
      Json rate = Json::object();
      for (const JsonMember& member : kind.value.members)
        rate[member.key] = member.key == parts_.back() ? scaled(member.value) : copied(member.value);
      object[kind.key] = std::move(rate);
    }
    number_ = number;
    return object;
  }

  Json scaled(const JsonValue& value) {
    if (value.kind == JsonKind::kNumber) {
      number_ = value.number() == 0 ? small_number(path_) : value.number();
      return times(number_);
    }
    number_ = 1;
    if (value.kind == JsonKind::kArray) return scaled_list(value);
    const JsonValue* shares = value.find("share");
    if (!shares || shares->kind != JsonKind::kArray) fail(value);
    Json table = Json::object();
    for (const JsonMember& member : value.members)
      table[member.key] = member.key == "share" ? scaled_list(member.value) : copied(member.value);
    return table;
  }

  // A curve, [[size, value], ...], gives its values; any other list, its numbers.
  Json scaled_list(const JsonValue& list) {
    Json all = Json::array();
    for (const JsonValue& item : list.items) {
      if (item.kind == JsonKind::kNumber)
        all.push_back(times(item.number()));
      else if (item.kind == JsonKind::kArray && item.items.size() == 2 &&
               item.items[1].kind == JsonKind::kNumber)
        all.push_back(Json::array({copied(item.items[0]), times(item.items[1].number())}));
      else
        fail(list);
    }
    return all;
  }

  [[noreturn]] void fail(const JsonValue& value) const {
    std::vector<std::string> keys;
    for (const JsonMember& member : value.members) keys.push_back(member.key);
    throw UserError(fmt::format("the profile has no number '{}'", path_),
                    keys.empty() ? "" : "there are " + nearest_listed(parts_.back(), keys, 12));
  }

  const std::string path_;
  const std::vector<std::string> parts_;
  const double factor_;
  const bool is_share_;
  double number_ = 1;
};

}  // namespace

double profile_number(std::string_view profile, const std::string& path) {
  ProfileEditor editor(path, 1);
  editor.edited(parse_json(profile, "profile"), 0);
  return editor.number();
}

std::string scaled_profile(std::string_view profile, const std::string& path, double factor) {
  return ProfileEditor(path, factor).edited(parse_json(profile, "profile"), 0).dump();
}

std::string documented_profile(std::string_view profile, const std::string& doc) {
  Json json = ProfileEditor::copied(parse_json(profile, "profile"));
  json["doc"] = doc;
  return dump_lines(json, 2);
}

}  // namespace mtfc
