#include "cmd/options/entry_choice.h"

#include <fmt/format.h>

#include "cmd/options/command_line.h"
#include "cmd/options/option_checks.h"
#include "core/diagnostics/error.h"

namespace mtfc {

void add_entry_option(CommandLine& line, std::string& entry, const std::string& verb,
                      const std::string& usual) {
  line.add_option("--entry NAME", entry,
                  fmt::format("entry point to {}: init, train, evaluate, decode or encode (default: {})",
                              verb, usual))
      .check(one_of({"init", "train", "evaluate", "decode", "encode"}));
}

std::string chosen_entry(const std::string& wanted, const std::function<bool(std::string_view)>& has) {
  const std::string name = !wanted.empty() ? wanted : has("train") ? "train" : "evaluate";
  if (has(name)) return name;
  if (name == "decode")
    throw UserError("the model has no entry point 'decode'", "its file has no \"decode\"");
  if (name == "encode")
    throw UserError("the model has no entry point 'encode'",
                    "it has no \"decode\" with caches that hold tensors of the model");
  throw UserError("the model has no entry point 'train'", "it neither trains nor assigns variables");
}

const EntryPoint& chosen_entry(const std::string& wanted, const Program& program) {
  return *program.find(
      chosen_entry(wanted, [&](std::string_view name) { return program.find(name) != nullptr; }));
}

}  // namespace mtfc
