#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "cmd/command.h"
#include "cmd/files/files.h"
#include "cmd/launch/launch.h"
#include "cmd/options/command_line.h"
#include "cmd/options/entry_choice.h"
#include "cmd/options/hardware_profile.h"
#include "cmd/options/layout_warnings.h"
#include "cmd/options/model_options.h"
#include "cmd/options/option_checks.h"
#include "cmd/options/text_output.h"
#include "cmd/terminal/work_watch.h"
#include "core/compile/pipeline.h"
#include "core/diagnostics/suggest.h"
#include "core/explain/model_names.h"
#include "core/model/entry_points.h"
#include "core/tensors/name_pattern.h"
#include "formats/report/placement_writer.h"

namespace mtfc {
namespace {

struct Options {
  ModelOptions model;
  LayoutFlags layout;
  std::optional<std::string> tensor;
  std::string entry;
  OutputFlags output;
  std::optional<int64_t> rank;
  bool all = false;
  std::optional<std::string> hardware;  // for the choice of a plan
};

// `model`: the names that the model gives its tensors; none for a saved program.
const PlacedTensor& find_tensor(const std::vector<PlacedTensor>& tensors, const std::string& name,
                                const EntryPoint& entry, const std::optional<ModelNames>& model) {
  if (const PlacedTensor* tensor = find_named(tensors, model ? model->canonical(name) : name)) return *tensor;
  if (model && model->is_known(name)) throw model->not_computed(name);
  std::vector<std::string> names = model ? model->all() : std::vector<std::string>{};
  for (const PlacedTensor& tensor : tensors) names.push_back(tensor.name);
  const std::string near = did_you_mean(name, names);
  throw UserError(
      fmt::format("{} has no tensor '{}'", entry.name, name),
      near.empty() ? "mtfc show --all lists the tensors; --entry names another entry point" : near);
}

// The pattern with `**`, which stands for '/' too, in place of every `*`.
std::string widened(const std::string& pattern) {
  std::string wide;
  for (const char letter : pattern)
    if (letter != '*')
      wide += letter;
    else if (!wide.ends_with("**"))
      wide += "**";
  return wide;
}

// The patterns that have the blocks of a tensor in place of those that `pattern` names before its first `*`.
std::vector<std::string> possible_patterns(const std::string& pattern,
                                           const std::vector<PlacedTensor>& tensors) {
  const size_t slash = pattern.rfind('/', pattern.find('*'));
  if (slash == std::string::npos) return {};
  const auto depth = std::count(pattern.begin(), pattern.begin() + static_cast<ptrdiff_t>(slash), '/');
  std::vector<std::string> patterns;
  for (const PlacedTensor& tensor : tensors) {
    size_t end = tensor.name.find('/');
    for (ptrdiff_t i = 0; i < depth && end != std::string::npos; ++i) end = tensor.name.find('/', end + 1);
    if (end != std::string::npos) patterns.push_back(tensor.name.substr(0, end) + pattern.substr(slash));
  }
  return patterns;
}

// Returns whether one of the tensor's names matches the pattern.
bool fits(const std::string& pattern, const std::string& tensor, const std::optional<ModelNames>& model) {
  return model ? model->fits(pattern, tensor) : matches_name(pattern, tensor);
}

void require_match(const std::string& pattern, const std::vector<PlacedTensor>& tensors,
                   const EntryPoint& entry, const std::optional<ModelNames>& model) {
  const auto is_matched = [&](const std::string& by) {
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](const PlacedTensor& tensor) { return fits(by, tensor.name, model); });
  };
  if (is_matched(pattern)) return;
  if (model)
    for (const std::string& name : model->all())
      if (matches_name(pattern, name)) throw model->not_computed(name);
  const std::string problem = fmt::format("{} has no tensor whose name matches '{}'", entry.name, pattern);
  if (const std::string wide = widened(pattern); is_matched(wide))
    throw UserError(problem, fmt::format("* does not stand for '/', but ** does: did you mean '{}'?", wide));
  const std::string near = did_you_mean(pattern, possible_patterns(pattern, tensors));
  throw UserError(problem, near.empty() ? "mtfc show --all lists the tensors" : near);
}

std::string shown(const Options& options, const Program& program, const EntryPoint& entry,
                  const std::optional<ModelNames>& names, bool as_json) {
  PlacementStyle style;
  style.all = options.all;
  style.rank = options.rank;
  style.width = text_width(options.output.file, style.width);
  const std::vector<PlacedTensor> tensors = placed_tensors(program, entry);
  if (options.tensor && is_name_pattern(*options.tensor)) {
    require_match(*options.tensor, tensors, entry, names);
    style.is_listed = [&](const std::string& name) { return fits(*options.tensor, name, names); };
  }
  if (!options.tensor || style.is_listed)
    return as_json ? placements_json(program, entry, style) : placements_text(program, entry, style);
  const PlacedTensor& tensor = find_tensor(tensors, *options.tensor, entry, names);
  return as_json ? placement_json(program, entry, tensor) : placement_text(program, entry, tensor, style);
}

void check(const Options& options) {
  if (!options.tensor || is_name_pattern(*options.tensor)) return;
  if (options.rank)
    throw UserError("--rank is for the list of tensors; the drawing of one tensor has every rank",
                    "leave out --rank, or the name of the tensor");
  if (options.all)
    throw UserError("--all is for the list of tensors", "leave out --all, or the name of the tensor");
}

int run(const Options& options) {
  const WorkWatch watch(std::cerr, status_place(options.model.quiet));
  check(options);
  const bool as_json = is_json(options.output, "a list of tensors");
  require_one_reader(options.hardware, options.model.model, options.layout.layout);
  const std::optional<Hardware> hardware = hardware_profile(options.hardware);
  const Sources sources = read_sources(options.model, options.layout);
  CompileOptions compile_options = compile_options_of(options.model);
  compile_options.decode = is_for_generation(options.entry);
  compile_options.hardware = hardware ? &*hardware : nullptr;
  std::vector<Diagnostic> warnings;
  std::optional<ModelNames> names;
  const auto compiled = [&](const Model& model, const Layout& layout) {
    Program made = compile(model, layout, compile_options);
    names.emplace(model, chosen_entry(options.entry, made).name);
    return made;
  };
  const Program program = make_program(sources, options.model, compile_options, warnings, compiled);
  const EntryPoint& entry = chosen_entry(options.entry, program);
  for (Diagnostic& idle : idle_warnings(program, entry)) warnings.push_back(std::move(idle));
  show(warnings, options.model.quiet);
  const int64_t devices = program.mesh().devices();
  if (options.rank && *options.rank >= devices)
    throw UserError(fmt::format("there is no rank {}: the mesh has {} device{}", *options.rank, devices,
                                devices == 1 ? "" : "s"),
                    fmt::format("give a rank from 0 to {}", devices - 1));
  write_text(options.output.file, shown(options, program, entry, names, as_json));
  tell_written(options.output.file, options.model.quiet);
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_model_and_layout(line, options->model, options->layout, true);
  line.add_option(
          "TENSOR TENSOR|PATTERN", options->tensor,
          "draw this tensor cut into its shards; with a pattern such as 'layer_0/**', list the tensors "
          "that match it (* stands for any characters but '/', ** for any at all); without it, list all "
          "tensors")
      .no_file();
  add_plan_hardware_option(line, options->hardware);
  line.set_group(OptionGroup::kReport);
  line.add_option("--rank N", options->rank, "list what this rank holds: its part of every tensor")
      .check(whole_number(0));
  line.add_flag("--all", options->all,
                "list also what operations compute (default: inputs, variables and outputs)");
  add_entry_option(line, options->entry, "show");
  add_output_options(line, options->output);
  return [options] { return run(*options); };
}

}  // namespace

const Command kShowCommand = {
    .name = "show",
    .summary = "show how tensors are cut into shards, and which ranks hold them",
    .description =
        "Lists the inputs, variables and outputs of a model with their shapes, how the layout splits them, "
        "and what a device holds of each. With the name of a tensor, it draws the tensor as a matrix that is "
        "cut into its shards, and names the ranks that hold each shard.",
    .examples =
        "  mtfc show model.json --mesh rows:2,cols:2 --layout batch:rows,hidden:cols\n"
        "  mtfc show model.json w1 --mesh rows:2,cols:2 --layout batch:rows,hidden:cols\n"
        "  mtfc show model.json 'layer_0/**' --layout layout.json\n"
        "  mtfc show model.json --layout layout.json --rank 3\n"
        "  mtfc show program.json --all --format json",
    .setup = setup,
};

}  // namespace mtfc
