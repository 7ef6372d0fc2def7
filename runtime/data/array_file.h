#pragma once
// Reads and writes whole tensors in files: every rank writes the slices it owns at their offsets, and reads
// what it needs.

#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/tensors/data.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"
#include "runtime/comm/comm.h"
#include "runtime/data/agreed_file.h"
#include "runtime/data/output_file.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// Writes a tensor as the file `path`, or to standard output for `-`: `header`, then all elements in
/// row-major order. `shards` are the slices of this process's devices, split by `sharding` (nothing partial).
/// All ranks call it. The file appears complete or not at all: it is written under another name, synced and
/// renamed; a target that can't be replaced is written directly (runtime/data/file_target.h). Throws
/// RunError, on all ranks alike, with the system's reason.
void write_array(Comm& comm, const std::string& path, const std::string& header, const Sharding& sharding,
                 const std::vector<LocalShard>& shards);

/// Writes a tensor as write_array() does, but region by region, such as the batches of an evaluation. All ranks call
/// every function alike. A file that was not finished is removed.
class ArrayWriter {
 public:
  ArrayWriter(Comm& comm, std::string path, const std::string& header, TensorType type);

  /// Writes `region` of the tensor, which the shards hold together. Standard output and pipes take regions only in
  /// the order of their elements; RunError if these are not the next ones.
  void add(const Box& region, const Sharding& sharding, const std::vector<LocalShard>& shards);
  void finish();

 private:
  void add_in_order(const Box& region, const std::vector<LocalShard>& shards);

  Comm& comm_;
  TensorType type_;
  int64_t start_;  // bytes of the header
  AgreedFile file_;
  int64_t written_ = 0;  // elements, if they are written in order
};

/// Returns all elements of a tensor, in row-major order, on rank 0, and nothing on the other ranks. All ranks call it.
std::vector<std::byte> gathered(Comm& comm, const Sharding& sharding, const std::vector<LocalShard>& shards);

/// Returns the shards of a tensor that this process must write. Each region is written by only one of the devices
/// that hold it.
std::vector<LocalShard> written_shards(const Comm& comm, const Sharding& sharding,
                                       const std::vector<LocalShard>& shards);

/// Writes a shard to its offsets in a file in which the whole tensor begins at byte `start`.
void write_slice(OutputFile& file, int64_t start, const LocalShard& shard);

/// The part of the whole tensor's checksum (runtime/compute/checksum.h) that the elements of a shard contribute.
uint64_t slice_checksum(const LocalShard& shard);

/// A dimension of a tensor that has another size in a file.
struct OtherSize {
  Dim dim;
  int64_t in_file = 0;
};
/// `heads is 4 in the file, not 2; d_kv is 8 in the file, not 16`.
std::string sizes_text(const std::vector<OtherSize>& sizes);

/// The shape of an array in a file does not fit a tensor. The message says how to transpose it, or which sizes differ.
struct ShapeMismatch : RunError {
  ShapeMismatch(const std::string& what_does_not_fit, const std::string& advice,
                std::vector<OtherSize> other_sizes);
  std::string problem;     // without what to do
  std::string transposed;  // what to do with an array that has the dimensions in another order; "" for others
  std::vector<OtherSize> sizes;  // by position; empty if the numbers of dimensions differ
};

/// Throws ShapeMismatch or RunError unless the tensor `name` of this type can be filled from the array. Their shapes
/// must be equal, or one must follow from the other by merging dimensions, like [768, 2304] and [768, 3,
/// 12, 64]; and the type must be able to hold the values.
void require_loadable(const StoredArray& array, const std::string& name, const TensorType& type);

/// Fills `shard` of the tensor `name` from an array that require_loadable accepts. Throws RunError.
void load_array(const StoredArray& array, const std::string& name, const LocalShard& shard);

}  // namespace mtfc
