#include "cmd/testing/published_models.h"

#include <algorithm>
#include <filesystem>

#include "core/testing/checkout.h"

namespace mtfc {

const std::string& families_folder() {
  static const std::string kFolder = std::string(kSourceFolder) + "/testdata/families/";
  return kFolder;
}

std::vector<std::string> published_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(families_folder()))
    if (entry.is_directory()) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace mtfc
