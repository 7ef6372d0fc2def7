#include "core/tensors/name_pattern.h"

#include <vector>

namespace mtfc {

bool is_name_pattern(std::string_view text) {
  return text.find('*') != std::string_view::npos;
}

bool matches_name(std::string_view pattern, std::string_view name) {
  // reached[i]: the part of the pattern that has been read matches the first i characters of the name.
  std::vector<char> reached(name.size() + 1, 0);
  reached[0] = 1;
  for (size_t p = 0; p < pattern.size(); ++p) {
    if (pattern[p] == '*') {
      const bool crosses = p + 1 < pattern.size() && pattern[p + 1] == '*';
      if (crosses) ++p;
      for (size_t i = 0; i < name.size(); ++i)
        if (reached[i] && (crosses || name[i] != '/')) reached[i + 1] = 1;
      continue;
    }
    for (size_t i = name.size(); i > 0; --i) reached[i] = reached[i - 1] && name[i - 1] == pattern[p];
    reached[0] = 0;
  }
  return reached[name.size()];
}

}  // namespace mtfc
