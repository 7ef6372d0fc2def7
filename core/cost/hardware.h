#pragma once
// What a device and its links can do: the profile that predicted times come from (core/cost/time_model.h). Read
// from JSON by formats/hardware/hardware_reader.h, measured by `mtfc calibrate`. All rates are of one device, that is
// one rank.
//
//   {"name": "box", "flops": {"f32": 1e11}, "memory_bytes": 8e9, "memory_bandwidth": [[1e6, 8e10], [1e8,
//   1e10]],
//    "efficiency": {"einsum": [[1e6, 0.5], [1e8, 0.9]]}, "axes": {"*": {"latency_s": 2e-6, "bytes_per_s":
//    5e9}}}
//   A product of 10 MFLOP runs at 0.7 of 1e11 FLOP/s: half way between 1e6 and 1e8 on a logarithmic scale.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "core/tensors/mesh.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// A quantity by size: linear between its points on a logarithmic scale of sizes, constant beyond them. One
/// point: the same everywhere.
class Curve {
 public:
  Curve(double everywhere = 0) : points_{{1, everywhere}} {}
  /// Sizes above 0 and ascending; at least one point.
  explicit Curve(std::vector<std::pair<double, double>> points) : points_(std::move(points)) {}

  double at(double size) const;
  /// The largest of its values.
  double most() const;
  const std::vector<std::pair<double, double>>& points() const { return points_; }
  bool operator==(const Curve&) const = default;

 private:
  std::vector<std::pair<double, double>> points_;
};

/// Shares of products a[m, k] * b[k, n] by their sizes: logarithms interpolated between logarithms of sizes,
/// constant beyond the first and last size of each.
struct ProductTable {
  std::vector<double> m, n, k;  // ascending
  std::vector<double> shares;   // [m, n, k], row-major

  double at(double m, double n, double k) const;
  bool operator==(const ProductTable&) const = default;
};

struct Rate {
  double latency_s = 0;  // alpha
  Curve bytes_per_s;     // of a device, by the bytes that it sends
  bool operator==(const Rate&) const = default;
};

struct Link : Rate {
  bool overlaps = true;                     // kernels run while it moves data
  std::map<std::string, Rate> collectives;  // those that differ, by kind: `all_reduce`
  bool operator==(const Link&) const = default;
};

enum class Topology {
  kFullyConnected,  // every pair of devices has a way of its own
  kRing,            // all devices, in the order of their ranks, on one ring
  kTorus,           // each axis of the mesh is a dimension of the torus
  kTwoLevel,        // nodes of devices with consecutive ranks
};
template <>
inline constexpr auto kEnumNames<Topology> =
    std::to_array<EnumName<Topology>>({{Topology::kFullyConnected, "fully_connected"},
                                       {Topology::kRing, "ring"},
                                       {Topology::kTorus, "torus"},
                                       {Topology::kTwoLevel, "two_level"}});

struct Hardware {
  std::string name;
  std::string doc;
  std::map<std::string, double> flops;  // per second, by dtype; one that is missing is as slow as the slowest
  double memory_bytes = 0;
  Curve memory_bandwidth;                // bytes per second read, by distance (core/cost/memory_traffic.h)
  std::optional<Curve> write_bandwidth;  // absent: as read
  /// Share of the shorter of a kernel's arithmetic and its memory traffic that the longer hides.
  double overlap = 1;
  double step_overhead_s = 0;  // of every kernel, whatever its size
  /// Share of `flops` that a kernel reaches, by the operations that it does: by operation, else by class
  /// (kernel_classes()), else 1. For products the size is that of one product of a batch; what computes
  /// nothing does an operation for each element that it touches, if it or its class is listed.
  std::map<std::string, Curve> efficiency;
  std::map<std::string, ProductTable> products;  // instead, of einsum and batched_einsum: by shape
  std::map<std::string, Link> axes;  // by axis, `rows+cols` for a group over both, "*" for all others
  Topology topology = Topology::kFullyConnected;
  int64_t devices_per_node = 1;  // of kTwoLevel
  std::optional<Link> inside;    // of kTwoLevel: between devices of a node; absent: as between nodes

  double peak(DType dtype) const;
  /// The name of the axis, else "*". Throws UserError where the profile has neither.
  const Link& link(const std::string& axis) const;
  bool operator==(const Hardware&) const = default;
};

/// einsum, batched_einsum, elementwise, reduction, indexing, movement, generator.
const std::vector<std::string>& kernel_classes();

}  // namespace mtfc
