#pragma once
// A hardware profile: the capabilities of a device and its links, from which times are predicted
// (core/cost/time_model.h). formats/hardware/hardware_reader.h reads it from JSON, `mtfc calibrate` measures
// it. All rates are those of one device, that is one rank.
//
//   {"name": "box", "flops": {"f32": 1e11}, "memory_bytes": 8e9,
//    "memory_bandwidth": [[1e6, 8e10], [1e8, 1e10]],
//    "efficiency": {"einsum": [[1e6, 0.5], [1e8, 0.9]]},
//    "axes": {"*": {"latency_s": 2e-6, "bytes_per_s": 5e9}}}
//
// With this profile, a product of 10 MFLOP runs at 0.7 of 1e11 FLOP/s: 1e7 is half way between 1e6 and 1e8 on
// a logarithmic scale.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "core/tensors/mesh.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// A quantity as a function of size. It is linear between its points on a logarithmic scale of sizes and
/// constant beyond them. With one point, it is constant.
class Curve {
 public:
  Curve(double everywhere = 0) : points_{{1, everywhere}} {}
  /// Takes at least one point. Sizes must be above 0 and ascending.
  explicit Curve(std::vector<std::pair<double, double>> points) : points_(std::move(points)) {}

  double at(double size) const;
  /// The largest of its values.
  double most() const;
  const std::vector<std::pair<double, double>>& points() const { return points_; }
  bool operator==(const Curve&) const = default;

 private:
  std::vector<std::pair<double, double>> points_;
};

/// The shares of peak that kernels reach, by the sizes of table_dims(). Logarithms are interpolated between
/// logarithms of sizes; beyond the first and last size of each dimension, shares are constant. Factors of single
/// sizes multiply the result, which is at most 1: a table that has all of those sizes would be far larger.
struct ShareTable {
  std::vector<std::vector<double>> sizes;  // of each dimension, ascending
  std::vector<double> shares;              // row-major
  std::vector<Curve> factors = {};         // of each dimension, by its size; none if all are 1

  /// Takes a size of each dimension.
  double at(std::span<const double> place) const;
  double most() const;
  bool operator==(const ShareTable&) const = default;
};

struct Rate {
  double latency_s = 0;     // alpha, of a message
  Curve bytes_per_s;        // the rate of one device, by the number of bytes that it sends
  double fixed_s = 0;       // of a collective, beside those of its messages
  Curve members_share = 1;  // of that rate, which a group of so many devices reaches
  bool operator==(const Rate&) const = default;
};

struct Link : Rate {
  bool overlaps = true;                     // kernels run while it moves data
  std::map<std::string, Rate> collectives;  // rates that differ, by kind, such as `all_reduce`
  // The factors by which kernels and its transfers take longer at the same time.
  double slows_kernels = 1, slowed_by_kernels = 1;
  bool operator==(const Link&) const = default;
};

/// Blocks of so many devices with consecutive ranks, which a link connects.
struct Level {
  int64_t devices = 1;
  Link link;
  bool operator==(const Level&) const = default;
};

enum class Topology {
  kFullyConnected,  // every pair of devices has its own connection
  kRing,            // all devices, in the order of their ranks, on one ring
  kTorus,           // each axis of the mesh is a dimension of the torus
  kTwoLevel,        // nodes of devices with consecutive ranks, and maybe wider blocks
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
  // How it was measured; 0: not known. A single rank cannot measure the links between ranks.
  int64_t ranks = 0, threads_per_rank = 0;
  // Per second, by dtype. Without bf16, it is computed as f32; any other missing dtype is as slow as the slowest
  std::map<std::string, double> flops;
  double memory_bytes = 0;
  double reserved_bytes = 0;             // the part of it that programs can't use
  Curve memory_bandwidth;                // bytes per second read, by distance (core/cost/memory_traffic.h)
  std::optional<Curve> write_bandwidth;  // if absent, as for reads
  /// The fraction of the shorter of a kernel's arithmetic and memory traffic that the longer one hides.
  double overlap = 1;
  double step_overhead_s = 0;  // added to every kernel, whatever its size
  /// The seconds in which a processor issues one kernel or collective to the device. The processor runs beside the
  /// device, which starts none before it is issued.
  double issue_s = 0;
  double program_overhead_s = 0;  // added to every run of an entry point
  /// The share of `flops` that a kernel reaches, by the number of its operations. The key is the operation,
  /// or else its class (kernel_classes()); without either, the share is 1, or for products that of a related
  /// class (formats/hardware.md). The size of products is that of one product of a batch. An operation that
  /// computes nothing counts one for each element it touches, if it or its class is listed.
  std::map<std::string, Curve> efficiency;
  std::map<std::string, ShareTable> tables;  // in the place of `efficiency`, for kernels with table_dims()
  std::map<std::string, Link> axes;          // by axis, `rows+cols` for a group over both, "*" for all others
  Topology topology = Topology::kFullyConnected;
  int64_t devices_per_node = 1;  // for kTwoLevel
  std::optional<Link> inside;    // for kTwoLevel: between devices of a node; if absent, as between nodes
  std::vector<Level> wider;  // for kTwoLevel: blocks of several nodes, ascending; `axes` connects the widest
  /// The origins of values by their paths in the file, such as "flops/bf16"; that of "flops" holds for all dtypes.
  std::map<std::string, std::string> sources;

  double peak(DType dtype) const;
  /// The link of the axis, or else that of "*". Throws UserError if the profile has neither.
  const Link& link(const std::string& axis) const;
  bool operator==(const Hardware&) const = default;
};

/// The bytes that a program may use on a device; 0 if the profile does not limit them.
int64_t memory_of(const Hardware& hardware);

/// The classes of kernels: einsum, widened_einsum, batched_einsum, conv, grouped_conv, attention, elementwise,
/// reduction, pooling, indexing, movement, generator.
const std::vector<std::string>& kernel_classes();
/// The dimensions of the table that a class or an operation may have. Classes that add up products have m, n and k.
/// Attention and its gradients have the length of the memory, the heads of all elements of the batch, and how many of
/// these heads share a head of the memory. Others have none.
std::vector<std::string> table_dims(const std::string& kernel);

}  // namespace mtfc
