#include "core/cost/time_model.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

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

// A prediction's input: a program with its counts, and the times of its kernels on the hardware.
struct Priced {
  const Mesh& mesh;
  const EntryPoint& entry;
  const std::vector<StepCount>& counts;
  const Hardware& hardware;
  const std::vector<KernelTime>& kernels;  // by step
};

// The times from when on the networks of the levels are free.
class Networks {
 public:
  double& of(size_t level) {
    if (level >= free_.size()) free_.resize(level + 1, 0);
    return free_[level];
  }
  double last() const { return free_.empty() ? 0 : *std::max_element(free_.begin(), free_.end()); }
  // None that was used after `before` is free before this time.
  void extend(const Networks& before, double time) {
    for (size_t level = 0; level < free_.size(); ++level)
      if (level >= before.free_.size() || free_[level] > before.free_[level])
        free_[level] = std::max(free_[level], time);
  }

 private:
  std::vector<double> free_;
};

// Walks the steps with the clocks of the device, of the networks and of the processor that issues their work.
class Clocks {
 public:
  // `issue_s` is the time of the processor for each kernel and collective. `rounds` are the rounds() of a walk without
  // such a time; nothing if `issue_s` is 0.
  explicit Clocks(const Priced& priced, double issue_s = 0, std::vector<double> rounds = {})
      : in_(priced),
        issue_s_(issue_s),
        times_(repetitions(priced.entry)),
        unissued_rounds_(std::move(rounds)),
        rounds_of_(priced.entry.steps.size()),
        started_(priced.entry.steps.size()) {
    cost_.hardware = priced.hardware.name;
    cost_.steps.resize(priced.entry.steps.size());
  }

  TimeCost run() {
    for (size_t s = 0; s < in_.entry.steps.size(); ++s) {
      cost_.steps[s].begin_s = now_;
      visit(s);
      cost_.steps[s].end_s = std::max(cost_.steps[s].end_s, now_);
    }
    cost_.step_s = std::max({now_, networks_.last(), host_}) + in_.hardware.program_overhead_s;
    cost_.device_s = cost_.step_s;
    cost_.issue_s = host_;
    cost_.roofline_s = roofline_.seconds();
    if (cost_.step_s > 0)
      cost_.efficiency = useful_seconds_at_peak(in_.mesh, in_.entry, in_.hardware) / cost_.step_s;
    return cost_;
  }
  // By the step that begins a loop, the time of a round after the first on the device.
  const std::vector<double>& rounds() const { return rounds_of_; }

 private:
  struct Round {
    double begin;
    Networks networks;
    double host;
  };
  struct Started {
    double ready = 0;  // the wait can't end before
    double left = 0;   // the time that the collective takes in its wait
    bool overlaps = true;
    double slows_kernels = 1, slowed_by_kernels = 1;
    size_t level = 0;
  };

  void visit(size_t s) {
    const Step& step = in_.entry.steps[s];
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
        rounds_.push_back({now_, networks_, host_});
        return;
      case StepKind::kRepeat:
        return repeat(*step.as<RepeatLoop>());
      case StepKind::kLeave:
        return;
    }
  }

  // The processor is done with one kernel or collective more.
  void issue() { host_ += issue_s_; }

  void run_kernel(size_t s) {
    const KernelTime& time = in_.kernels[s];
    const auto runs = static_cast<double>(times_[s]);
    const double operations = runs * time.peak_s;
    const double memory = runs * static_cast<double>(time.bytes) / in_.hardware.memory_bandwidth.most();
    roofline_.operations += operations;
    roofline_.memory += memory;
    cost_.steps[s].at_peak_s = std::max(operations, memory);
    cost_.steps[s].seconds = runs * time.seconds();
    cost_.steps[s].bound = bound_of(time);
    cost_.compute_s += runs * time.seconds();
    if (time.issued > 0) {
      issue();
      now_ = std::max(now_, host_);
    }
    cost_.steps[s].begin_s = now_;
    run_for(time.seconds());
  }

  // Kernels that would take so long alone. While networks move data, kernels and transfers slow each other down.
  void run_for(double seconds) {
    while (seconds > 0) {
      std::erase_if(in_flight_, [&](size_t s) { return started_[s].ready <= now_; });
      double slower = 1;
      std::optional<size_t> next;  // the first to begin or to end
      double until_next = 0;
      for (const size_t s : in_flight_) {
        const double until = is_moving(s) ? (started_[s].ready - now_) * started_[s].slowed_by_kernels
                                          : cost_.steps[s].begin_s - now_;
        if (is_moving(s)) slower = std::max(slower, started_[s].slows_kernels);
        if (!next || until < until_next) {
          next = s;
          until_next = until;
        }
      }
      const bool is_done = !next || seconds * slower <= until_next;
      const double both = is_done ? seconds * slower : until_next;
      for (const size_t s : in_flight_)
        if (is_moving(s)) delay(s, both - both / started_[s].slowed_by_kernels);
      if (is_done) {
        now_ += both;
        return;
      }
      seconds -= both / slower;
      now_ = is_moving(*next) ? started_[*next].ready : cost_.steps[*next].begin_s;
    }
  }

  bool is_moving(size_t s) const { return cost_.steps[s].begin_s <= now_; }

  // This collective, and those behind it on its network, end so much later.
  void delay(size_t s, double seconds) {
    if (seconds <= 0) return;
    bool is_behind = false;
    for (const size_t other : in_flight_) {
      if (started_[other].level != started_[s].level) continue;
      if (other == s || is_behind) cost_.steps[other].end_s = started_[other].ready += seconds;
      if (is_behind) cost_.steps[other].begin_s += seconds;
      is_behind = is_behind || other == s;
    }
    networks_.of(started_[s].level) += seconds;
  }

  // Its transfers begin when the network is free. The processor issues its products, and a transfer after each but the
  // last.
  void run_ring(size_t s) {
    const RingTime time = ring_time(in_.entry, in_.entry.steps[s], in_.kernels[s], in_.mesh, in_.hardware);
    const auto runs = static_cast<double>(times_[s]);
    const double sent = (time.members - 1) * time.turn.ideal_s;
    roofline_.operations += runs * time.product.peak_s;
    roofline_.memory += runs * static_cast<double>(time.product.bytes) / in_.hardware.memory_bandwidth.most();
    roofline_.network[in_.mesh.names(in_.entry.steps[s].as<RunRing>()->axes)] += runs * sent;
    double& network = networks_.of(time.turn.level);
    if (time.turn.overlaps && network > now_)
      now_ = std::max(now_, network - time.product.seconds() / time.members);
    issue();
    now_ = std::max(now_, host_) + time.seconds();
    host_ += 2 * (time.members - 1) * issue_s_;
    now_ = std::max(now_, host_);
    if (time.turn.overlaps) network = std::max(network, now_ - time.product.seconds() / time.members);
    cost_.steps[s].seconds = runs * time.seconds();
    cost_.steps[s].at_peak_s = runs * std::max(time.product.peak_s, sent);
    cost_.steps[s].bound =
        time.transfers_s() > time.product.seconds() ? bound_of(time.turn) : bound_of(time.product);
    cost_.compute_s += runs * time.product.seconds();
    cost_.communication_s += runs * time.transfers_s();
  }

  void start(size_t s) {
    const Step& step = in_.entry.steps[s];
    const auto runs = static_cast<double>(times_[s]);
    const double bytes = runs > 0 ? static_cast<double>(in_.counts[s].bytes_sent) / runs : 0;
    CollectiveTime time =
        collective_time(step.collective().kind, step.collective().axes, in_.mesh, bytes, in_.hardware);
    if (is_combined(step))
      time.own_s += packing_seconds(collective_workspace(in_.entry, step, in_.mesh), in_.hardware);
    roofline_.network[in_.mesh.names(step.collective().axes)] += runs * time.ideal_s;
    cost_.steps[s].seconds = runs * time.seconds();
    cost_.steps[s].at_peak_s = runs * time.ideal_s;
    cost_.steps[s].bound = bound_of(time);
    cost_.communication_s += runs * time.seconds();
    issue();
    if (time.overlaps) {
      double& network = networks_.of(time.level);
      cost_.steps[s].begin_s = std::max({now_, network, host_});
      cost_.steps[s].end_s = network = cost_.steps[s].begin_s + time.seconds() - time.own_s;
      started_[s] = {network, time.own_s, true, time.slows_kernels, time.slowed_by_kernels, time.level};
      if (time.slows_kernels > 1 || time.slowed_by_kernels > 1 || !in_flight_.empty())
        in_flight_.push_back(s);
    } else {
      started_[s] = {host_, time.seconds(), false};
    }
  }

  void wait(size_t s) {
    const size_t start = in_.entry.steps[s].as<AwaitCollective>()->start.index();
    const Started& started = started_[start];
    const double before = now_;
    now_ = std::max(now_, started.ready);
    if (started.left > 0) {
      // A link that does not overlap does its work here, on the device's time.
      if (!started.overlaps) cost_.steps[start].begin_s = now_;
      now_ += started.left;
      cost_.steps[start].end_s = now_;
    }
    cost_.steps[s].seconds = (now_ - before) * static_cast<double>(times_[s]);
  }

  // Adds the other rounds of a loop, each as long as the first on the device; or as on the processor that issues it.
  void repeat(const RepeatLoop& loop) {
    const Round round = rounds_.back();
    rounds_.pop_back();
    const int64_t times = std::max<int64_t>(in_.entry.steps[loop.begin].as<BeginLoop>()->times, 1);
    const auto more = static_cast<double>(times - 1);
    const double length = std::max(now_, networks_.last()) - std::max(round.begin, round.networks.last());
    const double first = now_ - round.begin;
    const double on_device = issue_s_ > 0 ? unissued_rounds_[loop.begin.index()] : std::max(length, first);
    const double on_host = host_ - round.host;
    rounds_of_[loop.begin.index()] = on_device;
    // The time from when the processor begins a round to when the device has finished it, if it waits for nothing else.
    // The processor begins the last round when it has issued all others.
    const double from_host = std::min(now_ - round.host, on_host + on_device);
    const double end = std::max(now_ + more * on_device, round.host + more * on_host + from_host);
    const double each = issue_s_ > 0 && more > 0 ? (end - now_) / more : on_device;
    if (rounds_.empty()) cost_.loops.push_back({round.begin, first, each, times, on_device, on_host});
    now_ = end;
    host_ += more * on_host;
    networks_.extend(round.networks, now_);
  }

  const Priced in_;
  const double issue_s_;
  const std::vector<int64_t> times_;
  const std::vector<double> unissued_rounds_;
  std::vector<double> rounds_of_;  // by the step that begins a loop: a round after the first on the device
  std::vector<Started> started_;   // by the step that starts a collective
  std::vector<size_t>
      in_flight_;              // started collectives, from one on that slows kernels down or is slowed down
  std::vector<Round> rounds_;  // the loops around the current step
  double now_ = 0, host_ = 0;
  Networks networks_;
  Roofline roofline_;
  TimeCost cost_;
};

// The kernels whose values depend on constants alone. A framework that issues kernels makes these values once, or
// clears all of them together, and hands numbers to kernels as arguments.
std::vector<size_t> made_once(const EntryPoint& entry) {
  const auto is_kernel = [](const Step& step) {
    return step.kind() == StepKind::kKernel || step.kind() == StepKind::kFused ||
           step.kind() == StepKind::kSlice;
  };
  std::set<ValueId> made_here, varying;
  for (const Step& step : entry.steps)
    if (is_kernel(step)) made_here.insert(step.outputs.begin(), step.outputs.end());
  const auto draws = [](const Step& step) { return step.op() && step.op()->traits.is_drawn; };
  const auto varies = [&](const Step& step) {
    return !is_kernel(step) || draws(step) ||
           std::any_of(step.members().begin(), step.members().end(), draws) ||
           std::any_of(step.inputs.begin(), step.inputs.end(),
                       [&](ValueId id) { return !made_here.contains(id) || varying.contains(id); });
  };
  for (const Step& step : entry.steps)
    if (varies(step)) varying.insert(step.outputs.begin(), step.outputs.end());
  std::vector<size_t> found;
  for (size_t s = 0; s < entry.steps.size(); ++s)
    if (is_kernel(entry.steps[s]) && !varies(entry.steps[s])) found.push_back(s);
  return found;
}

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
  return kernel_times(entry, mesh, hardware, memory_traffic(entry, mesh));
}

std::vector<KernelTime> kernel_times(const EntryPoint& entry, const Mesh& mesh, const Hardware& hardware,
                                     const std::vector<std::vector<MemoryAccess>>& traffic) {
  std::vector<KernelTime> times(entry.steps.size());
  for (size_t s = 0; s < times.size(); ++s) {
    const Step& step = entry.steps[s];
    const StepKind kind = step.kind();
    if (kind == StepKind::kKernel || kind == StepKind::kFused || kind == StepKind::kSlice ||
        kind == StepKind::kRing)
      times[s] = kernel_time(entry, step, traffic[s], mesh, hardware);
  }
  if (hardware.issue_s > 0)
    for (const size_t s : made_once(entry)) {
      times[s].overhead_s = 0;
      times[s].issued = 0;
    }
  return times;
}

TimeCost predicted_time(const Program& program, const EntryPoint& entry, const std::vector<StepCount>& counts,
                        const Hardware& hardware, const std::vector<KernelTime>& kernels) {
  const Priced priced{program.mesh(), entry, counts, hardware, kernels};
  Clocks device(priced);
  const TimeCost cost = device.run();
  if (hardware.issue_s <= 0) return cost;
  TimeCost issued = Clocks(priced, hardware.issue_s, device.rounds()).run();
  issued.device_s = cost.device_s;
  return issued;
}

}  // namespace mtfc
