#include "cmd/options/hardware_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "cmd/options/command_line.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "formats/hardware/hardware_reader.h"
#include "formats/text/quantity.h"

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

fs::path profiles() {
  return fs::path(library_folder()) / "hardware";
}

std::string bundled_path(const std::string& name) {
  return (profiles() / (name + ".json")).string();
}

bool is_file(const std::string& name) {
  return name == "-" || name.ends_with(".json") || name.find('/') != std::string::npos;
}

// The part of a name that tells one model of a product from another: `100` of `h100`, with the letters before it.
std::vector<std::string> designations(const std::string& name) {
  std::vector<std::string> found;
  for (size_t begin = 0, end = 0; begin <= name.size(); begin = end + 1) {
    end = std::min(name.find('-', begin), name.size());
    std::string word = name.substr(begin, end - begin);
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    if (word.find_first_of("0123456789") != std::string::npos) found.push_back(word);
  }
  return found;
}

// Profiles whose names are most likely meant, as "did you mean"; "" if there are none. `v100` is no slip of `h100`.
std::string near_profile(const std::string& name, const std::vector<std::string>& names) {
  std::vector<std::string> alike;
  for (const std::string& known : names)
    if (known.starts_with(name + "-")) alike.push_back(known);
  if (alike.size() == 1) return fmt::format("did you mean '{}'?", alike.front());
  if (!alike.empty()) return fmt::format("did you mean one of {}?", fmt::join(alike, ", "));
  for (const std::string& known : names)
    if (designations(known) == designations(name)) alike.push_back(known);
  return did_you_mean(name, alike);
}

ProfileFile profile_file(const std::string& name) {
  if (name == "-") return {read_text(name, "hardware profile"), "<stdin>"};
  if (is_file(name)) return {read_text(name, "hardware profile"), name};
  const std::vector<std::string> names = bundled_profiles();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string near = near_profile(name, names);
    throw UserError(fmt::format("there is no hardware profile '{}'", name),
                    near.empty() ? fmt::format("bundled profiles are {}; a file's name must end in .json",
                                               fmt::join(names, ", "))
                                 : near);
  }
  return {read_text(bundled_path(name), "hardware profile"), bundled_path(name)};
}

// The profile that `base` names in a file: a bundled one, or a file whose path is relative to the folder of that file.
ProfileFile base_profile(const std::string& name, const std::string& file) {
  if (name == "-" || !is_file(name)) return profile_file(name == "-" ? "./-" : name);
  return profile_file((fs::path(file).parent_path() / name).lexically_normal().string());
}

}  // namespace

std::vector<std::string> bundled_profiles() {
  return bundled(profiles());
}

void add_hardware_option(CommandLine& line, std::string& hardware) {
  line.set_group(OptionGroup::kLimits);
  line.add_option("--hardware NAME|FILE.json", hardware,
                  "hardware for which times are predicted: a bundled profile (mtfc help hardware lists "
                  "them), or a file written by `mtfc calibrate`")
      .propose(bundled_profiles)
      .show_default();
}

void add_plan_hardware_option(CommandLine& line, std::optional<std::string>& hardware) {
  add_optional_hardware(
      line, hardware,
      "for annotated or propagated layouts: choose the plan with the shortest predicted step on this "
      "hardware, a bundled profile (mtfc help hardware lists them) or a file written by `mtfc calibrate` "
      "(default: the plan of least cost)");
}

void add_optional_hardware(CommandLine& line, std::optional<std::string>& hardware, const std::string& help) {
  line.set_group(OptionGroup::kLimits);
  line.add_option("--hardware NAME|FILE.json", hardware, help).propose(bundled_profiles);
}

std::optional<Hardware> hardware_profile(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  return hardware_profile(*name);
}

void require_one_reader(const std::optional<std::string>& hardware, const std::string& model,
                        const std::optional<std::string>& layout) {
  if (hardware != "-") return;
  const std::string text = "the {} and the hardware profile can't both be read from standard input";
  if (model == "-") throw UserError(fmt::format(fmt::runtime(text), "model"));
  if (layout == "-") throw UserError(fmt::format(fmt::runtime(text), "layout"));
}

Hardware hardware_profile(const std::string& name) {
  const ProfileFile found = profile_file(name);
  return read_hardware(found.text, found.file, base_profile);
}

std::string profile_text(const std::string& name) {
  return exact_hardware_json(hardware_profile(name));
}

std::optional<Diagnostic> unmeasured_links_warning(const Hardware& hardware, const Mesh& mesh) {
  if (hardware.ranks != 1 || mesh.devices() == 1) return std::nullopt;
  return plain_warning(
      fmt::format("the profile '{}' was measured with one rank and has no links between "
                  "ranks, so the predicted communication is far too short",
                  hardware.name),
      fmt::format("mtfc calibrate --mesh {} -o FILE.json measures the links", to_string(mesh)));
}

namespace {

// The bundled profiles whose devices have so much memory; if none has, those that have most.
std::string profiles_with(int64_t bytes) {
  std::vector<std::string> enough, most;
  int64_t largest = 0;
  for (const std::string& name : bundled_profiles()) {
    const int64_t memory = memory_of(hardware_profile(name));
    if (memory >= bytes) enough.push_back(fmt::format("{} ({})", name, memory_text(memory)));
    if (memory > largest) most.clear();
    largest = std::max(largest, memory);
    if (memory == largest) most.push_back(fmt::format("{} ({})", name, memory_text(memory)));
  }
  if (!enough.empty()) return fmt::format("it fits a device of --hardware {}", fmt::join(enough, ", "));
  return fmt::format("the bundled profiles with most memory are {}", fmt::join(most, ", "));
}

}  // namespace

std::string larger_profiles(int64_t needed, int64_t available, const Hardware& hardware) {
  if (hardware.name != kInventedProfile || available != memory_of(hardware)) return "";
  return fmt::format("'{}' is an invented core; {}", hardware.name, profiles_with(needed));
}

std::optional<Diagnostic> too_large_warning(int64_t needed, int64_t available, const Hardware& hardware) {
  if (available == 0 || needed <= available) return std::nullopt;
  const std::string larger = larger_profiles(needed, available, hardware);
  return plain_warning(
      fmt::format("the layout needs {} per device, {} more than the {} that it may use of {}",
                  bytes_beside(needed, available), bytes_beside(needed - available, available),
                  memory_text(available), hardware.name),
      larger.empty() ? "mtfc search --fit says what would fit" : larger);
}

std::optional<Diagnostic> unmeasured_links_warning(const Hardware& hardware,
                                                   const std::vector<Layout>& layouts) {
  for (const Layout& layout : layouts)
    if (std::optional<Diagnostic> warning = unmeasured_links_warning(hardware, layout.mesh)) return warning;
  return std::nullopt;
}

}  // namespace mtfc
