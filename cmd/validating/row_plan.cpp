#include "cmd/validating/row_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "cmd/files/included_files.h"
#include "core/compile/pipeline.h"
#include "core/diagnostics/suggest.h"
#include "formats/layout/layout_reader.h"

namespace mtfc {
namespace {

constexpr const char* kDepth = "layers";
// Layers that differ from the others, at the beginning of mixtures of experts.
constexpr const char* kUnlike = "first_sparse";
constexpr const char* kBatch = "batch";
constexpr int64_t kFewRounds = 2;

// A bundled model or family by its name, or a file.
std::string resolved_model(const PublishedRow& row) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::exists(row.model, ignored)) return row.model;
  for (const char* folder : {"", "families"}) {
    const fs::path file = fs::path(library_folder()) / folder / (row.model + ".json");
    if (fs::exists(file, ignored)) return file.string();
  }
  std::vector<std::string> names;
  for (const char* folder : {"", "families"})
    for (const auto& entry : fs::directory_iterator(fs::path(library_folder()) / folder, ignored))
      if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  throw UserError(fmt::format("there is no model '{}'", row.model),
                  "there are " + nearest_listed(row.model, names, 12), row.location);
}

std::optional<int64_t> set_number(const std::vector<std::string>& sets, const std::string& name) {
  for (const std::string& set : sets) {
    if (!set.starts_with(name + "=")) continue;
    int64_t number = 0;
    const char *begin = set.data() + name.size() + 1, *end = set.data() + set.size();
    if (std::from_chars(begin, end, number).ptr == end) return number;
  }
  return std::nullopt;
}

void replace_set(std::vector<std::string>& sets, const std::string& name, int64_t number) {
  for (std::string& set : sets)
    if (set.starts_with(name + "=")) set = fmt::format("{}={}", name, number);
}

[[noreturn]] void contradict(const PublishedRow& row, const std::string& problem) {
  throw UserError(fmt::format("row '{}': {}", row.id, problem), "", row.location);
}

void require_expressible(const PublishedRow& row) {
  if (!row.needs.empty()) {
    const std::string first = row.needs.substr(0, row.needs.find(';'));
    throw RowRefused(first, row.needs);
  }
  if (row.dtype.starts_with("fp8") || row.dtype.starts_with("f8"))
    throw RowRefused("fp8", "the run multiplies in fp8");
  if (row.hardware.find('+') != std::string::npos)
    throw RowRefused("mixed devices", "the devices are " + row.hardware);
  if (row.schedule != "1f1b")
    throw RowRefused("the schedule " + row.schedule, "its stages run by another schedule");
}

// `heads:model` splits the length over `model` as well, between the parts of a layer. The preset megatron has such
// a rule, which counts for these rows alone.
std::string sequence_rule(const std::string& layout) {
  const size_t rule = layout.find("heads:");
  if (rule == std::string::npos) return "";
  const size_t begin = rule + std::string("heads:").size();
  return ",between:length:" + layout.substr(begin, layout.find(',', begin) - begin);
}

std::string layout_of(const PublishedRow& row) {
  std::string layout = row.layout;
  if (row.sequence_parallel) layout += sequence_rule(row.layout);
  if (row.zero > 0) layout += fmt::format("{}zero:{}", layout.empty() ? "" : ",", row.zero);
  return layout;
}

std::vector<double> layers_by_stage(const PublishedRow& row, double layers) {
  const int64_t count = row.stage_count();
  if (row.stages.size() > 1) {
    std::vector<double> all(row.stages.begin(), row.stages.end());
    double sum = 0;
    for (const double one : all) sum += one;
    if (sum != layers)
      contradict(row, fmt::format("its stages have {} layers, and the model {}", sum, layers));
    return all;
  }
  return std::vector<double>(static_cast<size_t>(count), layers / static_cast<double>(count));
}

void set_microbatches(const PublishedRow& row, RowPlan& plan) {
  const bool has_shares = row.stage_count() > 1 || row.part == RowExtent::kLayer;
  plan.rounds = row.microbatches > 1 || has_shares ? kFewRounds : 1;
  if (row.microbatches != plan.rounds) {
    const std::optional<int64_t> batch = set_number(plan.model.sets, kBatch);
    if (!batch) contradict(row, "`set` states no batch, which the microbatches share");
    if (*batch % row.microbatches != 0)
      contradict(row, fmt::format("{} microbatches do not share a batch of {}", row.microbatches, *batch));
    replace_set(plan.model.sets, kBatch, *batch / row.microbatches * plan.rounds);
  }
  if (plan.rounds > 1) plan.model.microbatches = plan.rounds;
}

void set_depths(const PublishedRow& row, RowPlan& plan) {
  const std::optional<int64_t> layers = set_number(plan.model.sets, kDepth);
  if (!layers) {
    if (row.stage_count() > 1 || row.part == RowExtent::kLayer)
      throw RowRefused("shares of a model without layers", "`set` states no layers");
    return;
  }
  plan.layers = static_cast<double>(*layers);
  plan.stage_layers = layers_by_stage(row, plan.layers);
  // The first and the last layer are not like the others, since what surrounds them differs. From three layers on, each
  // further one adds as much.
  const int64_t least = set_number(plan.model.sets, kUnlike).value_or(0) + 3;
  if (*layers > least + 1 || row.stage_count() > 1 || row.part == RowExtent::kLayer)
    plan.depths = {least, least + 1};
  else
    plan.depths = {*layers};
}

}  // namespace

std::string RowPlan::key() const {
  std::vector<std::string> sets = model.sets;
  replace_set(sets, kDepth, 0);
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", model.model, fmt::join(sets, " "),
                     model.dtype.value_or(""), gradients, fmt::join(model.without_passes, " "),
                     flags.mesh.value_or(""), flags.layout.value_or(""), flags.preset_between, rounds,
                     fmt::join(depths, "/"), to_string(conventions.held), to_string(conventions.recompute));
}

ModelOptions RowPlan::at_depth(size_t index) const {
  ModelOptions options = model;
  if (!depths.empty()) replace_set(options.sets, kDepth, depths[index]);
  return options;
}

RowPlan planned(const PublishedRow& row) {
  require_expressible(row);
  RowPlan plan;
  plan.model.model = resolved_model(row);
  plan.model.sets = row.set;
  plan.conventions = {row.held_gradients, row.recompute};
  if (row.recompute >= RowRecompute::kFull) plan.model.sets.push_back("recompute=1");
  if (row.recompute == RowRecompute::kSelective) plan.model.sets.push_back("recompute_scores=1");
  plan.model.dtype = row.dtype == "f16" ? "bf16" : row.dtype;
  plan.model.without_passes = row.without_passes;
  if (row.gradients != plan.model.dtype) plan.gradients = row.gradients;
  if (!row.mesh.empty()) plan.flags.mesh = row.mesh;
  if (const std::string layout = layout_of(row); !layout.empty()) plan.flags.layout = layout;
  plan.flags.preset_between = row.sequence_parallel;
  const int64_t devices = row.mesh.empty() ? 1 : parse_mesh(row.mesh).devices();
  if (devices * row.stage_count() != row.devices)
    contradict(row,
               fmt::format("{} of mesh '{}' are {} devices, not {}",
                           row.stage_count() == 1 ? "one stage" : fmt::format("{} stages", row.stage_count()),
                           row.mesh, devices * row.stage_count(), row.devices));
  set_microbatches(row, plan);
  set_depths(row, plan);
  read_sources(plan.model, plan.flags);  // throws UserError for a layout that is no file and no preset
  return plan;
}

Program compiled(const RowPlan& plan, size_t depth) {
  try {
    const ModelOptions options = plan.at_depth(depth);
    Sources sources = read_sources(options, plan.flags);
    ModelOptions read = options;
    if (!plan.gradients.empty()) {
      const std::string precision = fmt::format(
          "\"precision\": {{\"dtype\": \"{}\", \"gradients\": \"{}\"}}, ", *read.dtype, plan.gradients);
      sources.model_text.insert(sources.model_text.find('{') + 1, precision);
      read.dtype.reset();
    }
    std::vector<Diagnostic> ignored;
    const auto [model, layouts] = read_model_and_layouts({&sources, 1}, read, ignored);
    CompileOptions compile_options = compile_options_of(read);
    compile_options.entries = {"train"};
    return compile(model, layouts.front(), compile_options);
  } catch (const UserError& error) {
    const Diagnostic& first = error.diagnostics().front();
    throw RowRefused(fmt::format("a model and a layout without the error: {}", first.message),
                     to_string(first));
  }
}

}  // namespace mtfc
