#include "formats/report/waste_writer.h"

#include <fmt/format.h>

#include <string>

#include "formats/text/quantity.h"

namespace mtfc {
namespace {

Diagnostic warning(std::string message, std::string hint) {
  return {{}, std::move(message), std::move(hint), Severity::kWarning};
}

Diagnostic warning_of_axis(const Axis& axis) {
  return warning(
      fmt::format("the axis '{}' of the mesh splits nothing: the {} devices along it do the same work",
                  axis.name, grouped(axis.size)),
      "leave it out of the mesh, or split a dimension over it with --layout");
}

Diagnostic warning_of_split(const UnevenSplit& split, const Mesh& mesh) {
  const std::string axes = mesh.names(split.axes), parts = grouped(split.parts),
                    size = grouped(split.dim.size), plural = split.dim.size == 1 ? "" : "s";
  const bool is_cut = split.pieces > 1;
  const std::string what = fmt::format("{}'{}'", is_cut ? "a microbatch's part of " : "", split.dim.name);
  const std::string fewer = is_cut ? "use fewer microbatches, " : "";
  const std::string cost = split.flops > 0
                               ? fmt::format("; products take the busiest device {} more than the mean",
                                             count_text(split.flops, "FLOP"))
                               : "";
  if (split.empty > 0)
    return warning(
        fmt::format("{} has {} element{} for the {} devices along {}: {} of them {} idle where it is split{}",
                    what, size, plural, parts, axes, grouped(split.empty), split.empty == 1 ? "is" : "are",
                    cost),
        fmt::format("{}make '{}' at least {}, put at most {} device{} along {}, or split a larger dimension",
                    fewer, split.dim.name, grouped(split.parts * split.pieces), size, plural, axes));
  return warning(
      fmt::format(
          "{} of {} is split unevenly over the {} devices along {}: the largest part has {}, {:.0f} % "
          "above the mean{}",
          what, size, parts, axes, grouped(split.largest), 100 * split.excess(), cost),
      fewer + "choose a size that the number of devices divides, or a number that divides the size");
}

Diagnostic note_of_state(const CopiedState& state, const Mesh& mesh, int64_t device_memory) {
  const std::string& axis = mesh.axes()[static_cast<size_t>(state.axis)].name;
  return {
      {},
      fmt::format("each of the {} devices along {} holds a copy of the same optimizer state, which takes {}",
                  grouped(mesh.size(state.axis)), axis, bytes_beside(state.bytes, device_memory)),
      fmt::format("\"shard_state_over\": \"{}\" in a layout file leaves {} on each", axis,
                  bytes_beside(state.least, device_memory)),
      Severity::kNote};
}

}  // namespace

std::vector<Diagnostic> warnings_of(const Waste& waste, const Mesh& mesh, int64_t device_memory) {
  std::vector<Diagnostic> warnings;
  for (const int axis : waste.unused_axes)
    warnings.push_back(warning_of_axis(mesh.axes()[static_cast<size_t>(axis)]));
  for (const UnevenSplit& split : waste.uneven) warnings.push_back(warning_of_split(split, mesh));
  if (waste.state) warnings.push_back(note_of_state(*waste.state, mesh, device_memory));
  return warnings;
}

}  // namespace mtfc
