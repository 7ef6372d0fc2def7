#include "cmd/options/memory_limit.h"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/options/command_line.h"
#include "core/diagnostics/error.h"
#include "core/program/memory_use.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr size_t kNamed = 5;

std::string largest_tensors(const Program& program, const EntryPoint& entry) {
  const size_t peak = memory_use(entry).peak;
  const std::vector<AliveTensor> alive = alive_at(program, entry, peak);
  std::string text = peak < entry.steps.size() ? fmt::format("at '{}' ", entry.steps[peak].name) : "";
  text += "the largest tensors are ";
  for (size_t i = 0; i < std::min(kNamed, alive.size()); ++i)
    text += fmt::format("{}{} {} ({})", i == 0 ? "" : ", ", alive[i].kind, alive[i].name,
                        bytes_text(alive[i].bytes));
  return alive.empty() ? "" : text;
}

}  // namespace

std::string read_bytes(std::string& text) {
  const std::optional<int64_t> bytes = parse_bytes(text);
  if (!bytes) return fmt::format("expected bytes above 0, as in 10GiB, 512MiB or 4000000, found '{}'", text);
  text = fmt::format("{}", *bytes);
  return "";
}

void add_memory_limit(CommandLine& line, int64_t& limit, const std::string& help) {
  line.add_option("--memory-limit", limit, help).transform(read_bytes).type_name("B");
}

void require_fits(const Program& program, int64_t limit) {
  const EntryPoint* largest = nullptr;
  for (const EntryPoint& entry : program.entry_points)
    if (!largest || entry.arena_bytes > largest->arena_bytes) largest = &entry;
  if (limit == 0 || !largest || largest->arena_bytes <= limit) return;
  throw UserError(fmt::format("the program needs {} per device for '{}', {} more than the limit of {}",
                              bytes_text(largest->arena_bytes), largest->name,
                              bytes_text(largest->arena_bytes - limit), bytes_text(limit)),
                  largest_tensors(program, *largest));
}

}  // namespace mtfc
