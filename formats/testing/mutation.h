#pragma once
// For tests: makes texts with mistakes from good ones. The same seed makes the same mistakes.

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "formats/json/json_value.h"

namespace mtfc {

/// Words and values to put where they don't belong.
struct Vocabulary {
  std::vector<std::string> words;
  std::vector<JsonValue> values;
  std::map<std::string, std::vector<JsonValue>> by_key;  // values found under each key
  /// Adds the keys, strings and parts of a document.
  void learn(const JsonValue& document);
};

/// Numbers as text at which arithmetic goes wrong: about 0, 2^31, 2^32, 2^53, 2^63 and 2^64, and beyond doubles.
const std::vector<std::string>& boundary_numbers();

class Mutator {
 public:
  Mutator(uint64_t seed, const Vocabulary& vocabulary) : random_(seed), vocabulary_(vocabulary) {}

  /// `text` with one to four mistakes: in its structure if it is JSON, sometimes in its bytes.
  std::string mutated_json(const std::string& text);
  /// `bytes` with up to `most` of them flipped, removed, repeated, cut off or replaced.
  std::string mutated_bytes(std::string bytes, int most);

  /// A text that resembles an expression.
  std::string expression();

  /// A number in [0, count).
  size_t pick(size_t count) { return random_() % count; }
  bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
  template <typename T>
  const T& one_of(const std::vector<T>& list) {
    return list[pick(list.size())];
  }

 private:
  JsonValue* random_value(JsonValue& root);
  JsonValue any_value();
  JsonValue value_for(const std::string& key);
  JsonValue operation();
  const std::string& word();
  std::string any_text();
  void mutate(JsonValue& root);
  void mutate_list(JsonValue& list);
  void mutate_object(JsonValue& object);
  void mutate_scalar(JsonValue& value);

  std::mt19937_64 random_;
  const Vocabulary& vocabulary_;
  Vocabulary own_;  // the current document's words and values
};

}  // namespace mtfc
