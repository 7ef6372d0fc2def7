#pragma once
// The forward tensors of a training step as a problem of choice: each that the backward pass needs is kept, which takes
// memory, or computed again from others, which takes time (rematerialization: Chen et al. 2016; as a minimum cut: Jain
// et al. 2020 and PyTorch's partitioner of 2022).
//
//   a = x.w; b = relu(a); y = b.v     the backward pass reads a and b
//   keep a and b: 2 tensors, 0 s      keep a: 1 tensor, relu again      keep none: 0 tensors, x.w and relu again

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/compile/pipeline.h"
#include "core/cost/hardware.h"

namespace mtfc {

/// For each tensor of a RematGraph, whether the backward pass gets a copy that is computed again if it needs the
/// tensor.
using RematSet = std::vector<bool>;

class RematGraph {
 public:
  /// `parts`: the graphs of the training step and of its loops (PreparedModel::parts). `program` is the same step as it
  /// is compiled without recomputation; it gives the bytes and seconds of each tensor on the busiest device.
  RematGraph(const std::vector<PreparedModel::Part>& parts, const Program& program, const EntryPoint& entry,
             const Hardware& hardware)
      : RematGraph(parts, program, entry, hardware, nullptr) {}
  /// A graph for bounds, which counts no more bytes and seconds than any program must spend. Only what the backward
  /// pass reads after it has made the tensor `after` counts, or everything if `after` is "". Each tensor counts for at
  /// most the bytes of what can be computed from it earlier.
  static RematGraph for_bounds(const std::vector<PreparedModel::Part>& parts, const Program& program,
                               const EntryPoint& entry, const Hardware& hardware, const std::string& after) {
    return RematGraph(parts, program, entry, hardware, &after);
  }

  size_t size() const { return tensors_.size(); }
  /// The tensors that can be remade, may be needed, and take memory if they are kept.
  std::vector<size_t> choices() const;
  const std::string& name(size_t tensor) const { return tensors_[tensor].name; }
  RematSet nothing() const { return RematSet(size(), false); }

  /// The seconds of all operations that run again.
  double seconds(const RematSet& remade) const;
  /// The bytes of the tensors that are kept for the backward pass.
  int64_t kept_bytes(const RematSet& remade) const;
  /// The choice that minimizes seconds + price * kept bytes, for a price in seconds per byte: a minimum cut. Of
  /// several, one that remakes least.
  RematSet cheapest(double price) const;
  /// The corners of the lower convex hull of (kept bytes, seconds), from nothing remade to least kept.
  std::vector<RematSet> corners() const;
  /// Keeps only what the forward pass has in memory at its narrow places, such as the ends of layers. The backward pass
  /// then never has more than the tensors between two of these at a time, where corners with few bytes kept may have
  /// all.
  RematSet all_between_valleys() const;
  /// The same choice, but everything after the last narrow place is kept, such as the logits: the backward pass begins
  /// with it, so that a copy would be made while it is there.
  RematSet with_end_kept(RematSet remade) const;
  /// `remade` in parts that do not touch, in the order of the graph: no operation that runs again for one reads a
  /// tensor that is made again for another.
  std::vector<RematSet> pieces(const RematSet& remade) const;
  /// The names of the tensors that are made again, for CompileOptions::recomputed.
  RematNames names(const RematSet& remade) const;
  int64_t bytes(size_t tensor) const { return tensors_[tensor].bytes; }
  /// Only the tensors that are in fact made again, which is the same choice.
  RematSet effective(const RematSet& remade) const;

 private:
  struct Operation {
    double seconds = 0;  // of all its runs in a step
    bool can_run_again = false;
    std::vector<size_t> operands;  // only forward tensors
    std::vector<size_t> results;
  };
  struct ForwardTensor {
    std::string name;
    int64_t bytes = 0;  // 0 where the tensor is kept anyway
    size_t maker = 0;
    bool is_read = false;  // by the backward pass
  };

  // By tensor, the last operation of the forward pass that reads it, or that makes it.
  std::vector<size_t> last_readers() const;
  // The operations after which the forward pass has least in memory, for a while before and behind.
  std::vector<size_t> valleys(const std::vector<size_t>& last_reader) const;
  struct Runs {
    std::vector<bool> operations;  // that run again
    std::vector<bool> needed;      // tensors that are read by these or by the backward pass
  };
  RematGraph(const std::vector<PreparedModel::Part>& parts, const Program& program, const EntryPoint& entry,
             const Hardware& hardware, const std::string* after);
  Runs runs(const RematSet& remade) const;
  void count_least_bytes(const Graph& graph, const PerTensor<int>& numbers, int from,
                         const std::function<int64_t(TensorId)>& bytes);
  void add_corners(const RematSet& first, const RematSet& last, std::vector<RematSet>& found) const;

  std::vector<Operation> operations_;
  std::vector<ForwardTensor> tensors_;
};

}  // namespace mtfc
