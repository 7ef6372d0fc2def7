#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/manual/man_page.h"
#include "cmd/manual/topics.h"
#include "cmd/options/command_line.h"
#include "cmd/options/text_output.h"
#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string name;
  std::string file = "-";
  std::optional<std::string> folder;
};

std::string man_page(const CommandLine& line, const std::string& name) {
  const CommandTable table = line.table();
  if (name.empty()) return program_man_page(table);
  if (const CommandEntry* command = table.find(name)) return command_man_page(table, *command);
  if (const Topic* topic = find_topic(name)) return topic_man_page(table, *topic);
  throw unknown_page(name, line.command_names());
}

// In folders as man wants them: man1/mtfc-run.1.
void write_all(const fs::path& folder, const CommandTable& table) {
  for (const ManPage& page : man_pages(table)) {
    const fs::path section = folder / fmt::format("man{}", page.section);
    std::error_code error;
    fs::create_directories(section, error);
    if (error)
      throw RunError(fmt::format("cannot make the folder '{}': {}", section.string(), error.message()));
    write_text((section / fmt::format("{}.{}", page.name, page.section)).string(), page.text);
  }
}

int run(const Options& options, const CommandLine& line) {
  if (options.folder) {
    if (!options.name.empty() || line.option("-o").is_given())
      throw UserError("--all excludes the name of a page and -o", "it writes all pages to a folder");
    write_all(*options.folder, line.table());
  } else {
    write_text(options.file, man_page(line, options.name));
  }
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.add_option("COMMAND|TOPIC", options->name,
                  "the command or topic; without it, the page is that of mtfc")
      .propose([line] { return page_names(line.command_names()); });
  line.set_group(OptionGroup::kOutput);
  line.add_option("--all DIR", options->folder, "write all pages, in the folders man1 and man7 of DIR");
  add_output_file(line, options->file);
  return [options, line] { return run(*options, line); };
}

}  // namespace

const Command kManCommand = {
    .name = "man",
    .summary = "print a man page, or write all of them",
    .description =
        "Prints the man page of a command or a topic in the language of troff. An installed mtfc has these "
        "pages where man looks for them.",
    .examples =
        "  mtfc man run | man -l -\n"
        "  mtfc man --all ~/.local/share/man",
    .setup = setup,
};

}  // namespace mtfc
