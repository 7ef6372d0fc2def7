#include "formats/layout/found_for.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

namespace mtfc {
namespace {

constexpr size_t kMostTold = 4;
constexpr double kMostExact = 9007199254740992;  // 2^53

}  // namespace

FoundFor found_for(const Model& model) {
  FoundFor found{model.name};
  for (const auto& [name, value] : model.params)
    if (std::abs(value) <= kMostExact && value == std::floor(value))
      found.sizes[name] = static_cast<int64_t>(value);
  for (const Dim& dim : model.dims) found.sizes[dim.name] = dim.size;
  return found;
}

FoundFor read_found_for(const Cursor& at) {
  FoundFor found;
  found.location = at.location();
  if (!at.check_keys({"model", "sizes"})) return found;
  if (const auto model = at.require("model")) found.model = model->string("the name of a model").value_or("");
  if (const auto sizes = at.require("sizes"))
    for (const NamedCursor& size : sizes->members("an object {name: size}"))
      if (const auto value = size.value.integer()) found.sizes[size.key] = *value;
  return found;
}

std::optional<Diagnostic> other_sizes_note(const FoundFor& found, const Model& model) {
  if (found.model != model.name) return std::nullopt;
  const FoundFor now = found_for(model);
  std::vector<std::string> before, after;
  size_t count = 0;
  for (const auto& [name, size] : found.sizes) {
    const auto at = now.sizes.find(name);
    if (at == now.sizes.end() || at->second == size || ++count > kMostTold) continue;
    before.push_back(fmt::format("{}={}", name, size));
    after.push_back(fmt::format("{}={}", name, at->second));
  }
  if (count == 0) return std::nullopt;
  return Diagnostic{found.location,
                    fmt::format("the layout was found for {}, and the model has {}{}", fmt::join(before, " "),
                                fmt::join(after, " "),
                                count > kMostTold ? fmt::format("; {} more differ", count - kMostTold) : ""),
                    "search again for these sizes, or give those with --set", Severity::kNote};
}

}  // namespace mtfc
