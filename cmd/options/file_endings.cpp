#include "cmd/options/file_endings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

constexpr size_t kLongestEnding = 8;

// The ending in small letters, without the dot. A suffix that does not begin with a letter, such as that of run.17,
// says nothing about what is in a file.
std::string ending_of(const std::string& path) {
  std::error_code ignored;
  if (path == "-" ||
      (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)))
    return "";
  const std::string name = std::filesystem::path(path).filename().string();
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0 || name.size() - dot > kLongestEnding + 1) return "";
  std::string ending = name.substr(dot + 1);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0; };
  if (ending.empty() || !std::isalpha(static_cast<unsigned char>(ending[0])) ||
      !std::all_of(ending.begin(), ending.end(), is_plain))
    return "";
  return ending;
}

// `.json, .csv or .html`
std::string listed(const FileKinds& kinds) {
  std::string text;
  for (size_t i = 0; i < kinds.formats.size(); ++i)
    text += fmt::format("{}.{}",
                        i == 0                          ? ""
                        : i + 1 == kinds.formats.size() ? " or "
                                                        : ", ",
                        kinds.formats[i].first);
  return text;
}

}  // namespace

std::string format_of_file(const FileKinds& kinds, const std::string& path, const std::string& chosen) {
  const std::string ending = ending_of(path);
  if (ending.empty()) return "";
  for (const auto& [known, format] : kinds.formats) {
    if (known != ending) continue;
    if (chosen.empty() || chosen == format) return format;
    throw UserError(
        fmt::format("{}: '{}' ends in .{}, but the format is to be '{}'", kinds.option, path, ending, chosen),
        "leave out the format, or name the file otherwise");
  }
  if (!chosen.empty()) return "";
  throw UserError(fmt::format("{}: '{}' ends in .{}, but {} is written as {}", kinds.option, path, ending,
                              kinds.what, listed(kinds)),
                  "name the file otherwise; a name without an ending is possible too");
}

std::string output_format(const FileKinds& kinds, const std::string& path, const std::string& chosen,
                          const std::string& on_screen) {
  const std::string of_file = format_of_file(kinds, path, chosen);
  if (!chosen.empty()) return chosen;
  if (!of_file.empty()) return of_file;
  return path == "-" ? on_screen : "json";
}

void require_ending(const std::string& option, const std::string& what, const std::string& path,
                    const std::vector<std::string>& endings) {
  FileKinds kinds{option, what, {}};
  for (const std::string& ending : endings) kinds.formats.emplace_back(ending, ending);
  format_of_file(kinds, path);
}

}  // namespace mtfc
