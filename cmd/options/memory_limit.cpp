#include "cmd/options/memory_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "cmd/options/command_line.h"
#include "cmd/options/hardware_profile.h"
#include "core/diagnostics/error.h"
#include "core/program/memory_use.h"
#include "core/program/repeated_names.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr size_t kNamed = 5;
constexpr size_t kKindsNamed = 6;

// `activation h (1.5 MB)`; the name of a workspace says already what it is.
std::string tensor_text(const AliveTensor& tensor, int64_t limit) {
  const std::string kind = tensor.name.starts_with(tensor.kind + " of ") ? "" : tensor.kind + " ";
  return fmt::format("{}{} ({})", kind, tensor.name, bytes_beside(tensor.bytes, limit));
}

std::string largest_tensors(const Program& program, const EntryPoint& entry, int64_t limit) {
  const size_t peak = memory_use(entry).peak;
  const std::vector<AliveTensor> alive = alive_at(program, entry, peak);
  std::string text = peak < entry.steps.size() ? fmt::format("at '{}' ", entry.steps[peak].name) : "";
  text += "the largest tensors are ";
  for (size_t i = 0; i < std::min(kNamed, alive.size()); ++i)
    text += (i == 0 ? "" : ", ") + tensor_text(alive[i], limit);
  return alive.empty() ? "" : text;
}

// Names the kinds of tensors that take most memory, the largest first. The same tensor of each layer is of one kind.
std::string kinds_text(const std::map<std::string, int64_t, std::less<>>& tensors, int64_t limit) {
  struct Kind {
    int64_t bytes = 0;
    int count = 0;
  };
  std::map<std::string, Kind> kinds;
  for (const auto& [name, bytes] : tensors) {
    Kind& kind = kinds[unnumbered(name)];
    kind.bytes += bytes;
    ++kind.count;
  }
  std::vector<std::pair<std::string, Kind>> order(kinds.begin(), kinds.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  std::string text;
  for (size_t i = 0; i < std::min(kKindsNamed, order.size()); ++i)
    text += fmt::format("{}{}{} ({})", i == 0 ? "" : ", ",
                        order[i].second.count > 1 ? fmt::format("{} ", order[i].second.count) : "",
                        order[i].first, bytes_beside(order[i].second.bytes, limit));
  return order.size() > kKindsNamed ? text + fmt::format(" and {} smaller kinds", order.size() - kKindsNamed)
                                    : text;
}

constexpr const char* kFitHint = "; mtfc search --fit says on how many devices a training step fits";

std::string over_limit(const EntryPoint& entry, int64_t limit) {
  return fmt::format("the program needs {} per device for '{}', {} more than the limit of {}",
                     bytes_beside(entry.arena_bytes, limit), entry.name,
                     bytes_beside(entry.arena_bytes - limit, limit), memory_text(limit));
}

}  // namespace

std::string read_bytes(std::string& text) {
  const std::optional<int64_t> bytes = parse_bytes(text);
  if (!bytes) return fmt::format("expected bytes above 0, as in 10GiB, 512MiB or 4000000, found '{}'", text);
  text = fmt::format("{}", *bytes);
  return "";
}

void add_memory_limit(CommandLine& line, int64_t& limit, const std::string& help) {
  line.set_group(OptionGroup::kLimits);
  line.add_option("--memory-limit B", limit, help).transform(read_bytes);
}

FittedProgram compile_within(const Model& model, const Layout& layout, const CompileOptions& options,
                             int64_t limit, const Hardware* hardware) {
  return compile_within(model, layout, options, limit,
                        hardware ? *hardware : hardware_profile(std::string(kInventedProfile)));
}

std::vector<Diagnostic> limit_notes(const FittedProgram& fitted, int64_t limit) {
  std::vector<Diagnostic> notes;
  if (fitted.scattered_from > 0)
    notes.push_back(plain_note(fmt::format(
        "to fit into {}, each microbatch scatters its gradients, which sends more; adding up whole "
        "gradients over all microbatches first would need {} per device",
        limit > 0 ? memory_text(limit) : "the memory of a device",
        bytes_beside(fitted.scattered_from, limit))));
  if (fitted.turned > 0)
    notes.push_back(plain_note(
        fmt::format("to fit into {}, {} product{} in turns, so that no device holds a whole operand or "
                    "partial result",
                    memory_text(limit), fitted.turned, fitted.turned == 1 ? " runs" : "s run")));
  if (!fitted.recomputation) return notes;
  const Recomputation& made = *fitted.recomputation;
  const double least = made.is_best ? made.seconds : std::min(made.seconds, made.least_seconds);
  notes.push_back(
      plain_note(fmt::format("to fit into {}, the backward pass computes {} tensors again: {}",
                             memory_text(limit), made.tensors.size(), kinds_text(made.tensors, limit))));
  notes.push_back(plain_note(
      fmt::format("recomputation takes {} a step (lower bound: {}), and the predicted step {} instead of "
                  "{}; the peak of memory falls from {} to {} (lower bound: {})",
                  seconds_text(made.seconds), seconds_text(least), seconds_text(made.step_s),
                  seconds_text(made.step_before_s), bytes_beside(made.memory_before, limit),
                  bytes_beside(made.memory, limit), bytes_beside(made.least_memory, limit))));
  return notes;
}

void require_fits(const FittedProgram& fitted, int64_t limit) {
  if (!fitted.too_large) return require_fits(fitted.program, limit);
  const TooLarge& large = *fitted.too_large;
  const EntryPoint& train = *fitted.program.find("train");
  const std::string again =
      large.smallest < train.arena_bytes
          ? fmt::format(
                "the best choice of what to compute again and in turns that was found still needs {}; ",
                bytes_beside(large.smallest, limit))
          : "";
  throw UserError(
      over_limit(train, limit),
      fmt::format("{}no choice needs less than {}; {}{}", again, bytes_beside(large.least_memory, limit),
                  largest_tensors(fitted.program, train, limit), kFitHint));
}

void require_fits(const Program& program, int64_t limit) {
  const EntryPoint* largest = nullptr;
  for (const EntryPoint& entry : program.entry_points)
    if (!largest || entry.arena_bytes > largest->arena_bytes) largest = &entry;
  if (limit == 0 || !largest || largest->arena_bytes <= limit) return;
  throw UserError(over_limit(*largest, limit),
                  largest_tensors(program, *largest, limit) + (largest->name == "train" ? kFitHint : ""));
}

}  // namespace mtfc
