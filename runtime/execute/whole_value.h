#pragma once
// A whole tensor in memory, put together from the shards of all devices, and one kernel on whole tensors.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/program/program.h"
#include "core/tensors/host_tensor.h"
#include "core/tensors/sharding.h"
#include "runtime/compute/kernel.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// The elements as numbers, and a tensor of these numbers.
std::vector<double> numbers_of(const HostTensor& value);
HostTensor value_of(const TensorType& type, const std::vector<double>& numbers);

/// A device's shard, and where the device is.
struct PlacedShard {
  LocalShard shard;
  Coordinates at;
};

/// The tensor that all devices hold together.
struct Assembled {
  HostTensor value;
  /// For sums that are still partial: for each element, the sum of the magnitudes of the devices' terms. Otherwise
  /// empty, and the magnitudes are those of the elements.
  std::vector<double> magnitudes = {};
  bool is_partial = false;
  /// An element on which devices that should agree hold different bits, or which no device holds.
  std::vector<size_t> torn = {};
  /// The elements that some device holds; empty if they are all. The elements that windows read may have gaps.
  std::vector<bool> held = {};
  bool holds(size_t element) const { return held.empty() || held[element]; }
};

/// Puts the shards of all devices together. A value that is partial is reduced.
Assembled assembled(const TensorType& type, const Sharding& sharding, const std::vector<PlacedShard>& shards);

/// Copies into a device's shard what it holds of `value`.
void fill(const LocalShard& shard, const HostTensor& value);

/// The arguments of a kernel apart from its operands.
struct WholeCall {
  std::string name;  // of the step, the key of random numbers
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t round = 0;
};

/// A kernel prepared for whole tensors of these types, computed on one device.
class WholeKernel {
 public:
  /// `name` is that of the step, the key of random numbers.
  WholeKernel(const RunKernel& kernel, const std::vector<TensorType>& operands,
              const std::vector<TensorType>& results, const std::string& name);
  std::vector<HostTensor> run(std::span<const HostTensor* const> operands, const WholeCall& call);

 private:
  std::vector<TensorType> results_;
  std::vector<std::byte> workspace_;
  Kernel kernel_;
};

/// The results of `kernel` on whole operands, prepared for this call alone.
std::vector<HostTensor> computed(const RunKernel& kernel, std::span<const HostTensor* const> operands,
                                 const std::vector<TensorType>& results, const WholeCall& call);

}  // namespace mtfc
