#include "cmd/running/input_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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

// The source of an input's data, and the place that names it.
struct InputSource {
  const InputDecl* input = nullptr;
  std::string spec;
  Location at;
};

class InputReader {
 public:
  InputReader(const Program& program, TextTokens& texts)
      : program_(program), lookup_(lookup_of(program.names)), texts_(texts) {}

  void add(const std::string& name, const InputSource& source) { sources_[name] = source; }

  InputData read(const std::string& name) const {
    const InputSource& source = sources_.at(name);
    const TensorType& type = source.input->type;
    FedInput fed{name, type.dtype, source.at, type.dims, &texts_};
    std::string spec = source.spec;
    if ((fed.view = data_view(fed, spec, lookup_))) {
      const InputSource& seen = viewed(fed, spec);
      spec = seen.spec;
      fed.view->dims = seen.input->type.dims;
      if (fed.view->part != RowPart::kTokens) fed.dtype.reset();  // is no type of the tokens
    }
    InputData data = read_input_data(fed, spec, lookup_);
    data.spec = source.spec;
    return data;
  }

  /// Returns whether the input has a view of one of `names`.
  bool depends(const std::string& name, const std::set<std::string>& names) const {
    const InputSource& source = sources_.at(name);
    const auto view = data_view({name, source.input->type.dtype, source.at}, source.spec, lookup_);
    return view && names.contains(view->input);
  }

 private:
  const InputSource& viewed(const FedInput& fed, const std::string& spec) const {
    const auto fail = [&](const std::string& problem, const std::string& hint) {
      throw UserError(fed.at.line == 0 ? fmt::format("{}={}: {}", fed.name, spec, problem) : problem, hint,
                      fed.at);
    };
    const std::string& name = fed.view->input;
    if (!find_named(program_.inputs, name))
      fail(fmt::format("the model has no input '{}'", name), did_you_mean(name, all_names(program_.inputs)));
    const auto found = sources_.find(name);
    if (found == sources_.end())
      fail(fmt::format("the input '{}' has no data", name),
           fmt::format("give it with --input {}=FILE", name));
    const InputSource& source = found->second;
    if (const auto view = data_view({name, source.input->type.dtype, source.at}, source.spec, lookup_))
      fail(fmt::format("'{}' is itself a part of the data of '{}'", name, view->input),
           fmt::format("give of:{}", view->input));
    return source;
  }

  const Program& program_;
  NameLookup lookup_;
  TextTokens& texts_;
  std::map<std::string, InputSource> sources_;
};

}  // namespace

std::vector<InputData> read_inputs(const Program& program, const GivenSources& given,
                                   const std::vector<InputData>& defaults, TextTokens& texts,
                                   const EntryPoint* needed_by) {
  InputReader reader(program, texts);
  const Location option = {given.option, 0, 0, ""};
  for (const InputDecl& input : program.inputs)
    if (!input.source.empty()) reader.add(input.name, {&input, input.source, input.source_location});
  for (const InputData& data : defaults)
    reader.add(data.input, {&input_named(program, data.input, given.option), data.spec, option});
  std::vector<std::string> names;
  for (const std::string& text : given.specs) {
    const auto [name, spec] = split_assignment(text, given.option);
    reader.add(name, {&input_named(program, name, given.option), spec, option});
    names.push_back(name);
  }
  const std::set<std::string> replaced(names.begin(), names.end());
  if (defaults.empty()) {
    for (const InputDecl& input : program.inputs)
      if (!input.source.empty() && !replaced.contains(input.name)) names.push_back(input.name);
  }
  std::vector<InputData> inputs;
  for (const std::string& name : names)
    if (!needed_by || find_named(needed_by->inputs, name)) inputs.push_back(reader.read(name));
  for (const InputData& data : defaults)
    if (!replaced.contains(data.input))
      inputs.push_back(reader.depends(data.input, replaced) ? reader.read(data.input) : data);
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
