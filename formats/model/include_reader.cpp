#include "formats/model/include_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace mtfc {
namespace {

constexpr int64_t kVersion = 1;
constexpr size_t kDeepestInclude = 64;

// `text` is relative to the including file.
IncludeName name_of(const std::string& text, const std::string& from, bool from_standard) {
  if (text.starts_with("std/")) return {std::filesystem::path(text).lexically_normal().string(), true};
  const std::filesystem::path folder = std::filesystem::path(from).parent_path();
  return {(folder / text).lexically_normal().string(), from_standard};
}

}  // namespace

void IncludeReader::read(const Cursor& root) {
  open_ = {{std::filesystem::path(root.file()).lexically_normal().string(), false}};
  read_list(root, false);
}

void IncludeReader::read_list(const Cursor& root, bool standard) {
  const std::optional<Cursor> list = root.find("include");
  if (!list) return;
  const size_t before = sink_.error_count();
  for (const Cursor& item : list->items("a list of files")) read_file(item, standard);
  has_gaps_ = has_gaps_ || sink_.error_count() > before;
}

void IncludeReader::read_file(const Cursor& at, bool from_standard) {
  const std::optional<std::string> text = at.string("the name of a file");
  if (!text) return;
  if (text->empty()) return at.error("the name of the file is empty");
  const IncludeName name = name_of(*text, at.file(), from_standard);
  if (const auto again = std::find(open_.begin(), open_.end(), name); again != open_.end()) {
    std::string chain;
    for (auto file = again; file != open_.end(); ++file) chain += file->file + " -> ";
    return at.error(fmt::format("'{}' includes itself: {}{}", name.file, chain, name.file));
  }
  const auto is_same = [&](const IncludedFile& file) { return file.name == name; };
  if (std::any_of(files_.begin(), files_.end(), is_same)) return;
  if (open_.size() > kDeepestInclude)
    return at.error(fmt::format("files include each other more than {} deep", kDeepestInclude));
  const IncludeText found = source_ ? source_(name) : IncludeText{{}, "no files can be included here"};
  if (!found.text) return at.error(found.problem, found.hint);
  try {
    files_.push_back({name, parse_json(*found.text, name.file), at.location()});
  } catch (const UserError& error) {
    for (const Diagnostic& problem : error.diagnostics())
      sink_.error(problem.location, problem.message, problem.hint);
    return;
  }
  const Cursor root = root_of(files_.back());
  const bool is_object = root.check_keys({"mtfc", "name", "doc", "include", "params", "dims", "blocks"});
  if (!is_object || !check_version(root, false)) return files_.pop_back();
  open_.push_back(name);
  read_list(root, name.standard);
  open_.pop_back();
}

bool check_version(const Cursor& root, bool required) {
  const std::optional<Cursor> version = root.find("mtfc");
  if (!version) {
    if (required)
      root.error("'mtfc' is missing",
                 fmt::format("a model states its format version: \"mtfc\": {}", kVersion));
    return true;
  }
  const std::optional<int64_t> number = version->integer();
  if (!number || *number == kVersion) return true;
  version->error(fmt::format("format version {} is not known to this version of mtfc, which reads version {}",
                             *number, kVersion));
  return false;
}

}  // namespace mtfc
