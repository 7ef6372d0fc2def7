#include "cmd/running/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cmd/command.h"
#include "cmd/files/family_files.h"
#include "cmd/files/files.h"
#include "cmd/options/command_line.h"
#include "cmd/options/model_options.h"
#include "cmd/options/text_output.h"
#include "cmd/published/placed_tensors.h"
#include "core/diagnostics/enum_names.h"
#include "core/diagnostics/error.h"
#include "formats/text/quantity.h"
#include "runtime/data/array_file.h"
#include "runtime/data/stored_values.h"

namespace mtfc {
namespace {

struct Options {
  ModelOptions model;
  std::vector<std::string> loads, maps;
  std::string file = "-";
};

struct Row {
  std::string name, type, shape, becomes;
};

// The list, and what is found on the way.
struct Listing {
  std::vector<Row> rows;
  FoundTensors found;
  size_t left_out = 0, unfit = 0;
  int64_t bytes = 0;
};

std::string target_text(const Placement& placement) {
  std::string text = fmt::format("{}", fmt::join(placement.variables, " + "));
  if (placement.index) text += fmt::format("[{}]", *placement.index);
  return placement.per.empty() ? text : fmt::format("{} per {}", text, placement.per);
}

void add_tensor(const std::string& name, const StoredArray& array, const NameMap& map,
                const VariableTypes& types, Listing& listing) {
  int64_t bytes = size_of(array.type);
  for (const int64_t size : array.shape) bytes *= size;
  listing.bytes += bytes;
  Row row{name, to_string(array.type), shape_text(array.shape), "(left out)"};
  if (const std::optional<Placement> placed = map.placed(name)) {
    row.becomes = target_text(*placed);
    try {
      place_tensor({array}, *placed, types, listing.found);
      const bool is_known = types.contains(placed->variables.front());
      if (is_known && placed->variables.size() == 1 && !placed->index)
        require_loadable(array, placed->variables.front(), types.at(placed->variables.front()));
    } catch (const ShapeMismatch&) {
      row.becomes +=
          fmt::format(", which it does not fit: [{}]", to_string(types.at(placed->variables.front()).dims));
      ++listing.unfit;
    } catch (const RunError& error) {
      row.becomes += fmt::format(": {}", error.what());
      ++listing.unfit;
    }
  } else {
    ++listing.left_out;
  }
  listing.rows.push_back(std::move(row));
}

std::string named(const std::vector<std::string>& names) {
  constexpr size_t kMost = 20;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) text += fmt::format("  {}\n", names[i]);
  if (names.size() > kMost) text += fmt::format("  and {} more\n", names.size() - kMost);
  return text;
}

std::string text_of(const Listing& listing, const VariableTypes& types) {
  size_t name = 6, type = 4, shape = 5;
  for (const Row& row : listing.rows) {
    name = std::max(name, row.name.size());
    type = std::max(type, row.type.size());
    shape = std::max(shape, row.shape.size());
  }
  std::string text =
      fmt::format("{:{}}  {:{}}  {:{}}  becomes\n", "tensor", name, "type", type, "shape", shape);
  for (const Row& row : listing.rows)
    text += fmt::format("{:{}}  {:{}}  {:{}}  {}\n", row.name, name, row.type, type, row.shape, shape,
                        row.becomes);
  std::vector<std::string> missing, others;
  for (const auto& [variable, of] : types)
    if (!listing.found.contains(variable)) missing.push_back(variable);
  for (const auto& [variable, tensor] : listing.found)
    if (!types.contains(variable)) others.push_back(variable);
  text += fmt::format("\n{} tensors, {}; {} of {} variables of the model are filled\n", listing.rows.size(),
                      bytes_text(listing.bytes), types.size() - missing.size(), types.size());
  if (listing.left_out > 0) text += fmt::format("tensors that the map leaves out: {}\n", listing.left_out);
  if (listing.unfit > 0) text += fmt::format("tensors that do not fit: {}\n", listing.unfit);
  if (!missing.empty())
    text += fmt::format("variables without a tensor ({}):\n", missing.size()) + named(missing);
  if (!others.empty())
    text += fmt::format("tensors without a variable ({}):\n", others.size()) + named(others);
  return text;
}

int run(Options options) {
  if (options.loads.empty()) options.loads.push_back(published_folder(options.model.model));
  if (options.loads.front().empty())
    throw UserError("no file of weights is given",
                    "give one with --load, or the folder of a published model as MODEL");
  const Sources sources = read_sources(options.model, LayoutFlags{});
  std::vector<Diagnostic> warnings;
  const Model model = read_model_and_layouts({&sources, 1}, options.model, warnings).model;
  VariableTypes types;
  for (const VariableDecl& variable : model.variables) types.emplace(variable.name, variable.type);
  NameMap map(options.maps);
  map.add_of_model(model.published.rules);
  Listing listing;
  for (const std::string& load : options.loads)
    for (const Safetensors& file : read_tensor_files(tensors_file(load))) {
      for (const auto& [name, array] : file.tensors) add_tensor(name, array, map, types, listing);
      for (const auto& [name, why] : file.unreadable) listing.rows.push_back({name, "?", "", why});
    }
  write_text(options.file, text_of(listing, types));
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_model_options(line, options->model);
  line.add_option("--load FILE|FOLDER", options->loads,
                  "the weights, as run takes them (repeatable; default: the folder of the model)");
  line.add_option("--map FROM=TO|FILE", options->maps,
                  "names of tensors in the model, as run takes them (repeatable)");
  add_output_file(line, options->file);
  return [options] { return run(*options); };
}

}  // namespace

const Command kWeightsCommand = {
    .name = "weights",
    .summary = "list the tensors of files of weights, and which variables of a model they fill",
    .description =
        "Each line is a tensor: its name in the file, its type and shape, and the variable of the model that "
        "it fills, "
        "by --map and by the names that the model knows. Below stand the variables without a tensor, and the "
        "tensors "
        "without a variable. Only the headers of files are read.",
    .examples =
        "  mtfc weights Llama-3.2-1B\n"
        "  mtfc weights model.json --load model.safetensors --map names.map\n",
    .setup = setup,
};

}  // namespace mtfc
