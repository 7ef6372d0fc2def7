#include "core/op_rules/placed_dim.h"

#include <fmt/format.h>

#include "core/diagnostics/suggest.h"

namespace mtfc {

size_t stated_position(const OpCall& call, const Dims& others, size_t otherwise) {
  const std::string_view before = kBefore.name, after = kAfter.name;
  const bool is_before = call.attributes.has(before);
  if (!is_before && !call.attributes.has(after)) return otherwise;
  if (is_before && call.attributes.has(after))
    throw OpError{"'before' and 'after' both say where the new dimension stands", "give one of them", -1,
                  std::string(after)};
  const std::string_view attribute = is_before ? before : after;
  const std::string& name = call.attributes.get<Dim>(attribute).name;
  const int at = position(others, name);
  if (at < 0) {
    std::vector<std::string> names;
    for (const Dim& dim : others) names.push_back(dim.name);
    throw OpError{fmt::format("'{}' is none of the other dimensions, [{}]", name, to_string(others)),
                  did_you_mean(name, names), -1, std::string(attribute)};
  }
  return static_cast<size_t>(at) + (is_before ? 0 : 1);
}

}  // namespace mtfc
