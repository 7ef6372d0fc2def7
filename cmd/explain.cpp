
#include <algorithm>
#include <cctype>
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
#include "cmd/options/text_output.h"
#include "cmd/terminal/work_watch.h"
#include "core/model/entry_points.h"
#include "formats/report/explanation_writer.h"

namespace mtfc {
namespace {

constexpr size_t kMostListed = 10;

struct Options {
  ModelOptions model;
  LayoutFlags layout;
  std::optional<std::string> what;  // a tensor or the number of a step; nothing for the list
  std::string entry;
  OutputFlags output;
  std::optional<std::string> hardware;  // for the choice of a plan
};

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string explained(const std::string& what, const ExplanationStyle& style, bool as_json) {
  const std::string head = layout_text(style);
  const auto written = [&](const auto& explanation) {
    return as_json ? explanation_json(explanation, style) : head + explanation_text(explanation, style);
  };
  if (what.empty()) return as_json ? list_json(kMostListed, style) : head + list_text(kMostListed, style);
  if (is_number(what)) return written(explain_step(style.program, std::stoll(what)));
  return written(explain_tensor(style.program, what));
}

int run(const Options& options) {
  const WorkWatch watch(std::cerr, status_place(options.model.quiet));
  const bool as_json = is_json(options.output, "an explanation");
  require_one_reader(options.hardware, options.model.model, options.layout.layout);
  const std::optional<Hardware> hardware = hardware_profile(options.hardware);
  const Sources sources = read_sources(options.model, options.layout);
  std::vector<Diagnostic> warnings;
  const auto [model, layouts] = read_model_and_layouts({&sources, 1}, options.model, warnings);
  CompileOptions compile_options = compile_options_of(options.model);
  compile_options.decode = is_for_generation(options.entry);
  compile_options.hardware = hardware ? &*hardware : nullptr;
  const Layout& layout = layouts.front();
  const Program program = compile(model, layout, compile_options);
  const EntryPoint& entry = chosen_entry(options.entry, program);
  for (Diagnostic& idle : idle_warnings(program, entry)) warnings.push_back(std::move(idle));
  show(warnings, options.model.quiet);
  const ExplainedProgram explains(model, layout, compile_options, program, entry);
  ExplanationStyle style{explains};
  style.device_memory = hardware ? memory_of(*hardware) : 0;
  style.width = text_width(options.output.file, style.width);
  style.line_width = text_width(options.output.file, style.line_width);
  write_text(options.output.file, explained(options.what.value_or(""), style, as_json));
  tell_written(options.output.file, options.model.quiet);
  return kExitSuccess;
}

std::function<int()> setup(CommandLine& line) {
  auto options = std::make_shared<Options>();
  add_model_and_layout(line, options->model, options->layout);
  line.add_option("WHAT TENSOR|STEP", options->what,
                  "a tensor, or the number of a step as compile prints it; without it, the ten "
                  "collectives that send most are listed")
      .no_file();
  add_plan_hardware_option(line, options->hardware);
  line.set_group(OptionGroup::kReport);
  add_entry_option(line, options->entry, "explain");
  add_output_options(line, options->output);
  return [options] { return run(*options); };
}

}  // namespace

const Command kExplainCommand = {
    .name = "explain",
    .summary = "say why a tensor is split as it is, what causes a collective and what would remove it",
    .description =
        "Says why a tensor is split as it is, and where that comes from; or, for the number of a step, "
        "which operations a collective connects, and which change of the layout removes it. Every change "
        "that it proposes has been compiled, so that its figures are exact.",
    .examples =
        "  mtfc explain model.json --layout layout.json\n"
        "  mtfc explain model.json 17 --layout layout.json\n"
        "  mtfc explain model.json layer_3/attention/wo --layout layout.json --propagate\n"
        "  mtfc explain model.json logits --mesh all:4 --layout batch:all --entry evaluate --format json",
    .setup = setup,
};

}  // namespace mtfc
