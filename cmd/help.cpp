#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "cmd/command.h"
#include "cmd/manual/topics.h"
#include "cmd/options/command_line.h"
#include "cmd/options/hardware_profile.h"
#include "core/diagnostics/error.h"
#include "formats/hardware/profile_values.h"

namespace mtfc {
namespace {

constexpr const char* kProfiles = "hardware";

// The values of a profile and where each comes from.
std::string profile_page(const std::string& name, size_t width) {
  const Hardware hardware = hardware_profile(name);
  std::string text = hardware.doc.empty() ? "" : hardware.doc + "\n\n";
  for (const ProfileValue& value : profile_values(hardware))
    if (!value.is_default)
      text += fmt::format("* {} :: {}; {}\n", value.path, value.text,
                          value.source.empty() ? "no source" : value.source);
  return topic_page({"", hardware.name.c_str(), text.c_str()}, width);
}

std::string page(const CommandLine& line, const std::string& name) {
  const std::vector<std::string> commands = line.command_names();
  if (name.empty() || std::find(commands.begin(), commands.end(), name) != commands.end())
    return line.help_of(name);
  if (const Topic* topic = find_topic(name)) return topic_page(*topic, line.help_width());
  throw unknown_page(name, commands);
}

std::function<int()> setup(CommandLine& line) {
  auto name = std::make_shared<std::string>();
  auto profile = std::make_shared<std::string>();
  line.add_option("COMMAND|TOPIC", *name, "the command or topic; without it, all are listed").propose([line] {
    return page_names(line.command_names());
  });
  line.add_option("PROFILE|FILE.json", *profile,
                  "after the topic hardware: a hardware profile, whose values are printed with their sources")
      .propose(bundled_profiles);
  return [name, profile, line] {
    if (!profile->empty() && *name != kProfiles)
      throw UserError(fmt::format("mtfc help takes one name, and '{}' is a second one", *profile),
                      "only mtfc help hardware takes another, that of a profile");
    std::cout << (profile->empty() ? page(line, *name) : profile_page(*profile, line.help_width()));
    return static_cast<int>(kExitSuccess);
  };
}

}  // namespace

const Command kHelpCommand = {
    .name = "help",
    .summary = "explain a command, or a topic such as layouts and data",
    .description =
        "Shows the help of a command, like COMMAND --help, or a short page about something that is common to "
        "many commands: model files, layouts, sources of data, hardware profiles, environment variables, "
        "exit codes. Lines are as long as the terminal is wide. After hardware, the name of a profile shows "
        "its "
        "values, with their units and sources.",
    .examples =
        "  mtfc help\n"
        "  mtfc help run\n"
        "  mtfc help data\n"
        "  mtfc help hardware h100",
    .setup = setup,
};

}  // namespace mtfc
