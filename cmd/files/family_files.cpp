#include "cmd/files/family_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "core/diagnostics/error.h"
#include "formats/tokenizer/tokenizer_file.h"

namespace mtfc {

namespace fs = std::filesystem;

FamilyFiles family_files() {
  FamilyFiles files;
  std::map<std::string, std::string> paths;
  std::error_code ignored;
  const fs::path models = library_folder();
  // Some bundled models are families, too.
  for (const fs::path& folder : {models, models / "families"})
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const fs::path& path = entry.path();
      if (path.extension() != ".json") continue;
      if (folder == models &&
          read_regular_text(path.string(), "model").find("\"import\"") == std::string::npos)
        continue;
      files.names.push_back(path.stem().string());
      paths[path.stem().string()] = path.string();
    }
  std::sort(files.names.begin(), files.names.end());
  files.text = [paths](const std::string& name) {
    return read_regular_text(paths.at(name), "family of models");
  };
  return files;
}

std::string model_file(const std::string& path) {
  std::error_code ignored;
  const fs::path config = fs::path(path) / "config.json";
  if (!fs::is_directory(path, ignored)) return path;
  if (fs::exists(config, ignored)) return config.string();
  throw UserError(fmt::format("the folder '{}' has no config.json", path),
                  "a folder in the place of a model is that of a published one");
}

std::string published_folder(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return path;
  if (fs::path(path).filename() == "config.json") return fs::absolute(path).parent_path().string();
  return "";
}

std::string tokenizer_of_model(const std::string& path) {
  if (path == "-") return "";
  std::error_code ignored;
  const fs::path folder = fs::path(model_file(path)).parent_path();
  const std::string file = tokenizer_file(folder.empty() ? "." : folder.string());
  return fs::exists(file, ignored) ? file : "";
}

}  // namespace mtfc
