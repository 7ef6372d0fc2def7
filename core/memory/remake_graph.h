#pragma once
// The forward tensors of a training step as a problem of choice: each that the backward pass needs is kept, which takes
// memory, or computed again from others, which takes time (Chen et al. 2016; as a minimum cut: Jain et al. 2020 and
// PyTorch's partitioner of 2022).
//
//   a = x.w; b = relu(a); y = b.v     the backward pass reads a and b
//   keep a and b: 2 tensors, 0 s      keep a: 1 tensor, relu again      keep none: 0 tensors, x.w and relu again

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/cost/hardware.h"
#include "core/passes/pipeline.h"

namespace mtfc {

/// For each tensor of a RemakeGraph, whether the backward pass gets a copy that is computed again if it needs the
/// tensor.
using Remade = std::vector<bool>;

class RemakeGraph {
 public:
  /// `parts`: the graphs of the training step and of its loops (PreparedModel::parts). `program` is the same step as it
  /// is compiled without recomputation; it gives the bytes and seconds of each tensor on the busiest device.
  RemakeGraph(const std::vector<PreparedModel::Part>& parts, const Program& program, const EntryPoint& entry,
              const Hardware& hardware)
      : RemakeGraph(parts, program, entry, hardware, nullptr) {}
  /// A graph for bounds, which counts no more bytes and seconds than any program must spend. Only what the backward
  /// pass reads after it has made the tensor `after` counts, or everything if `after` is "". Each tensor counts for at
  /// most the bytes of what can be computed from it earlier.
  static RemakeGraph for_bounds(const std::vector<PreparedModel::Part>& parts, const Program& program,
                                const EntryPoint& entry, const Hardware& hardware, const std::string& after) {
    return RemakeGraph(parts, program, entry, hardware, &after);
  }

  size_t size() const { return tensors_.size(); }
  /// The tensors that can be remade, may be needed, and take memory if they are kept.
  std::vector<size_t> choices() const;
  const std::string& name(size_t tensor) const { return tensors_[tensor].name; }
  Remade nothing() const { return Remade(size(), false); }

  /// The seconds of all operations that run again.
  double seconds(const Remade& remade) const;
  /// The bytes of the tensors that are kept for the backward pass.
  int64_t kept_bytes(const Remade& remade) const;
  /// The choice that minimizes seconds + price * kept bytes, for a price in seconds per byte: a minimum cut. Of
  /// several, one that remakes least.
  Remade cheapest(double price) const;
  /// The corners of the lower convex hull of (kept bytes, seconds), from nothing remade to least kept.
  std::vector<Remade> corners() const;
  /// Keeps only what the forward pass has in memory at its narrow places, such as the ends of layers. The backward pass
  /// then never has more than the tensors between two of these at a time, where corners with few bytes kept may have
  /// all.
  Remade all_between_valleys() const;
  /// `remade` in parts that do not touch, in the order of the graph: no operation that runs again for one reads a
  /// tensor that is made again for another.
  std::vector<Remade> pieces(const Remade& remade) const;
  /// The names of the tensors that are made again, for CompileOptions::recomputed.
  RemadeNames names(const Remade& remade) const;
  int64_t bytes(size_t tensor) const { return tensors_[tensor].bytes; }
  /// Only the tensors that are in fact made again, which is the same choice.
  Remade effective(const Remade& remade) const;

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
  struct Runs {
    std::vector<bool> operations;  // that run again
    std::vector<bool> needed;      // tensors that are read by these or by the backward pass
  };
  RemakeGraph(const std::vector<PreparedModel::Part>& parts, const Program& program, const EntryPoint& entry,
              const Hardware& hardware, const std::string* after);
  Runs runs(const Remade& remade) const;
  void count_least_bytes(const Graph& graph, const PerTensor<int>& numbers, int from,
                         const std::function<int64_t(TensorId)>& bytes);
  void add_corners(const Remade& first, const Remade& last, std::vector<Remade>& found) const;

  std::vector<Operation> operations_;
  std::vector<ForwardTensor> tensors_;
};

}  // namespace mtfc
