#include "cmd/running/input_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/diagnostics/error.h"
#include "core/diagnostics/suggest.h"
#include "formats/data/data_spec.h"

namespace mtfc {

std::pair<std::string, std::string> split_assignment(const std::string& text, const std::string& option) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw UserError(fmt::format("{} takes NAME=VALUE, not '{}'", option, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void require_one_each(const std::vector<std::string>& values, const std::string& option,
                      const std::string& verb) {
  std::map<std::string, std::string> first;
  for (const std::string& value : values) {
    const auto [name, rest] = split_assignment(value, option);
    const auto [at, is_new] = first.emplace(name, rest);
    if (!is_new)
      throw UserError(
          fmt::format("{} {} '{}' twice: from '{}' and from '{}'", option, verb, name, at->second, rest),
          "give it once");
  }
}

namespace {

const InputDecl& input_named(const Program& program, const std::string& name, const std::string& option) {
  if (const InputDecl* input = find_named(program.inputs, name)) return *input;
  throw UserError(fmt::format("{}: the model has no input '{}'", option, name),
                  did_you_mean(name, all_names(program.inputs)));
}

}  // namespace

std::vector<InputData> read_inputs(const Program& program, const std::vector<std::string>& specs,
                                   const std::string& option, const std::vector<InputData>& defaults,
                                   const EntryPoint* needed_by) {
  std::vector<InputData> inputs;
  const auto is_needed = [&](const std::string& name) {
    return !needed_by || find_named(needed_by->inputs, name);
  };
  const NameLookup lookup = lookup_of(program.names);
  for (const std::string& text : specs) {
    const auto [name, spec] = split_assignment(text, option);
    const InputDecl& input = input_named(program, name, option);
    if (is_needed(name))
      inputs.push_back(
          read_input_data({name, input.type.dtype, {option, 0, 0, ""}, input.type.dims}, spec, lookup));
  }
  const auto is_given = [&](const std::string& name) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const InputData& data) { return data.input == name; });
  };
  for (const InputData& data : defaults)
    if (!is_given(data.input)) inputs.push_back(data);
  if (!defaults.empty()) return inputs;
  for (const InputDecl& input : program.inputs)
    if (!input.source.empty() && !is_given(input.name) && is_needed(input.name))
      inputs.push_back(read_input_data({input.name, input.type.dtype, input.source_location, input.type.dims},
                                       input.source, lookup));
  return inputs;
}

void require_data(const EntryPoint& entry, const std::vector<InputData>& inputs) {
  std::vector<Diagnostic> missing;
  for (const Binding& input : entry.inputs)
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&](const InputData& given) { return given.input == input.name; }))
      missing.push_back(
          {{},
           fmt::format("the input '{}' has no data", input.name),
           fmt::format("give it with --input {}=FILE.npy, or under \"data\" in the model", input.name)});
  if (!missing.empty()) throw UserError(std::move(missing));
}

}  // namespace mtfc
