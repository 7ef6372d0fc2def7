#include "core/cost/least_time.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/cost/collective_time.h"
#include "core/cost/device_order.h"
#include "core/program/plan_figures.h"

namespace mtfc {
namespace {

constexpr int kStepsPerOctave = 4;
constexpr int kOctaves = 50;  // up to a petabyte
constexpr size_t kMostAxesInSets = 8;

double size_at(size_t i) {
  return std::exp2(static_cast<double>(i) / kStepsPerOctave);
}

// The best bandwidth at any size from `size` on. Between points a curve is monotone, so points and `size` suffice.
double best_from(const Curve& curve, double size) {
  double best = curve.at(size);
  for (const auto& [at, value] : curve.points())
    if (at >= size) best = std::max(best, value);
  return best;
}

// True if bytes / bandwidth grows with the bytes. Between points, bandwidth rises by `slope` per unit of log(bytes),
// and the quotient falls where bandwidth is less than that.
bool grows(const Curve& curve) {
  const auto& points = curve.points();
  for (size_t i = 1; i < points.size(); ++i) {
    const double slope =
        (points[i].second - points[i - 1].second) / std::log(points[i].first / points[i - 1].first);
    if (slope > std::min(points[i - 1].second, points[i].second)) return false;
  }
  return true;
}

bool grows(const Link& link) {
  return grows(link.bytes_per_s) &&
         std::all_of(link.collectives.begin(), link.collectives.end(),
                     [](const auto& rate) { return grows(rate.second.bytes_per_s); });
}

bool all_grow(const Hardware& hardware) {
  return (!hardware.inside || grows(*hardware.inside)) &&
         std::all_of(hardware.wider.begin(), hardware.wider.end(),
                     [](const Level& level) { return grows(level.link); }) &&
         std::all_of(hardware.axes.begin(), hardware.axes.end(),
                     [](const auto& axis) { return grows(axis.second); });
}

// Returns the shorter time on the network and the shorter time on the device, each from either of two.
LeastTimes::Transfer least_of(const std::optional<LeastTimes::Transfer>& a, const LeastTimes::Transfer& b) {
  if (!a) return b;
  return {std::min(a->network, b.network), std::min(a->device, b.device)};
}

}  // namespace

LeastTransfer::LeastTransfer(const Curve& bandwidth) : bandwidth_(bandwidth) {
  double sum = 0;
  for (size_t i = 0; i <= size_t{kOctaves} * kStepsPerOctave; ++i) {
    until_.push_back(sum);
    fastest_.push_back(best_from(bandwidth, i == 0 ? 1e-9 : size_at(i)));
    sum += (size_at(i + 1) - (i == 0 ? 0 : size_at(i))) / fastest_.back();
  }
}

double LeastTransfer::seconds(double bytes) const {
  if (bytes <= 0) return 0;
  const double place = std::floor(std::log2(std::max(bytes, 1.0)) * kStepsPerOctave);
  const size_t i = std::min(static_cast<size_t>(place), until_.size() - 1);
  return until_[i] + (bytes - (i == 0 ? 0 : size_at(i))) / fastest_[i];
}

LeastTimes::LeastTimes(const Hardware& hardware, const Mesh& mesh)
    : hardware_(hardware),
      orders_(possible_orders(mesh, hardware)),
      read_(hardware.memory_bandwidth),
      write_(hardware.write_bandwidth.value_or(hardware.memory_bandwidth)),
      grows_(all_grow(hardware)) {
  for (const Mesh& order : orders_) networks_ = std::max(networks_, most_networks(order, hardware));
}

double LeastTimes::memory_seconds(double bytes, bool writes) const {
  const double read = read_.seconds(bytes);
  return writes ? std::min(read, write_.seconds(bytes)) : read;
}

LeastTimes::Transfer LeastTimes::collective(CollectiveKind kind, const AxisList& axes, double bytes) const {
  std::optional<Transfer> least;
  for (const Mesh& mesh : orders_) {
    CollectiveTime time = collective_time(kind, axes, mesh, bytes, hardware_);
    if (works_in_place(kind) && bytes <= static_cast<double>(kPlanBytesPerCollective)) {
      // It may be sent with others (core/lower/combine_reductions.h), at the rate of a larger one.
      time.latency_s = 0;
      time.transfer_s = time.ideal_s;
      time.own_s = 0;
    }
    const double own = time.overlaps ? time.own_s : time.seconds();
    least = least_of(least, {(time.seconds() - own) / static_cast<double>(networks_), own});
  }
  return *least;
}

LeastTimes::Transfer LeastTimes::through_axis(const std::vector<CollectiveKind>& kinds, int axis,
                                              double bytes) const {
  const size_t axes = orders_.front().axes().size();
  std::optional<Transfer> least;
  if (!grows_ || axes > kMostAxesInSets) return {};
  for (size_t set = 0; set < size_t{1} << axes; ++set) {
    AxisList list;
    for (size_t a = 0; a < axes; ++a)
      if ((set >> a & 1) != 0 && orders_.front().size(static_cast<int>(a)) > 1)
        list.push_back(static_cast<int>(a));
    if (!contains(list, axis)) continue;
    for (const CollectiveKind kind : kinds) least = least_of(least, collective(kind, list, bytes));
  }
  return least.value_or(Transfer{});
}

}  // namespace mtfc
