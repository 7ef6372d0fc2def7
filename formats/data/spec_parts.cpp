#include "formats/data/spec_parts.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

namespace mtfc {
namespace {

bool is_option(std::string_view part) {
  const size_t equals = part.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         std::all_of(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// Files that are known by their endings.
constexpr std::pair<const char*, FileKind> kEndings[] = {
    {".npy", FileKind::kNpy}, {".npy.gz", FileKind::kNpy}, {".npz", FileKind::kNpz}};
// Files whose kind is named, as in `idx:FILE`.
constexpr std::pair<const char*, FileKind> kPrefixes[] = {
    {"idx", FileKind::kIdx},       {"text", FileKind::kText},    {"tokens", FileKind::kTokens},
    {"csv", FileKind::kCsv},       {"jsonl", FileKind::kJsonl},  {"lines", FileKind::kLines},
    {"images", FileKind::kImages}, {"labels", FileKind::kLabels}};
// The options of all files.
constexpr const char* kOptions[] = {"rows",    "scale", "shift",  "split",     "width", "array",
                                    "column",  "key",   "answer", "tokenizer", "end",   "pad",
                                    "special", "pack",  "long",   "text"};

// File names and calls in expressions may contain commas: a part that is not an option belongs to the
// previous one.
void take_apart(const std::string& spec, std::string& source, std::vector<SpecOption>& options) {
  size_t start = 0;
  bool first = true;
  while (start <= spec.size()) {
    const size_t end = std::min(spec.find(',', start), spec.size());
    const std::string part = spec.substr(start, end - start);
    if (first)
      source = part;
    else if (is_option(part))
      options.push_back({part.substr(0, part.find('=')), part.substr(part.find('=') + 1)});
    else
      (options.empty() ? source : options.back().value) += "," + part;
    first = false;
    start = end + 1;
  }
}

// A file may be called `run,lr=3.npy`: if what looks like options belongs to the name of a file, the shortest such
// name counts.
void settle_file(SpecParts& parts) {
  constexpr auto is_known = [](const SpecOption& option) {
    return std::find(std::begin(kOptions), std::end(kOptions), option.key) != std::end(kOptions);
  };
  std::vector<SpecOption>& options = parts.options;
  std::string source = parts.source;
  for (auto next = options.begin();; ++next) {
    const std::optional<FileSource> file = file_of(source);
    std::error_code error;
    if (file && std::all_of(next, options.end(), is_known) &&
        (is_folder(file->kind) ? std::filesystem::is_directory(file->file, error)
                               : std::filesystem::is_regular_file(file->file, error))) {
      parts.source = source;
      options.erase(options.begin(), next);
      return;
    }
    if (next == options.end()) return;
    source += "," + next->key + "=" + next->value;
  }
}

}  // namespace

SpecParts::SpecParts(const std::string& spec) {
  take_apart(spec, source, options);
  settle_file(*this);
}

const std::string* SpecParts::find(std::string_view key) const {
  for (const SpecOption& option : options)
    if (option.key == key) return &option.value;
  return nullptr;
}

std::string prefix_of(const std::string& source) {
  const size_t colon = source.find(':');
  return colon == std::string::npos ? "" : source.substr(0, colon);
}

// The kind of file that a source names, and its name; nullopt for a source of another kind.
std::optional<FileSource> file_of(const std::string& source) {
  const std::string named = prefix_of(source);
  for (const auto& [prefix, kind] : kPrefixes)
    if (named == prefix) return FileSource{kind, source.substr(named.size() + 1)};
  for (const auto& [ending, kind] : kEndings)
    if (source.ends_with(ending)) return FileSource{kind, source};
  return std::nullopt;
}

}  // namespace mtfc
