#include "cmd/options/reshard_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cmd/options/command_line.h"
#include "cmd/options/memory_limit.h"
#include "core/diagnostics/error.h"
#include "core/program/collective_cost.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr size_t kMostNamed = 5;

struct Reshard {
  int64_t bytes = 0;
  const EntryPoint* entry = nullptr;
  const Step* step = nullptr;
};

std::vector<Reshard> reshards_above(const Program& program, int64_t limit) {
  std::vector<Reshard> found;
  for (const EntryPoint& entry : program.entry_points)
    for (const Step& step : entry.steps) {
      const auto* start = step.as<StartCollective>();
      if (!start || start->moves.op || reduces(start->collective.kind)) continue;
      const int64_t bytes = largest_collective_cost(entry, step, program.mesh()).bytes_sent;
      if (bytes > limit) found.push_back({bytes, &entry, &step});
    }
  std::stable_sort(found.begin(), found.end(),
                   [](const Reshard& a, const Reshard& b) { return a.bytes > b.bytes; });
  return found;
}

std::string form_text(const Program& program, const EntryPoint& entry, ValueId id) {
  const Value& value = entry.values[id];
  return fmt::format("[{}]", to_string(value.type.dims, value.sharding, program.mesh()));
}

}  // namespace

void add_reshard_limit(CommandLine& line, int64_t& limit) {
  line.set_group(OptionGroup::kLimits);
  line.add_option(
          "--max-reshard-bytes B", limit,
          "refuse a program that reshards a tensor by sending more than B bytes per device, as in 64MiB")
      .transform(read_bytes);
}

void require_small_reshards(const Program& program, int64_t limit) {
  if (limit == 0) return;
  const std::vector<Reshard> found = reshards_above(program, limit);
  if (found.empty()) return;
  std::vector<Diagnostic> diagnostics;
  for (size_t i = 0; i < std::min(found.size(), kMostNamed); ++i) {
    const auto& [bytes, entry, step] = found[i];
    diagnostics.push_back(
        {{},
         fmt::format("{}: '{}' is resharded for {} from {} to {} by {}, and a device sends {}, more than {}",
                     entry->name, tensor_name(entry->values[step->inputs[0]]),
                     step->source.empty() ? "the compiler" : step->source,
                     form_text(program, *entry, step->inputs[0]),
                     form_text(program, *entry, step->outputs[0]), to_string(step->collective().kind),
                     bytes_beside(bytes, limit), memory_text(limit)),
         i == 0 ? "annotate the tensor, or the operand that it is brought together with" : ""});
  }
  if (found.size() > kMostNamed)
    diagnostics.push_back(
        {{}, fmt::format("{} more reshards are above the limit", found.size() - kMostNamed), ""});
  throw UserError(diagnostics);
}

}  // namespace mtfc
