#include "core/cost/time_model.h"

#include <algorithm>
#include <map>

#include "core/cost/collective_time.h"
#include "core/cost/cost.h"
#include "core/cost/kernel_time.h"
#include "core/cost/ring_time.h"
#include "core/program/collective_cost.h"

namespace mtfc {
namespace {

// The sums of the times that each resource would take at its best rate.
struct Roofline {
  double operations = 0, memory = 0;
  std::map<std::string, double> network;  // by link

  double seconds() const {
    double most = std::max(operations, memory);
    for (const auto& [unused, seconds] : network) most = std::max(most, seconds);
    return most;
  }
};

const char* bound_of(const KernelTime& time) {
  if (time.seconds() <= 0) return "";
  if (time.overhead_s > std::max(time.compute_s, time.memory_s)) return "overhead";
  return time.compute_s > time.memory_s ? "compute" : "memory";
}

const char* bound_of(const CollectiveTime& time) {
  if (time.seconds() <= 0) return "";
  return time.latency_s > time.transfer_s + time.own_s ? "latency" : "network";
}

// Walks the steps with two clocks: that of the device and that of the network.
class Clocks {
 public:
  Clocks(const Program& program, const EntryPoint& entry, const std::vector<StepCount>& counts,
         const Hardware& hardware, const std::vector<KernelTime>& kernels)
      : mesh_(program.mesh()),
        entry_(entry),
        counts_(counts),
        hardware_(hardware),
        kernels_(kernels),
        times_(repetitions(entry)),
        done_(entry.steps.size()),
        pending_(entry.steps.size()) {
    cost_.hardware = hardware.name;
    cost_.steps.resize(entry.steps.size());
  }

  TimeCost run() {
    for (size_t s = 0; s < entry_.steps.size(); ++s) {
      cost_.steps[s].begin_s = now_;
      visit(s);
      cost_.steps[s].end_s = std::max(cost_.steps[s].end_s, now_);
    }
    cost_.step_s = std::max(now_, network_);
    cost_.roofline_s = roofline_.seconds();
    if (cost_.step_s > 0) cost_.efficiency = useful_seconds_at_peak(mesh_, entry_, hardware_) / cost_.step_s;
    return cost_;
  }

 private:
  struct Round {
    double begin, network;
  };

  void visit(size_t s) {
    const Step& step = entry_.steps[s];
    switch (step.kind()) {
      case StepKind::kKernel:
      case StepKind::kFused:
      case StepKind::kSlice:
        return run_kernel(s);
      case StepKind::kRing:
        return run_ring(s);
      case StepKind::kStart:
        return start(s);
      case StepKind::kWait:
        return wait(s);
      case StepKind::kLoop:
        rounds_.push_back({now_, network_});
        return;
      case StepKind::kRepeat:
        return repeat(*step.as<RepeatLoop>());
      case StepKind::kLeave:
        return;
    }
  }

  void run_kernel(size_t s) {
    const KernelTime& time = kernels_[s];
    const auto runs = static_cast<double>(times_[s]);
    const double operations = runs * time.peak_s;
    const double memory = runs * static_cast<double>(time.bytes) / hardware_.memory_bandwidth.most();
    roofline_.operations += operations;
    roofline_.memory += memory;
    cost_.steps[s].at_peak_s = std::max(operations, memory);
    cost_.steps[s].seconds = runs * time.seconds();
    cost_.steps[s].bound = bound_of(time);
    cost_.compute_s += runs * time.seconds();
    now_ += time.seconds();
  }

  // Its transfers begin when the network is free.
  void run_ring(size_t s) {
    const RingTime time = ring_time(entry_, entry_.steps[s], kernels_[s], mesh_, hardware_);
    const auto runs = static_cast<double>(times_[s]);
    const double sent = (time.members - 1) * time.turn.ideal_s;
    roofline_.operations += runs * time.product.peak_s;
    roofline_.memory += runs * static_cast<double>(time.product.bytes) / hardware_.memory_bandwidth.most();
    roofline_.network[mesh_.names(entry_.steps[s].as<RunRing>()->axes)] += runs * sent;
    if (time.turn.overlaps && network_ > now_)
      now_ = std::max(now_, network_ - time.product.seconds() / time.members);
    now_ += time.seconds();
    if (time.turn.overlaps) network_ = std::max(network_, now_ - time.product.seconds() / time.members);
    cost_.steps[s].seconds = runs * time.seconds();
    cost_.steps[s].at_peak_s = runs * std::max(time.product.peak_s, sent);
    cost_.steps[s].bound =
        time.transfers_s() > time.product.seconds() ? bound_of(time.turn) : bound_of(time.product);
    cost_.compute_s += runs * time.product.seconds();
    cost_.communication_s += runs * time.transfers_s();
  }

  void start(size_t s) {
    const Step& step = entry_.steps[s];
    const auto runs = static_cast<double>(times_[s]);
    const double bytes = runs > 0 ? static_cast<double>(counts_[s].bytes_sent) / runs : 0;
    CollectiveTime time =
        collective_time(step.collective().kind, step.collective().axes, mesh_, bytes, hardware_);
    if (is_combined(step))
      time.own_s += packing_seconds(collective_workspace(entry_, step, mesh_), hardware_);
    roofline_.network[mesh_.names(step.collective().axes)] += runs * time.ideal_s;
    cost_.steps[s].seconds = runs * time.seconds();
    cost_.steps[s].at_peak_s = runs * time.ideal_s;
    cost_.steps[s].bound = bound_of(time);
    cost_.communication_s += runs * time.seconds();
    if (time.overlaps) {
      cost_.steps[s].begin_s = std::max(now_, network_);
      cost_.steps[s].end_s = network_ = done_[s] = cost_.steps[s].begin_s + time.seconds() - time.own_s;
      pending_[s] = time.own_s;
    } else {
      pending_[s] = time.seconds();
    }
  }

  void wait(size_t s) {
    const size_t started = entry_.steps[s].as<AwaitCollective>()->start.index();
    const double before = now_;
    now_ = std::max(now_, done_[started]);
    if (pending_[started] > 0) {
      // A link that does not overlap does its work here, on the device's time.
      if (done_[started] == 0) cost_.steps[started].begin_s = now_;
      now_ += pending_[started];
      cost_.steps[started].end_s = now_;
    }
    cost_.steps[s].seconds = (now_ - before) * static_cast<double>(times_[s]);
  }

  // Adds the other rounds of a loop, each as long as the first.
  void repeat(const RepeatLoop& loop) {
    const Round round = rounds_.back();
    rounds_.pop_back();
    const int64_t times = entry_.steps[loop.begin].as<BeginLoop>()->times;
    const auto more = static_cast<double>(std::max<int64_t>(times, 1) - 1);
    const double length = std::max(now_, network_) - std::max(round.begin, round.network);
    const double first = now_ - round.begin, each = std::max(length, first);
    if (rounds_.empty()) cost_.loops.push_back({round.begin, first, each, std::max<int64_t>(times, 1)});
    now_ += more * each;
    if (network_ > round.network) network_ = std::max(network_, now_);
  }

  const Mesh& mesh_;
  const EntryPoint& entry_;
  const std::vector<StepCount>& counts_;
  const Hardware& hardware_;
  const std::vector<KernelTime>& kernels_;  // by step
  const std::vector<int64_t> times_;
  std::vector<double> done_;     // when the collective of a start ends
  std::vector<double> pending_;  // the time that the collective of a start takes in its wait
  std::vector<Round> rounds_;    // the loops around the current step
  double now_ = 0, network_ = 0;
  Roofline roofline_;
  TimeCost cost_;
};

}  // namespace

double useful_seconds_at_peak(const Mesh& mesh, const EntryPoint& entry, const Hardware& hardware) {
  double seconds = 0;
  for (const auto& [dtype, flops] : entry.useful.needed)
    seconds += static_cast<double>(flops) / hardware.peak(dtype);
  return seconds / static_cast<double>(mesh.devices());
}

TimeCost predicted_time(const Program& program, const EntryPoint& entry, const std::vector<StepCount>& counts,
                        const Hardware& hardware) {
  return predicted_time(program, entry, counts, hardware, kernel_times(entry, program.mesh(), hardware));
}

std::vector<KernelTime> kernel_times(const EntryPoint& entry, const Mesh& mesh, const Hardware& hardware) {
  const std::vector<std::vector<MemoryAccess>> traffic = memory_traffic(entry, mesh);
  std::vector<KernelTime> times(entry.steps.size());
  for (size_t s = 0; s < times.size(); ++s) {
    const Step& step = entry.steps[s];
    const StepKind kind = step.kind();
    if (kind == StepKind::kKernel || kind == StepKind::kFused || kind == StepKind::kSlice ||
        kind == StepKind::kRing)
      times[s] = kernel_time(entry, step, traffic[s], mesh, hardware);
  }
  return times;
}

TimeCost predicted_time(const Program& program, const EntryPoint& entry, const std::vector<StepCount>& counts,
                        const Hardware& hardware, const std::vector<KernelTime>& kernels) {
  return Clocks(program, entry, counts, hardware, kernels).run();
}

}  // namespace mtfc
