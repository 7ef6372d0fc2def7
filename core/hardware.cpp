#include "core/hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace mtfc {

double Curve::at(double size) const {
  const auto after =
      std::find_if(points_.begin(), points_.end(), [&](const auto& point) { return point.first >= size; });
  if (after == points_.begin()) return after->second;
  if (after == points_.end()) return points_.back().second;
  const auto before = after - 1;
  const double part = std::log(size / before->first) / std::log(after->first / before->first);
  return before->second + part * (after->second - before->second);
}

double Curve::most() const {
  double most = points_.front().second;
  for (const auto& [size, value] : points_) most = std::max(most, value);
  return most;
}

std::string to_string(Topology topology) {
  switch (topology) {
    case Topology::kFullyConnected:
      return "fully_connected";
    case Topology::kRing:
      return "ring";
    case Topology::kTorus:
      return "torus";
    case Topology::kTwoLevel:
      return "two_level";
  }
  return "";
}

double Hardware::peak(DType dtype) const {
  if (const auto at = flops.find(to_string(dtype)); at != flops.end()) return at->second;
  double slowest = flops.begin()->second;
  for (const auto& [unused, rate] : flops) slowest = std::min(slowest, rate);
  return slowest;
}

const Link& Hardware::link(const std::string& axis) const {
  for (const std::string& key : {axis, std::string("*")})
    if (const auto at = axes.find(key); at != axes.end()) return at->second;
  throw UserError(fmt::format("the hardware profile '{}' has no link for the axis '{}'", name, axis),
                  "add it to its \"axes\", or \"*\" for all axes");
}

const std::vector<std::string>& kernel_classes() {
  static const std::vector<std::string> classes = {"einsum",   "batched_einsum", "elementwise", "reduction",
                                                   "indexing", "movement",       "generator"};
  return classes;
}

}  // namespace mtfc
