#include "cmd/validating/outside_stages.h"

#include <algorithm>
#include <numeric>

#include "core/cost/collective_time.h"

namespace mtfc {
namespace {

// The share of the rest that the first stage has; the last has the others.
double share_before(const PerZone& zones) {
  const double before = std::max(zones[kBefore], 0.0), behind = std::max(zones[kBehind], 0.0);
  return before + behind > 0 ? before / (before + behind) : 0;
}

// The seconds in which a microbatch's activations go to the next stage.
double send_seconds(double bytes, size_t stages, const Mesh& mesh, const Hardware& hardware) {
  const Mesh all({{"stages", static_cast<int64_t>(stages)}, {"stage", mesh.devices()}});
  return collective_time(CollectiveKind::kPermute, {0}, all, bytes, hardware).seconds();
}

// The figures of each stage, which has some layers, and the ends of the model if it is the first or the last.
class Stages {
 public:
  Stages(const DepthFigures& depths, const Pipeline& pipeline)
      : none_(depths.at(0)),
        one_(depths.at(1)),
        pipeline_(pipeline),
        rounds_(static_cast<double>(depths.rounds)) {}

  bool is_first(size_t i) const { return i == 0; }
  bool is_last(size_t i) const { return i + 1 == pipeline_.layers.size(); }
  double slope(RunTime ProgramFigures::*figure, double RunTime::*time) const {
    return one_.*figure.*time - none_.*figure.*time;
  }

  // A figure whose rest is shared by the ends as their times are.
  double share(double each, double rest, double before, size_t i) const {
    return each * pipeline_.layers[i] + (is_first(i) ? rest * before : 0) +
           (is_last(i) ? rest * (1 - before) : 0);
  }
  double round_s(size_t i) const {
    const auto of_stage = [&](double RunTime::*time) {
      return share(slope(&ProgramFigures::round, time), std::max(none_.round.*time, 0.0),
                   share_before(none_.round_zone_s), i);
    };
    return std::max(of_stage(&RunTime::device), of_stage(&RunTime::processor));
  }
  double update_s(size_t i) const {
    const auto of_stage = [&](double RunTime::*time) {
      const double rest = none_.step.*time - rounds_ * (none_.round.*time);
      const double each = slope(&ProgramFigures::step, time) - rounds_ * slope(&ProgramFigures::round, time);
      return share(each, std::max(rest, 0.0), share_before(none_.zone_state_bytes), i);
    };
    return std::max({of_stage(&RunTime::device), of_stage(&RunTime::processor), 0.0});
  }
  double bytes(size_t i) const {
    const double layers = pipeline_.layers[i];
    const auto zone = [&](PerZone ProgramFigures::*figure, Zone part) {
      return std::array{(none_.*figure)[part], (one_.*figure)[part] - (none_.*figure)[part]};
    };
    const auto [lasting, each] = zone(&ProgramFigures::zone_state_bytes, kLayers);
    const double at_ends = (is_first(i) ? none_.zone_state_bytes[kBefore] : 0) +
                           (is_last(i) ? none_.zone_state_bytes[kBehind] : 0);
    const double state = lasting + each * layers + at_ends;
    // Gradients that layers do not add belong to the ends. A variable that both ends use is held by both.
    const auto gradients = [&](Zone part) {
      const auto [of_ends, of_layer] = zone(&ProgramFigures::zone_gradient_bytes, part);
      return of_layer * layers + std::max(of_ends, 0.0) * at_ends / std::max(none_.state_bytes, 1.0);
    };
    const auto [transient, kept] = zone(&ProgramFigures::zone_peak_bytes, kLayers);
    double most = gradients(kLayers) + std::max(transient, 0.0) + kept * layers * alive(i);
    if (is_last(i)) {
      const auto [head, under] = zone(&ProgramFigures::zone_peak_bytes, kBehind);
      most = std::max(most, gradients(kBehind) + head + under * layers * alive(i));
    }
    // The gradient of the embedding is made once the layers have let go of a microbatch.
    if (is_first(i))
      most = std::max(most,
                      gradients(kBefore) + none_.zone_peak_bytes[kBefore] + kept * layers * (alive(i) - 1));
    return state + most;
  }

 private:
  // The microbatches whose activations stage `i` keeps. With v chunks, it runs a chunk for p microbatches, and then the
  // next one. Until its first backward pass, it has begun v - 1 chunks of p microbatches, one of the last, and two more
  // for each stage behind it.
  double alive(size_t i) const {
    const auto stages = static_cast<double>(pipeline_.layers.size());
    const double behind = stages - static_cast<double>(i), v = pipeline_.chunks;
    const double kept = v > 1 ? (2 * (behind - 1) + (v - 1) * stages + 1) / v : behind;
    return std::min(pipeline_.microbatches, kept);
  }

  const ProgramFigures none_, one_;
  const Pipeline& pipeline_;
  const double rounds_;
};

}  // namespace

PipelineFigures pipeline_figures(const DepthFigures& depths, const Pipeline& pipeline, const Mesh& mesh,
                                 const Hardware& hardware) {
  const Stages stages(depths, pipeline);
  const size_t count = pipeline.layers.size();
  const double sends =
      2 * pipeline.chunks * send_seconds(depths.shallow.sent_on_bytes, count, mesh, hardware);
  PipelineFigures figures;
  double all = 0, most = 0, update = 0;
  size_t slowest = 0;
  for (size_t i = 0; i < count; ++i) {
    const double seconds = stages.round_s(i) + sends;
    if (seconds > most) slowest = i;
    most = std::max(most, seconds);
    all += seconds;
    update = std::max(update, stages.update_s(i));
    figures.bytes.push_back(stages.bytes(i));
  }
  const double bubble = (all - most) / pipeline.chunks;
  figures.seconds = pipeline.microbatches * most + bubble + update;
  const ProgramFigures share = depths.at(pipeline.layers[slowest]);
  for (const auto& [part, seconds] : share.of_round_s)
    figures.parts_s[part] += pipeline.microbatches * seconds;
  for (const auto& [part, seconds] : share.once_s) figures.parts_s[part] += seconds;
  figures.parts_s["sends between stages"] = pipeline.microbatches * sends;
  figures.parts_s["bubble"] = bubble;
  return figures;
}

}  // namespace mtfc
