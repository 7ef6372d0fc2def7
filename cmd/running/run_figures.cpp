#include "cmd/running/run_figures.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/cost/cost.h"
#include "core/cost/training_cost.h"
#include "core/model/training.h"
#include "runtime/calibrate/calibration_parts.h"

namespace mtfc {

Hardware measured_peaks(const EntryPoint& entry, int64_t devices) {
  std::set<DType> dtypes = {DType::kF32};
  for (const Value& value : entry.values)
    if (value.type.dtype == DType::kF64 || value.type.dtype == DType::kBF16) dtypes.insert(value.type.dtype);
  Hardware hardware;
  hardware.name = "this machine";
  hardware.flops = quick_peaks({dtypes.begin(), dtypes.end()});
  for (auto& [dtype, rate] : hardware.flops) rate /= static_cast<double>(devices);
  return hardware;
}

Hardware higher_peaks(const Hardware& a, const Hardware& b) {
  Hardware higher = a;
  for (auto& [dtype, rate] : higher.flops)
    if (const auto other = b.flops.find(dtype); other != b.flops.end()) rate = std::max(rate, other->second);
  return higher;
}

StepWorkload workload_of(const Program& program, const EntryPoint& entry, int64_t rows,
                         const Hardware* hardware) {
  StepWorkload work{rows, tokens_per_step(program)};
  if (hardware) work.peak.seconds = useful_seconds_at_peak(program.mesh(), entry, *hardware);
  return work;
}

std::optional<double> learning_rate_of_last_step(const Executor& executor, const EntryPoint& entry) {
  const Program& program = executor.program();
  if (!program.learning_rate || entry.name != "train") return std::nullopt;
  if (program.learning_rate->schedules.empty()) return program.learning_rate->constant;
  // The variable, and not the step of the run: weights may be loaded together with the state of their optimizer.
  for (size_t v = 0; v < program.variables.size(); ++v) {
    const VariableDecl& variable = program.variables[v].decl;
    if (variable.name != kStepName || variable.type.dtype != DType::kI64 || !variable.type.dims.empty())
      continue;
    int64_t step = 0;
    std::memcpy(&step, executor.variable(v, 0).data, sizeof step);
    return program.learning_rate->at(static_cast<double>(std::max<int64_t>(step, 1)));
  }
  return std::nullopt;
}

StepFigures figures_of(const StepWorkload& work, double seconds, std::optional<double> learning_rate,
                       const RunClock& begin) {
  StepFigures figures;
  figures.step_time = seconds;
  figures.samples_per_second = static_cast<double>(work.rows) / seconds;
  figures.learning_rate = learning_rate;
  if (work.tokens > 0) figures.tokens_per_second = static_cast<double>(work.tokens) / seconds;
  figures.mfu = efficiency(work.peak, seconds);
  figures.wall_time = begin.seconds();
  return figures;
}

}  // namespace mtfc
