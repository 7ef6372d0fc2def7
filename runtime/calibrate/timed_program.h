#pragma once
// A program of a few operations on one device, run repeatedly: the unit that calibration times.

#include <functional>
#include <memory>
#include <vector>

#include "core/cost/hardware.h"
#include "core/cost/memory_traffic.h"
#include "core/graph/graph.h"
#include "core/program/program.h"
#include "runtime/calibrate/stopwatch.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/comm/mpi/node_memory.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// Builds the results of a timed program from its inputs.
using TimedGraph = std::function<std::vector<TensorId>(GraphBuilder&, const std::vector<TensorId>& inputs)>;

class TimedProgram {
 public:
  /// `node`: the memory that it uses, as in runs of several ranks; nullptr: memory of its own. All ranks of
  /// the node make the same programs.
  TimedProgram(const std::vector<TensorType>& inputs, const TimedGraph& build, NodeMemory* node);

  double seconds(Stopwatch& watch);
  double least_seconds(Stopwatch& watch);
  /// The seconds that `hardware` predicts for it.
  double predicted(const Hardware& hardware) const { return times(hardware).seconds; }
  /// The part of the prediction that is memory traffic.
  double predicted_memory(const Hardware& hardware) const { return times(hardware).memory; }
  size_t steps() const { return entry_.steps.size(); }

 private:
  struct Times {
    double seconds = 0, memory = 0;
  };
  Times times(const Hardware& hardware) const;

  // The one device of a rank, in the memory that the ranks of a node share.
  class OwnDevice : public LockstepComm {
   public:
    OwnDevice(const Mesh& mesh, Processes& processes, NodeMemory* node)
        : LockstepComm(mesh, processes), node_(node) {}
    std::vector<Arena> make_arenas(int64_t bytes) override;

   private:
    NodeMemory* node_;
  };

  Program program_;
  const EntryPoint& entry_;
  Processes processes_ = Processes::alone();
  OwnDevice device_;
  Executor executor_;
  int64_t run_ = 0;
};

}  // namespace mtfc
