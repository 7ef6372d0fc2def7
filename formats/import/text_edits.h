#pragma once
// Changes in a JSON text that keep everything else as it was written: line breaks, spaces, the order of keys.
//
//   TextEdits edits(text);
//   edits.replace(value, "4096");       // a value that parse_json(text, …) has found
//   const std::string changed = edits.apply();

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json/json_value.h"

namespace mtfc {

class TextEdits {
 public:
  /// `text` must be valid JSON and outlive this object.
  explicit TextEdits(std::string_view text);

  /// Puts `json` in the place of a number or string. The last replacement of a value counts.
  void replace(const JsonValue& value, std::string json);
  /// Adds members to an object whose last member is a number or string: `json` is what follows it, from its comma.
  /// Replacements of that member must come first.
  void append(const JsonValue& object, std::string json);
  /// Puts `json` in the place of a member of an object that another member follows, up to that one.
  void replace_before(const JsonMember& member, const JsonMember& next, std::string json);

  std::string apply() const;

 private:
  size_t offset(const JsonPlace& place) const;

  struct Edit {
    size_t end;
    std::string json;
  };
  std::string_view text_;
  std::vector<size_t> lines_;     // where each begins
  std::map<size_t, Edit> edits_;  // by their beginnings
};

}  // namespace mtfc
