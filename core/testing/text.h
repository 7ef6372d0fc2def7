#pragma once
// Questions that tests ask about printed text.

#include <string>

namespace mtfc {

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace mtfc
