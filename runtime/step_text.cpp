#include "runtime/step_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace mtfc {
namespace {

constexpr size_t kToldInFull = 4;

std::string operation_text(const Step& step) {
  switch (step.kind) {
    case StepKind::kKernel:
      return std::string(step.op->signature.name) + " ";
    case StepKind::kStart:
      return "start of " + to_string(step.collective) + " ";
    case StepKind::kWait:
      return to_string(step.collective) + " ";
    case StepKind::kFused:
    case StepKind::kSlice:
      return "";
  }
  return "";
}

std::string point_text(const Program& program, const MissingRank& rank) {
  if (!rank.known) return "whose place can't be read from here";
  const auto entry = static_cast<size_t>(rank.point.entry), step = static_cast<size_t>(rank.point.step);
  // What is read from another process is not trusted to name a step.
  if (rank.point.entry < 0 || entry >= program.entry_points.size() ||
      step >= program.entry_points[entry].steps.size())
    return "which is between steps";
  const EntryPoint& at = program.entry_points[entry];
  return "which is at " + step_text(at, at.steps[step], rank.point.train_step);
}

}  // namespace

std::string step_text(const EntryPoint& entry, const Step& step, int64_t train_step) {
  return fmt::format("{}, step {}: {}{}'{}'{}", entry.name, train_step + 1,
                     step.source.empty() ? "" : step.source + " (", operation_text(step), step.name,
                     step.source.empty() ? "" : ")");
}

std::string missing_text(const Program& program, const WaitError& error) {
  const std::vector<MissingRank>& missing = error.missing();
  std::string text = fmt::format("waited {} s for ", error.seconds());
  const size_t told = std::min(missing.size(), kToldInFull);
  for (size_t i = 0; i < told; ++i)
    text += fmt::format("{}rank {}, {}", i == 0 ? "" : ", and ", missing[i].rank,
                        point_text(program, missing[i]));
  if (missing.size() > told) text += fmt::format(", and {} more", missing.size() - told);
  return text + " (--watchdog says how long to wait)";
}

}  // namespace mtfc
