#include "core/program/repeated_names.h"

#include <algorithm>

namespace mtfc {

std::string unnumbered(std::string_view name) {
  std::string text;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view component = name.substr(begin, end - begin);
    const size_t last = component.find_last_not_of("0123456789");
    const bool is_numbered =
        last != std::string_view::npos && last > 0 && last + 1 < component.size() && component[last] == '_';
    text += begin == 0 ? "" : "/";
    text += is_numbered ? component.substr(0, last + 1) : component;
    if (is_numbered) text += '*';
    begin = end + 1;
  }
  return text;
}

}  // namespace mtfc
