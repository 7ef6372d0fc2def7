#pragma once
// The text of a JSON tree (formats/json/json_value.h), with numbers as they were written.

#include <string>

#include "formats/json/json_value.h"

namespace mtfc {

/// The value on one line, or with `indent` above 0 each member of an object and each item of a list on a line of its
/// own, indented by so many blanks more than what it belongs to.
std::string json_text(const JsonValue& value, int indent = 0);

/// Values for trees that are written.
JsonValue json_number(std::string text);
JsonValue json_string(std::string text);
JsonValue json_flag(bool flag);

}  // namespace mtfc
