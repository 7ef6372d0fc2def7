#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/files/included_files.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "core/diagnostics/suggest.h"
#include "core/graph/op_registry.h"
#include "formats/reference/operation_reference.h"

namespace mtfc {
namespace {

// The files of the library that ships with mtfc, by name.
std::vector<LibraryFile> library() {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(library_folder()) / "std", ignored))
    if (entry.path().extension() == ".json") names.push_back("std/" + entry.path().filename().string());
  std::sort(names.begin(), names.end());
  std::vector<LibraryFile> files;
  for (const std::string& name : names) {
    const std::string path = (fs::path(library_folder()) / name).string();
    files.push_back({name, parse_json(read_regular_text(path, "library"), path)});
  }
  return files;
}

// Returns the text of the library's entries under the name: for `std` a list of all files, for `std/moe` and
// `std/moe.json` the file, for `moe` the blocks so called, or else the file. Returns "" if there is no such entry.
std::string library_text(const std::string& name, int width) {
  const std::vector<LibraryFile> files = library();
  if (name == "std" || name == "std/") return library_list(files, width);
  std::string text;
  for (const LibraryFile& file : files)
    if (find_block(file, name)) text += (text.empty() ? "" : "\n") + block_page(file, name, width);
  const std::string ending = name.ends_with(".json") ? "" : ".json";
  for (const LibraryFile& file : files)
    if (file.name == name + ending || (text.empty() && file.name == "std/" + name + ending))
      return library_page(file, width);
  return text;
}

std::vector<std::string> library_names() {
  std::vector<std::string> names = {"std"};
  for (const LibraryFile& file : library()) {
    names.push_back(file.name);
    if (const JsonValue* blocks = file.json.find("blocks"))
      for (const JsonMember& block : blocks->members) names.push_back(block.key);
  }
  return names;
}

int run(const std::string& name) {
  const int width = terminal_width();
  if (name.empty()) {
    std::cout << operation_list(width)
              << "\nmtfc ops NAME shows one of them in full; mtfc ops std lists the blocks of the library\n";
    return kExitSuccess;
  }
  if (const StatementKind* statement = find_named(statement_kinds(), name)) {
    std::cout << statement_page(*statement, width);
    return kExitSuccess;
  }
  const Signature* signature = find_signature(name);
  const std::string blocks = library_text(name, width);
  if (!signature && blocks.empty())
    throw UserError(fmt::format("there is no operation '{}'", name), operation_hint(name, library_names()));
  if (signature) std::cout << operation_page(*signature, width) << (blocks.empty() ? "" : "\n");
  std::cout << blocks;
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto name = std::make_shared<std::string>();
  line.add_option("NAME", *name,
                  "the operation, or the block or file of the library, to show in full; without it, all "
                  "operations are listed")
      .propose([] {
        std::vector<std::string> names = operation_names();
        for (const StatementKind& statement : statement_kinds()) names.push_back(statement.name);
        names.push_back("std");
        return names;
      });
  return [name] { return run(*name); };
}

}  // namespace

const Command kOpsCommand = {
    .name = "ops",
    .summary = "list the operations that models may use",
    .description =
        "Lists the operations that a model may use. With the name of one, it describes its operands and "
        "attributes, what happens if a dimension is split, and an example that can be pasted into a model. "
        "With the name of a block or a file of the library, such as moe or std/moe, it describes how to call "
        "it.",
    .examples =
        "  mtfc ops\n"
        "  mtfc ops gather\n"
        "  mtfc ops std\n"
        "  mtfc ops moe",
    .setup = setup,
};

}  // namespace mtfc
