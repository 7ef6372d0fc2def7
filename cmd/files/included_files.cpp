#include "cmd/files/included_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "cmd/files/files.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"

namespace mtfc {
namespace {

namespace fs = std::filesystem;

// Suggests the name that `std/NAME.json` was probably meant to be.
std::string library_hint(const std::string& name) {
  std::vector<std::string> known;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(library_folder()) / "std", ignored))
    known.push_back("std/" + entry.path().filename().string());
  if (known.empty()) return fmt::format("the library is expected in {}", library_folder());
  std::sort(known.begin(), known.end());
  const std::string near = did_you_mean(name, known);
  return near.empty() ? fmt::format("the library has {}", fmt::join(known, ", ")) : near;
}

}  // namespace

std::string library_folder() {
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = (binary.parent_path() / MTFC_INSTALLED_MODELS).lexically_normal();
  if (!error && fs::is_directory(installed / "std", error)) return installed.string();
  return MTFC_SOURCE_MODELS;
}

IncludeText IncludedFiles::read(const IncludeName& name) {
  if (const auto at = texts_.find(name); at != texts_.end()) return {at->second};
  if (name.file == "-") return {{}, "standard input can't be included"};
  const std::string path = name.standard ? (fs::path(library_folder()) / name.file).string() : name.file;
  if (name.standard && !fs::exists(path))
    return {{}, fmt::format("the library has no '{}'", name.file), library_hint(name.file)};
  try {
    return {texts_[name] = read_regular_text(path, "include")};
  } catch (const UserError& error) {
    texts_.erase(name);
    const Diagnostic& problem = error.diagnostics().front();
    return {{}, problem.message, problem.hint};
  }
}

std::string packed_texts(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) bytes += std::to_string(text.size()) + ":" + text;
  return bytes;
}

std::vector<std::string> unpacked_texts(const std::string& bytes) {
  std::vector<std::string> texts;
  for (size_t at = 0; at < bytes.size();) {
    const size_t begin = bytes.find(':', at) + 1;
    texts.push_back(bytes.substr(begin, std::stoull(bytes.substr(at))));
    at = begin + texts.back().size();
  }
  return texts;
}

std::string IncludedFiles::packed() const {
  std::vector<std::string> texts;
  for (const auto& [name, text] : texts_)
    texts.insert(texts.end(), {name.file, name.standard ? "1" : "0", text});
  return packed_texts(texts);
}

void IncludedFiles::unpack(const std::string& bytes) {
  const std::vector<std::string> texts = unpacked_texts(bytes);
  for (size_t i = 0; i + 2 < texts.size(); i += 3) texts_[{texts[i], texts[i + 1] == "1"}] = texts[i + 2];
}

}  // namespace mtfc
