#pragma once
// Describes in plain words why a text is not JSON, from the message of nlohmann::json and the text at which
// it stopped.

#include <string>
#include <string_view>

namespace mtfc {

struct JsonMistake {
  std::string_view said;       // nlohmann::json's message
  std::string_view rest;       // the text from the offending token on
  char before = 0;             // the comma or colon just before that, or 0
  bool after_value = false;    // the whole value has ended already
  bool inside_string = false;  // set if the mistake is the last character read, inside a string
};

/// Returns one sentence without a full stop.
std::string describe(JsonMistake& mistake);

/// Returns whether the text begins like a binary file.
bool is_binary(std::string_view text);

}  // namespace mtfc
