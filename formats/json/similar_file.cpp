#include "formats/json/similar_file.h"

#include <filesystem>
#include <vector>

#include "core/diagnostics/suggest.h"

namespace mtfc {

std::string similar_file(const std::string& path) {
  std::vector<std::string> names;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, ignored))
    names.push_back((folder / entry.path().filename()).string());
  return did_you_mean(path, names);
}

}  // namespace mtfc
