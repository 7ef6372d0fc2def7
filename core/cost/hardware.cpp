#include "core/cost/hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/diagnostics/error.h"
#include "core/graph/op_registry.h"

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

namespace {

// The position of `size` among ascending `sizes`: the one before, and the fraction of the way to the next (0
// to 1).
struct Place {
  size_t before;
  double part;
};

Place place_of(double size, const std::vector<double>& sizes) {
  if (size <= sizes.front()) return {0, 0};
  if (size >= sizes.back()) return {sizes.size() - 1, 0};
  const auto before =
      static_cast<size_t>(std::upper_bound(sizes.begin(), sizes.end(), size) - sizes.begin()) - 1;
  return {before, std::log(size / sizes[before]) / std::log(sizes[before + 1] / sizes[before])};
}

}  // namespace

double ShareTable::at(std::span<const double> place) const {
  std::vector<Place> places;
  for (size_t d = 0; d < sizes.size(); ++d) places.push_back(place_of(place[d], sizes[d]));
  double sum = 0;
  for (size_t corner = 0; corner < size_t{1} << sizes.size(); ++corner) {
    double weight = 1;
    size_t index = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const bool after = (corner >> d & 1) != 0;
      weight *= after ? places[d].part : 1 - places[d].part;
      index = index * sizes[d].size() + places[d].before + (after ? 1 : 0);
    }
    if (weight > 0) sum += weight * std::log(shares[index]);
  }
  double share = std::exp(sum);
  for (size_t d = 0; d < factors.size(); ++d) share *= factors[d].at(place[d]);
  return std::min(share, 1.0);
}

double ShareTable::most() const {
  double most = *std::max_element(shares.begin(), shares.end());
  for (const Curve& factor : factors) most *= factor.most();
  return std::min(most, 1.0);
}

double Hardware::peak(DType dtype) const {
  if (const auto at = flops.find(to_string(dtype)); at != flops.end()) return at->second;
  if (dtype == DType::kBF16 && flops.contains(to_string(DType::kF32))) return peak(DType::kF32);
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
  static const std::vector<std::string> kClasses = {
      "einsum",      "widened_einsum", "batched_einsum", "conv",     "grouped_conv", "attention",
      "elementwise", "reduction",      "pooling",        "indexing", "movement",     "generator"};
  return kClasses;
}

std::vector<std::string> table_dims(const std::string& kernel) {
  constexpr std::string_view kOfProducts[] = {"einsum", "widened_einsum", "batched_einsum", "conv",
                                              "grouped_conv"};
  if (std::find(std::begin(kOfProducts), std::end(kOfProducts), kernel) != std::end(kOfProducts))
    return {"m", "n", "k"};
  const OpDef* op = find_op(kernel);
  if (op && op->family == Family::kAttention) return {"length", "heads", "group"};
  return {};
}

int64_t memory_of(const Hardware& hardware) {
  constexpr auto kMost = static_cast<double>(std::numeric_limits<int64_t>::max());
  if (hardware.memory_bytes >= kMost) return 0;
  // A reader refuses profiles that reserve everything; 0 would stand for no limit.
  return std::max<int64_t>(std::llround(hardware.memory_bytes - hardware.reserved_bytes), 1);
}

}  // namespace mtfc
