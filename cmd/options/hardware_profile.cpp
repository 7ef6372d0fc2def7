#include "cmd/options/hardware_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "cmd/options/command_line.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "formats/hardware/hardware_reader.h"

namespace mtfc {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> bundled(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

void add_hardware_option(CommandLine& line, std::string& hardware) {
  line.add_option(
          "--hardware", hardware,
          "hardware for which times are predicted: a bundled profile, or a file written by `mtfc calibrate`")
      .type_name("NAME|FILE")
      .show_default();
}

Hardware hardware_profile(const std::string& name) {
  if (name == "-" || name.ends_with(".json") || name.find('/') != std::string::npos)
    return read_hardware(read_text(name, "hardware profile"), name == "-" ? "<stdin>" : name);
  const fs::path folder = fs::path(library_folder()) / "hardware";
  const std::vector<std::string> names = bundled(folder);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string near = did_you_mean(name, names);
    throw UserError(fmt::format("there is no hardware profile '{}'", name),
                    near.empty() ? fmt::format("bundled profiles are {}; a file's name must end in .json",
                                               fmt::join(names, ", "))
                                 : near);
  }
  const std::string path = (folder / (name + ".json")).string();
  return read_hardware(read_text(path, "hardware profile"), path);
}

}  // namespace mtfc
