#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cmd/command.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "core/graph/op_registry.h"
#include "formats/reference/operation_reference.h"

namespace mtfc {
namespace {

int run(const std::string& name) {
  const int width = terminal_width();
  if (name.empty()) {
    std::cout << operation_list(width) << "\nmtfc ops NAME shows one of them in full\n";
    return kExitSuccess;
  }
  for (const StatementKind& statement : statement_kinds())
    if (statement.name == name) {
      std::cout << statement_page(statement, width);
      return kExitSuccess;
    }
  const Signature* signature = find_signature(name);
  if (!signature) throw UserError(fmt::format("there is no operation '{}'", name), operation_hint(name));
  std::cout << operation_page(*signature, width);
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto name = std::make_shared<std::string>();
  line.add_option("NAME", *name, "the operation to show in full; without it, all are listed").propose([] {
    std::vector<std::string> names = operation_names();
    for (const StatementKind& statement : statement_kinds()) names.push_back(statement.name);
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
        "attributes, what happens if a dimension is split, and an example that can be pasted into a model.",
    .examples =
        "  mtfc ops\n"
        "  mtfc ops gather",
    .setup = setup,
};

}  // namespace mtfc
