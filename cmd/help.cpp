#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "cmd/command.h"
#include "cmd/manual/topics.h"
#include "cmd/options/command_line.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"

namespace mtfc {
namespace {

std::vector<std::string> pages(const CommandLine& line) {
  std::vector<std::string> names = line.command_names();
  for (const Topic& topic : topics()) names.emplace_back(topic.name);
  return names;
}

std::string page(const CommandLine& line, const std::string& name) {
  const std::vector<std::string> commands = line.command_names();
  if (name.empty() || std::find(commands.begin(), commands.end(), name) != commands.end())
    return line.help_of(name);
  if (const Topic* topic = find_topic(name)) return topic_page(*topic, line.help_width());
  const std::string near = did_you_mean(name, pages(line));
  throw UserError(fmt::format("there is no command and no topic '{}'", name),
                  near.empty() ? "mtfc help lists all commands and topics" : near);
}

std::function<int()> setup(CommandLine& line) {
  auto name = std::make_shared<std::string>();
  line.add_option("COMMAND|TOPIC", *name, "the command or topic; without it, all are listed").propose([line] {
    return pages(line);
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
        "exit codes. Lines are "
        "as "
        "long as the terminal is wide.",
    .examples =
        "  mtfc help\n"
        "  mtfc help run\n"
        "  mtfc help data",
    .setup = setup,
};

}  // namespace mtfc
