#include "core/graph/operation_text.h"

#include <fmt/format.h>

namespace mtfc {
namespace {

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", text);
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + quoted(name);
  return "[" + text + "]";
}

std::string one_or_list(const std::vector<std::string>& names) {
  return names.size() == 1 ? quoted(names[0]) : list_of(names);
}

struct AttributeText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(DType value) const { return quoted(to_string(value)); }
  std::string operator()(const Dim& value) const { return quoted(value.name); }
  std::string operator()(const Dims& value) const {
    std::vector<std::string> names;
    for (const Dim& dim : value) names.push_back(dim.name);
    return list_of(names);
  }
  std::string operator()(const std::vector<Renaming>& map) const {
    std::string text;
    for (const Renaming& entry : map)
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", quoted(entry.from), quoted(entry.to.name));
    return "{" + text + "}";
  }
  std::string operator()(const Windows& windows) const {
    std::string text;
    for (const Window& window : windows) text += (text.empty() ? "" : ", ") + window_text(window);
    return "[" + text + "]";
  }

 private:
  static std::string window_text(const Window& window) {
    const std::string taps =
        window.taps.name.empty() ? std::to_string(window.taps.size) : quoted(window.taps.name);
    std::string text = fmt::format(R"({{"dim": {}, "taps": {}, "to": {})", quoted(window.dim.name), taps,
                                   quoted(window.to.name));
    for (const WindowNumber& number : window_numbers())
      if (const int64_t value = window.*number.member; value != number.usual)
        text += fmt::format(R"(, "{}": {})", number.key, value);
    return text + "}";
  }
};

}  // namespace

std::string attribute_text(const AttributeValue& value) {
  return std::visit(AttributeText{}, value);
}

std::string operation_text(std::string_view kind, const std::vector<std::string>& results,
                           const std::vector<std::string>& operands, const Attributes& attributes) {
  std::string text = fmt::format(R"({{"out": {}, "op": {})", one_or_list(results), quoted(kind));
  if (!operands.empty()) text += fmt::format(R"(, "in": {})", one_or_list(operands));
  for (const auto& [name, value] : attributes.entries())
    text += fmt::format(", {}: {}", quoted(name), attribute_text(value));
  return text + "}";
}

}  // namespace mtfc
