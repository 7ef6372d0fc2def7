#include "formats/report/html_page.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/diagnostics/printable.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

// CMake makes it of the files of formats/report/page/.
constexpr std::string_view kTemplate =
#include "page.inc"
    ;

// The value with texts that are printable().
Json shown(const Json& value) {
  if (value.is_string()) return printable(value.text());
  if (!value.is_list() && !value.is_object()) return value;
  Json made = value.is_list() ? Json::array() : Json::object();
  if (value.is_list())
    for (const Json& item : value.list()) made.push_back(shown(item));
  else
    for (const auto& [key, item] : value.object_members()) made[printable(key)] = shown(item);
  return made;
}

std::string replaced(std::string text, char letter, std::string_view by) {
  for (size_t at = 0; (at = text.find(letter, at)) != std::string::npos; at += by.size())
    text.replace(at, 1, by);
  return text;
}

std::string escaped(const std::string& text) {
  return replaced(replaced(text, '&', "&amp;"), '<', "&lt;");
}

}  // namespace

std::string html_page(const std::string& title, const Json& data, const std::string& text) {
  // Nothing in the data ends the script that holds it, nor begins a comment.
  const std::string json = replaced(shown(data).dump(), '<', "\\u003c");
  std::string page;
  std::string_view rest = kTemplate;
  for (const auto& [mark, value] :
       {std::pair<std::string_view, std::string>("{{title}}", escaped(printable(title))),
        {"{{text}}", escaped(text)},
        {"{{data}}", json}}) {
    const size_t at = rest.find(mark);
    page.append(rest.substr(0, at)).append(value);
    rest.remove_prefix(at + mark.size());
  }
  return page.append(rest);
}

double rounded(double number, int digits) {
  return std::strtod(fmt::format("{:.{}g}", number, digits).c_str(), nullptr);
}

Json figure(double number, const std::string& text) {
  return Json::array({rounded(number), text});
}

Json figure(int64_t count) {
  return Json::array({count, grouped(count)});
}

Json seconds_figure(double seconds) {
  return figure(seconds, seconds_text(seconds));
}

Json bytes_figure(const CostReport& report, int64_t bytes) {
  return Json::array({bytes, bytes_in(report, bytes)});
}

}  // namespace mtfc
