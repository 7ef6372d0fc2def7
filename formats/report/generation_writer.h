#pragma once
// Writes the results of `mtfc generate` as JSON.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mtfc {

struct GeneratedSequence {
  int64_t beginning = 0;        // the number of its prompt or, in a model that translates, of its source
  std::vector<int64_t> prompt;  // as given; empty if none was
  std::vector<int64_t> tokens;  // that follow the prompt
  std::optional<std::string> text{};  // of both, if tokens are bytes
  std::optional<double> score{};      // of beam search
};

/// `{"model": "char_lm", "sequences": [{"beginning": 0, "prompt": [84], "tokens": [104, 101], "text": "The"}]}`, one
/// sequence a line.
std::string generation_json(const std::string& model, const std::vector<GeneratedSequence>& sequences);
std::string generation_schema();

}  // namespace mtfc
