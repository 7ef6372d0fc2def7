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

void append(std::string& bytes, const std::string& part) {
  bytes += std::to_string(part.size()) + ":" + part;
}

std::string take(const std::string& bytes, size_t& at) {
  const size_t colon = bytes.find(':', at);
  const size_t size = std::stoull(bytes.substr(at, colon - at));
  at = colon + 1 + size;
  return bytes.substr(colon + 1, size);
}

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

std::string IncludedFiles::packed() const {
  std::string bytes;
  for (const auto& [name, text] : texts_) {
    append(bytes, name.file);
    append(bytes, name.standard ? "1" : "0");
    append(bytes, text);
  }
  return bytes;
}

void IncludedFiles::unpack(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    IncludeName name;
    name.file = take(bytes, at);
    name.standard = take(bytes, at) == "1";
    texts_[name] = take(bytes, at);
  }
}

}  // namespace mtfc
