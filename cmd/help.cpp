#include <algorithm>
#include <iostream>
#include <memory>

#include "cmd/command.h"
#include "cmd/manual/topics.h"
#include "cmd/options/command_line.h"

namespace mtfc {
namespace {

std::string page(const CommandLine& line, const std::string& name) {
  const std::vector<std::string> commands = line.command_names();
  if (name.empty() || std::find(commands.begin(), commands.end(), name) != commands.end())
    return line.help_of(name);
  if (const Topic* topic = find_topic(name)) return topic_page(*topic, line.help_width());
  throw unknown_page(name, commands);
}

std::function<int()> setup(CommandLine& line) {
  auto name = std::make_shared<std::string>();
  line.add_option("COMMAND|TOPIC", *name, "the command or topic; without it, all are listed").propose([line] {
    return page_names(line.command_names());
  });
  return [name, line] {
    std::cout << page(line, *name);
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
        "exit codes. Lines are as long as the terminal is wide.",
    .examples =
        "  mtfc help\n"
        "  mtfc help run\n"
        "  mtfc help data",
    .setup = setup,
};

}  // namespace mtfc
