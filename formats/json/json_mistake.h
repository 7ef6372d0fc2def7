#pragma once
// What is wrong with a text that is no JSON, in plain words: from what nlohmann::json says and the text at
// the place that it stopped at.

#include <string>
#include <string_view>

namespace mtfc {

struct JsonMistake {
  std::string_view said;       // by nlohmann::json
  std::string_view rest;       // of the text, from the token to blame
  char before = 0;             // the comma or colon just before that, or 0
  bool after_value = false;    // the whole value has ended already
  bool inside_string = false;  // set where the mistake is the last character read, inside a string
};

/// One sentence without a full stop.
std::string describe(JsonMistake& mistake);

/// Whether the text begins like a file that holds no text.
bool is_binary(std::string_view text);

}  // namespace mtfc
