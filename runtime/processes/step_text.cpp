#include "runtime/processes/step_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace mtfc {
namespace {

constexpr size_t kToldInFull = 4;

std::string operation_text(const Step& step) {
  switch (step.kind()) {
    case StepKind::kKernel:
      return std::string(step.op()->signature.name) + " ";
    case StepKind::kRing:
      return "ring " + std::string(step.op()->signature.name) + " ";
    case StepKind::kStart:
      return "start of " + to_string(step.collective().kind) + " ";
    case StepKind::kWait:
      return to_string(step.collective().kind) + " ";
    case StepKind::kFused:
    case StepKind::kSlice:
      return "";
    case StepKind::kLoop:
    case StepKind::kLeave:
    case StepKind::kRepeat:
      break;
  }
  return to_string(step.kind()) + " ";
}

std::string point_text(const Program& program, const MissingRank& rank) {
  if (!rank.known) return "which does not answer";
  const auto entry = static_cast<size_t>(rank.point.entry), step = static_cast<size_t>(rank.point.step);
  // Memory of another process is not trusted to name a valid step.
  if (rank.point.entry < 0 || entry >= program.entry_points.size() ||
      step >= program.entry_points[entry].steps.size())
    return "which is between steps";
  const EntryPoint& at = program.entry_points[entry];
  return "which is at " + step_text(at, at.steps[step], rank.point.train_step);
}

}  // namespace

std::string step_text(const EntryPoint& entry, const Step& step, int64_t train_step) {
  const size_t slash = step.name.rfind('/');
  const std::string kind = operation_text(step);
  const bool expanded = step.kind() == StepKind::kKernel && slash != std::string::npos &&
                        !entry.values[step.outputs[0]].from_model &&
                        step.name.compare(slash + 1, kind.size() - 1, kind, 0, kind.size() - 1) == 0;
  // The name of an operation that the user's was expanded into means nothing to them: `gather in 'loss'`.
  const std::string operation = expanded ? fmt::format("{}in '{}'", kind, step.name.substr(0, slash))
                                         : fmt::format("{}'{}'", kind, step.name);
  return fmt::format("{}, step {}: {}", entry.name, train_step + 1,
                     step.source.empty() ? operation : fmt::format("{} ({})", step.source, operation));
}

std::string missing_text(const Program& program, const WaitError& error) {
  const std::vector<MissingRank>& missing = error.missing();
  std::string text = fmt::format("waited {} s for ", error.seconds());
  const size_t told = std::min(missing.size(), kToldInFull);
  for (size_t i = 0; i < told; ++i)
    text += fmt::format("{}rank {}, {}", i == 0 ? "" : ", and ", missing[i].rank,
                        point_text(program, missing[i]));
  if (missing.size() > told) text += fmt::format(", and {} more", missing.size() - told);
  return text + " (--watchdog sets how long to wait)";
}

}  // namespace mtfc
