#include "cmd/validating/row_predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "cmd/options/hardware_profile.h"
#include "cmd/validating/outside_stages.h"
#include "core/diagnostics/parallel.h"
#include "core/diagnostics/progress.h"

namespace mtfc {
namespace {

constexpr const char* kOverlapped = "overlapped";

// The parts of the predicted time of one program. Collectives and kernels that run at the same time count twice, which
// the last part takes back.
std::map<std::string, double> parts_of(const ProgramFigures& figures, double microbatches, double seconds) {
  std::map<std::string, double> parts = figures.once_s;
  for (const auto& [part, each] : figures.of_round_s) parts[part] += each * microbatches;
  double sum = 0;
  for (const auto& [unused, part] : parts) sum += part;
  parts[kOverlapped] = seconds - sum;
  return parts;
}

// By how much a step ends earlier if gradients are reduced beside the last microbatch's backward pass.
double hidden_reduction(const PublishedRow& row, const ProgramFigures& figures) {
  if (row.reduction != RowReduction::kInLast) return 0;
  const auto [seconds, slower_kernels, slower_reduction] = figures.reduction;
  const double both = std::min(figures.backward_s * slower_kernels, seconds * slower_reduction);
  return std::max(both / slower_kernels + both / slower_reduction - both, 0.0);
}

void predict_single(const RowPlan& plan, const DepthFigures& depths, RowResult& result) {
  const ProgramFigures figures = depths.at(plan.layers);
  const auto microbatches = static_cast<double>(result.row.microbatches);
  const double further = microbatches - static_cast<double>(plan.rounds);
  result.seconds =
      figures.step.plus(figures.round, further).seconds() - hidden_reduction(result.row, figures);
  result.parts_s = parts_of(figures, microbatches, result.seconds);
  result.bytes = result.most_bytes = figures.peak_bytes + static_cast<double>(result.row.workspace_bytes);
}

// A microbatch on one layer is by how much it takes longer with one layer more.
void predict_layer(const DepthFigures& depths, RowResult& result) {
  const ProgramFigures none = depths.at(0), one = depths.at(1);
  result.seconds = one.round.plus(none.round, -1).seconds();
  for (const auto& [part, seconds] : one.of_round_s) {
    const auto without = none.of_round_s.find(part);
    result.parts_s[part] = seconds - (without == none.of_round_s.end() ? 0 : without->second);
  }
  double sum = 0;
  for (const auto& [unused, part] : result.parts_s) sum += part;
  result.parts_s[kOverlapped] = result.seconds - sum;
}

void predict_stages(const RowPlan& plan, const DepthFigures& depths, const Mesh& mesh,
                    const Hardware& hardware, RowResult& result) {
  Pipeline pipeline;
  pipeline.layers = plan.stage_layers;
  pipeline.microbatches = static_cast<double>(result.row.microbatches);
  pipeline.chunks = static_cast<double>(result.row.chunks);
  const PipelineFigures figures = pipeline_figures(depths, pipeline, mesh, hardware);
  result.has_outside_stages = true;
  result.seconds = figures.seconds;
  result.parts_s = figures.parts_s;
  double sum = 0;
  for (const auto& [unused, part] : result.parts_s) sum += part;
  result.parts_s[kOverlapped] = result.seconds - sum;
  const double most = *std::max_element(figures.bytes.begin(), figures.bytes.end());
  const double bytes = result.row.stage == RowStage::kFirst  ? figures.bytes.front()
                       : result.row.stage == RowStage::kLast ? figures.bytes.back()
                                                             : most;
  result.most_bytes = most + static_cast<double>(result.row.workspace_bytes);
  result.bytes = bytes + static_cast<double>(result.row.workspace_bytes);
}

}  // namespace

RowProfiles::RowProfiles(const std::vector<std::string>& given) {
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    const std::string profile = equals == std::string::npos ? text : text.substr(equals + 1);
    const std::string name = equals == std::string::npos ? profile : text.substr(0, equals);
    if (equals == std::string::npos && given.size() > 1)
      throw UserError(
          fmt::format("--hardware {} is for all rows, so that no other --hardware can count", text),
          "as in --hardware h100=mine.json --hardware a100-80g=other.json");
    if (equals == std::string::npos) for_all_ = name;
    found_[name] = std::make_unique<Hardware>(hardware_profile(profile));
  }
}

const Hardware& RowProfiles::find(const std::string& name) const {
  const std::string& kept = key(name);
  const auto found = found_.find(kept);
  if (found != found_.end()) return *found->second;
  return *(found_[kept] = std::make_unique<Hardware>(hardware_profile(kept)));
}

void RowProfiles::replace(const std::string& name, Hardware hardware) {
  *found_.at(key(name)) = std::move(hardware);
}

RowPredictions::RowPredictions(std::vector<PublishedRow> rows, const RowProfiles& profiles)
    : profiles_(profiles) {
  std::vector<Diagnostic> errors;
  std::map<std::string, size_t> known;
  std::set<std::string> told;
  for (PublishedRow& row : rows) {
    const size_t index = results_.size();
    results_.emplace_back();
    results_.back().row = std::move(row);
    const PublishedRow& own = results_.back().row;
    try {
      RowPlan plan = planned(own);
      profiles.find(own.hardware);
      const auto [group, is_new] = known.try_emplace(plan.key(), groups_.size());
      if (is_new) groups_.emplace_back();
      groups_[group->second].rows.push_back(index);
      groups_[group->second].plans.push_back(std::move(plan));
    } catch (const RowRefused& refused) {
      refuse(index, refused);
    } catch (const UserError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) {
        if (!told.insert(diagnostic.message).second) continue;
        errors.push_back(diagnostic);
        if (errors.back().location.line == 0) errors.back().location = own.location;
      }
    }
  }
  if (!errors.empty()) throw UserError(std::move(errors));
}

void RowPredictions::refuse(size_t row, const RowRefused& refused) {
  results_[row].refused_for = refused.feature();
  results_[row].reason = refused.what();
}

void RowPredictions::compile(RowGroup& group) {
  const RowPlan& plan = group.plans.front();
  try {
    for (size_t depth = 0; depth < std::max<size_t>(plan.depths.size(), 1); ++depth)
      group.programs.emplace_back(compiled(plan, depth), plan.rounds,
                                  plan.depths.empty() ? 0 : plan.depths[depth], plan.conventions);
  } catch (const RowRefused& refused) {
    group.programs.clear();
    for (const size_t row : group.rows) refuse(row, refused);
  }
}

void RowPredictions::price(const RowGroup& group) {
  if (group.programs.empty()) return;
  std::map<const Hardware*, DepthFigures> priced;
  for (size_t i = 0; i < group.rows.size(); ++i) {
    RowResult& result = results_[group.rows[i]];
    const RowPlan& plan = group.plans[i];
    const Hardware& hardware = profiles_.find(result.row.hardware);
    try {
      const auto [found, is_new] = priced.try_emplace(&hardware);
      DepthFigures& depths = found->second;
      if (is_new) {
        const CountedProgram &shallow = group.programs.front(), &deep = group.programs.back();
        depths.shallow = program_figures(shallow, hardware);
        depths.deep = group.programs.size() > 1 ? program_figures(deep, hardware) : depths.shallow;
        depths.shallow_layers = static_cast<double>(shallow.layers);
        depths.deep_layers = static_cast<double>(deep.layers);
        depths.rounds = plan.rounds;
      }
      if (result.row.part == RowExtent::kLayer)
        predict_layer(depths, result);
      else if (result.row.stage_count() > 1)
        predict_stages(plan, depths, group.programs.front().program.mesh(), hardware, result);
      else
        predict_single(plan, depths, result);
      if (result.row.software_s) {
        result.seconds += *result.row.software_s;
        result.parts_s["other software"] = *result.row.software_s;
      }
      // The products that the run needs, at the peak of all devices of all stages.
      const double useful = result.row.part == RowExtent::kLayer
                                ? depths.at(1).useful_s - depths.at(0).useful_s
                                : depths.at(plan.layers).useful_s;
      result.useful_s = useful / static_cast<double>(plan.rounds * result.row.stage_count()) *
                        static_cast<double>(result.row.microbatches);
      result.device_bytes = static_cast<double>(memory_of(hardware));
    } catch (const UserError& error) {
      refuse(group.rows[i], RowRefused("a profile with all links", error.what()));
    }
  }
}

void RowPredictions::predict() {
  std::atomic<int64_t> done = 0;
  const auto tell = teller_of_thread();
  const auto all = static_cast<int64_t>(groups_.size());
  each_in_parallel(groups_.size(), [&](size_t i) {
    tell({"pricing rows", done, all, "programs"});
    if (groups_[i].programs.empty()) {
      compile(groups_[i]);
      price(groups_[i]);
      groups_[i].programs.clear();
    } else {
      price(groups_[i]);
    }
    ++done;
  });
}

void RowPredictions::compile() {
  std::atomic<int64_t> done = 0;
  const auto tell = teller_of_thread();
  each_in_parallel(groups_.size(), [&](size_t i) {
    tell({"compiling rows", done, static_cast<int64_t>(groups_.size()), "programs"});
    compile(groups_[i]);
    ++done;
  });
}

void RowPredictions::price(const std::function<bool(const PublishedRow&)>& wanted) {
  std::vector<const RowGroup*> groups;
  for (const RowGroup& group : groups_)
    if (std::any_of(group.rows.begin(), group.rows.end(),
                    [&](size_t row) { return wanted(results_[row].row); }))
      groups.push_back(&group);
  each_in_parallel(groups.size(), [&](size_t i) { price(*groups[i]); });
}

}  // namespace mtfc
