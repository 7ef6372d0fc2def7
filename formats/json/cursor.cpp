#include "formats/json/cursor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/diagnostics/suggest.h"

namespace mtfc {

void Cursor::error(std::string message, std::string hint) const {
  sink_->error(location(), std::move(message), std::move(hint));
}

void Cursor::expected(std::string_view what) const {
  error(fmt::format("expected {}, found {}", what, to_string(kind())));
}

std::optional<std::string> Cursor::string(std::string_view what) const {
  if (is(JsonKind::kString)) return value_->text;
  expected(what);
  return std::nullopt;
}

std::optional<bool> Cursor::flag() const {
  if (is(JsonKind::kBool)) return value_->flag;
  expected("true or false");
  return std::nullopt;
}

std::optional<int64_t> Cursor::integer() const {
  if (!is(JsonKind::kNumber)) {
    expected("a whole number");
    return std::nullopt;
  }
  const std::optional<int64_t> value = value_->integer();
  if (!value && value_->text.find_first_of(".eE") == std::string::npos)
    error(fmt::format("the number {} is too large", value_->text));
  else if (!value)
    error(fmt::format("expected a whole number, found {}", value_->text));
  return value;
}

std::vector<Cursor> Cursor::items(std::string_view what) const {
  std::vector<Cursor> list;
  if (!is(JsonKind::kArray)) {
    expected(what);
    return list;
  }
  list.reserve(value_->items.size());
  for (size_t i = 0; i < value_->items.size(); ++i) list.push_back(item(i));
  return list;
}

Cursor Cursor::item(size_t index) const {
  return {value_->items.at(index), *file_, *sink_, pointer_ + "/" + std::to_string(index)};
}

std::vector<NamedCursor> Cursor::members(std::string_view what) const {
  std::vector<NamedCursor> list;
  if (!is(JsonKind::kObject)) {
    expected(what);
    return list;
  }
  list.reserve(value_->members.size());
  for (const JsonMember& member : value_->members) {
    std::string pointer = child_pointer(pointer_, member.key);
    Location at{*file_, member.place.line, member.place.column, pointer};
    list.push_back({member.key, std::move(at), Cursor(member.value, *file_, *sink_, std::move(pointer))});
  }
  return list;
}

std::optional<Cursor> Cursor::find(std::string_view key) const {
  if (!is(JsonKind::kObject)) return std::nullopt;
  const JsonValue* found = value_->find(key);
  if (!found) return std::nullopt;
  return Cursor(*found, *file_, *sink_, child_pointer(pointer_, key));
}

std::optional<Cursor> Cursor::require(std::string_view key) const {
  std::optional<Cursor> found = find(key);
  if (!found && is(JsonKind::kObject)) error(fmt::format("'{}' is missing", key));
  return found;
}

bool Cursor::check_keys(const std::vector<std::string>& known,
                        const std::vector<std::string>& unsupported) const {
  if (!is(JsonKind::kObject)) {
    expected("an object");
    return false;
  }
  const auto has = [](const std::vector<std::string>& list, const std::string& key) {
    return std::find(list.begin(), list.end(), key) != list.end();
  };
  for (const JsonMember& member : value_->members) {
    if (has(known, member.key)) continue;
    if (pointer_.empty() && member.key == "$schema") {
      find("$schema")->string();
      continue;
    }
    const Location at{*file_, member.place.line, member.place.column, child_pointer(pointer_, member.key)};
    if (has(unsupported, member.key))
      sink_->error(at, unsupported_message(fmt::format("'{}'", member.key)));
    else
      sink_->error(at, fmt::format("unknown key '{}'", member.key), keys_hint(member.key, known));
  }
  if (const auto doc = find("doc"); doc && has(known, "doc")) doc->string();
  return true;
}

std::string keys_hint(const std::string& key, const std::vector<std::string>& known) {
  const std::string near = did_you_mean(key, known);
  return near.empty() ? fmt::format("keys here are {}", fmt::join(known, ", ")) : near;
}

std::string unsupported_message(std::string_view what) {
  return fmt::format("{} is not supported by this version of mtfc", what);
}

}  // namespace mtfc
