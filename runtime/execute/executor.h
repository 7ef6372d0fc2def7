#pragma once
// Executes a program on the devices of this process: one, under MPI, or the whole mesh in lockstep.
//
// Everything is prepared when an entry point first runs (kernels, collectives, the arena); nothing that grows with the
// model is allocated within a step. In lockstep, step k runs on every device before step k+1.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/cost/cost.h"
#include "core/diagnostics/error.h"
#include "core/program/program.h"
#include "core/program/timeline.h"
#include "runtime/comm/comm.h"
#include "runtime/fused/fused_plan.h"
#include "runtime/memory/arena.h"

namespace mtfc {

class Timeline;

struct ExecutorOptions {
  uint64_t seed = 0;
  bool check_finite = false;  // stop at the first NaN or infinity that a kernel gives
  int64_t fused_tile = kFusedTile;
};

/// A device's shard of a value: `box` of the global tensor, dense and row-major at `data`.
struct LocalShard {
  TensorType type;  // global
  Box box;
  std::byte* data = nullptr;
  int64_t elements() const { return mtfc::elements(box); }
};

/// A number of an input is none that an operation can use.
struct InputError : RunError {
  InputError(const std::string& message, std::string name, int64_t at)
      : RunError(message), input(std::move(name)), row(at) {}
  std::string input;
  int64_t row;  // its position along the first dimension of the input; 0 for a scalar
};

class Executor {
 public:
  /// Both must outlive it; so must the entry points of the program, which are named by reference below.
  /// Throws RunError where memory does not suffice.
  Executor(const Program& program, Comm& comm, ExecutorOptions options = {});
  ~Executor();

  const Program& program() const { return program_; }
  Comm& comm() { return comm_; }
  /// Devices of this process; `device` below counts them from 0.
  size_t devices() const { return comm_.devices().size(); }

  /// Prepares `entry` where that has not been done. Every rank must call it for the same entry points in the
  /// same order.
  void load(const EntryPoint& entry);
  /// Runs `entry` once, at training step `step` (a key of random numbers). A RunError of a kernel gains the names of
  /// the operation and the step. It is an InputError where an index of an input is out of range, or a number of an
  /// input is not finite (ExecutorOptions::check_finite).
  void run(const EntryPoint& entry, int64_t step);

  /// Returns the step that runs, or the last one, as in `train, step 44: /ops/0/in (einsum 'h')`; "it" before the
  /// first. Any thread may call it.
  std::string place_text() const;

  /// Returns the place of a value in memory. Fill inputs before each run; outputs stay valid until another
  /// entry point runs.
  LocalShard shard(const EntryPoint& entry, ValueId value, size_t device) const;
  LocalShard variable(size_t index, size_t device) const;
  LocalShard cache(const EntryPoint& entry, size_t index, size_t device) const;
  /// Makes the caches of `entry` zero, as before its first run. They hold until another entry point runs.
  void clear_caches(const EntryPoint& entry);
  /// From now on, runs stop at the first NaN or infinity that a kernel gives (ExecutorOptions::check_finite).
  void check_finite() { options_.check_finite = true; }
  /// Bytes of the arena of each device.
  int64_t arena_bytes() const { return program_.arena_bytes(); }

  /// Returns the counts of the last run of `entry`, step by step: the largest of any device, and totals over
  /// all. Every rank must call it.
  std::vector<StepCount> counts(const EntryPoint& entry);

  /// From now on, `timeline` gets the times of steps; it must outlive the runs. With nullptr, nothing does.
  void record(Timeline* timeline) { timeline_ = timeline; }
  /// Returns the work of each step of `entry` on a device, with the flops that its last run counted.
  std::vector<StepWork> work(const EntryPoint& entry, size_t device);

  /// Called after every step with its index and the seconds it took, where set; for timelines and reports.
  using Observer = std::function<void(const EntryPoint&, size_t step, double seconds)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

 private:
  struct Loaded;
  // Three numbers, each of which is written by the thread that runs steps.
  struct At {
    std::atomic<int> entry = -1;
    std::atomic<int64_t> step = 0, train_step = 0;
  };
  Loaded& loaded(const EntryPoint& entry);
  void run_rounds(Loaded& loaded, int64_t step);
  size_t next_step(Loaded& loaded, size_t step);
  bool holds(const EntryPoint& entry, ValueId condition);
  void run_timed(Loaded& loaded, size_t step, int64_t train_step);
  void run_step(Loaded& loaded, size_t step, int64_t train_step);
  void run_ring(Loaded& loaded, size_t step, int64_t train_step, size_t& device);
  void run_kernels(Loaded& loaded, size_t step, int64_t train_step, size_t& device);
  void run_kernel(Loaded& loaded, size_t step, size_t device, int64_t train_step);
  void check_inputs(const EntryPoint& entry, int64_t train_step);
  void check_results(const EntryPoint& entry, const Step& step, size_t device);

  const Program& program_;
  Comm& comm_;
  ExecutorOptions options_;
  At at_;                                        // the step that runs
  std::vector<Arena> arenas_;                    // one per device of this process
  std::vector<std::unique_ptr<Loaded>> loaded_;  // by position in the program
  Observer observer_;
  Timeline* timeline_ = nullptr;
};

}  // namespace mtfc
