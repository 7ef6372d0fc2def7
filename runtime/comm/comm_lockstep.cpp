#include "runtime/comm/comm_lockstep.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "core/diagnostics/error.h"
#include "core/tensors/bf16.h"
#include "runtime/comm/prepared_ring.h"
#include "runtime/comm/reduce.h"
#include "runtime/comm/transfer.h"
#include "runtime/memory/runs.h"

namespace mtfc {
namespace {

constexpr int64_t kChunk = 8192;  // elements reduced at a time, so that they stay in the cache

class LockstepCollectives : public Collectives {
 public:
  LockstepCollectives(const EntryPoint& entry, const Mesh& mesh, const std::vector<Coordinates>& devices,
                      std::span<const Arena> arenas)
      : arenas_(arenas) {
    for (size_t i = 0; i < entry.steps.size(); ++i) {
      if (entry.steps[i].kind() == StepKind::kRing) add_ring(i, entry, mesh, devices);
      if (entry.steps[i].kind() != StepKind::kStart) continue;
      std::vector<CollectivePlan>& plans = plans_[i];
      for (const Coordinates& at : devices) plans.push_back(plan_collective(entry, entry.steps[i], mesh, at));
      moved_[i].resize(plans.size());
      for (const CollectivePlan& plan : plans)
        if (plan.self == 0) reserve(plans, plan);
    }
    chunk_.resize(static_cast<size_t>(kChunk * size_of(DType::kF64)));
  }

  void start(size_t step) override { check_invariant(plans_.count(step) > 0, "a step starts no collective"); }

  void wait(size_t step) override {
    const std::vector<CollectivePlan>& plans = plans_.at(step);
    std::vector<CollectiveCost>& moved = moved_.at(step);
    for (size_t device = 0; device < plans.size(); ++device) pack(plans[device].parts, arenas_[device]);
    for (size_t device = 0; device < plans.size(); ++device) {
      const CollectivePlan& plan = plans[device];
      moved[device] += moved_by(plan);
      if (plan.self != 0) continue;
      if (works_in_place(plan.kind))
        all_reduce(plan);
      else
        move_group(plans, plan);
    }
    for (size_t device = 0; device < plans.size(); ++device) unpack(plans[device].parts, arenas_[device]);
  }

  PreparedRing& ring(size_t step, size_t device) override { return rings_.at(step)[device]; }

  CollectiveCost count(size_t step) const override {
    CollectiveCost most;
    const auto take = [&](const CollectiveCost& moved) {
      most.elements = std::max(most.elements, moved.elements);
      most.bytes_sent = std::max(most.bytes_sent, moved.bytes_sent);
    };
    if (const auto rings = rings_.find(step); rings != rings_.end())
      for (const RingInMemory& ring : rings->second) take(ring.moved());
    else
      for (const CollectiveCost& moved : moved_.at(step)) take(moved);
    return most;
  }
  void clear_counts() override {
    for (auto& [step, rings] : rings_)
      for (RingInMemory& ring : rings) ring.clear_moved();
    for (auto& [step, moved] : moved_) std::fill(moved.begin(), moved.end(), CollectiveCost{});
  }

 private:
  void add_ring(size_t step, const EntryPoint& entry, const Mesh& mesh,
                const std::vector<Coordinates>& devices) {
    for (const Coordinates& at : devices) {
      RingPlan plan = plan_ring(entry, entry.steps[step], mesh, at);
      std::vector<std::byte*> starts;
      for (const int64_t rank : plan.ranks) starts.push_back(arenas_[static_cast<size_t>(rank)].at(0));
      rings_[step].emplace_back(std::move(plan), std::move(starts));
    }
  }

  const Arena& arena(const CollectivePlan& plan, size_t member) const {
    return arenas_[static_cast<size_t>(plan.ranks[member])];
  }
  static const CollectivePlan& of_member(const std::vector<CollectivePlan>& plans,
                                         const CollectivePlan& leader, size_t member) {
    return plans[static_cast<size_t>(leader.ranks[member])];
  }

  // If results take the place of operands, no result may be written before all operands have been read.
  void reserve(const std::vector<CollectivePlan>& plans, const CollectivePlan& leader) {
    if (works_in_place(leader.kind) || !leader.in_place()) return;
    int64_t bytes = 0;
    for (size_t m = 0; m < leader.ranks.size(); ++m)
      bytes += of_member(plans, leader, m).output.elements() * size_of(leader.dtype);
    staged_.resize(std::max(staged_.size(), static_cast<size_t>(bytes)));
  }

  void all_reduce(const CollectivePlan& plan) {
    if (plan.dtype == DType::kBF16) return all_reduce_in_f32(plan);
    const int64_t size = size_of(plan.dtype), total = plan.input.elements();
    for (int64_t first = 0; first < total; first += kChunk) {
      const int64_t count = std::min(kChunk, total - first);
      const size_t bytes = static_cast<size_t>(count * size);
      std::memcpy(chunk_.data(), arena(plan, 0).at(plan.input.offset + first * size), bytes);
      for (size_t m = 1; m < plan.ranks.size(); ++m)
        combine(plan.reduce, plan.dtype, arena(plan, m).at(plan.input.offset + first * size), chunk_.data(),
                count);
      for (size_t m = 0; m < plan.ranks.size(); ++m)
        std::memcpy(arena(plan, m).at(plan.output.offset + first * size), chunk_.data(), bytes);
    }
  }

  // Adds up all operands before it rounds the sum.
  void all_reduce_in_f32(const CollectivePlan& plan) {
    const int64_t total = plan.input.elements();
    float* const sums = reinterpret_cast<float*>(chunk_.data());
    for (int64_t first = 0; first < total; first += kChunk) {
      const int64_t count = std::min(kChunk, total - first);
      const auto at = [&](size_t m, int64_t offset) {
        return reinterpret_cast<Bf16*>(arena(plan, m).at(offset)) + first;
      };
      std::copy_n(at(0, plan.input.offset), count, sums);
      for (size_t m = 1; m < plan.ranks.size(); ++m)
        combine_in_f32(plan.reduce, reinterpret_cast<const std::byte*>(at(m, plan.input.offset)),
                       chunk_.data(), count);
      for (size_t m = 0; m < plan.ranks.size(); ++m)
        std::transform(sums, sums + count, at(m, plan.output.offset), [](float sum) { return Bf16(sum); });
    }
  }

  void move_group(const std::vector<CollectivePlan>& plans, const CollectivePlan& leader) {
    const int64_t size = size_of(leader.dtype);
    std::byte* staged = staged_.data();
    for (size_t m = 0; m < leader.ranks.size(); ++m) {
      const CollectivePlan& plan = of_member(plans, leader, m);
      std::byte* result = plan.in_place() ? staged : arena(leader, m).at(plan.output.offset);
      collect(plan, result);
      staged += plan.output.elements() * size;
    }
    if (!leader.in_place()) return;
    staged = staged_.data();
    for (size_t m = 0; m < leader.ranks.size(); ++m) {
      const CollectivePlan& plan = of_member(plans, leader, m);
      const int64_t bytes = plan.output.elements() * size;
      if (bytes > 0) std::memcpy(arena(leader, m).at(plan.output.offset), staged, static_cast<size_t>(bytes));
      staged += bytes;
    }
  }

  // Computes one member's output from the inputs of all.
  void collect(const CollectivePlan& plan, std::byte* result) const {
    if (reduces(plan.kind) && plan.dtype == DType::kBF16) return collect_in_f32(plan, result);
    const int64_t size = size_of(plan.dtype);
    if (!plan.fill.empty()) fill_elements(plan.fill, plan.output.elements(), result);
    for (size_t m = 0; m < plan.ranks.size(); ++m) {
      const std::byte* source = arena(plan, m).at(plan.input.offset);
      if (!reduces(plan.kind) || m == 0) {
        copy_runs(plan.receives[m], size, source, result);
        continue;
      }
      for (const Run& run : plan.receives[m])
        combine(plan.reduce, plan.dtype, source + run.from * size, result + run.to * size, run.length);
    }
  }

  void collect_in_f32(const CollectivePlan& plan, std::byte* result) const {
    std::vector<float> sums(static_cast<size_t>(plan.output.elements()));
    for (size_t m = 0; m < plan.ranks.size(); ++m) {
      const auto* source = reinterpret_cast<const Bf16*>(arena(plan, m).at(plan.input.offset));
      for (const Run& run : plan.receives[m]) {
        check_invariant(run.is_contiguous(), "a reduce_scatter takes whole runs");
        float* const to = sums.data() + run.to;
        if (m == 0)
          std::copy_n(source + run.from, run.length, to);
        else
          combine_in_f32(plan.reduce, reinterpret_cast<const std::byte*>(source + run.from),
                         reinterpret_cast<std::byte*>(to), run.length);
      }
    }
    std::transform(sums.begin(), sums.end(), reinterpret_cast<Bf16*>(result),
                   [](float sum) { return Bf16(sum); });
  }

  std::span<const Arena> arenas_;
  std::map<size_t, std::vector<CollectivePlan>> plans_;  // by step, then by device
  std::map<size_t, std::vector<CollectiveCost>> moved_;  // likewise, since the counts were cleared
  std::map<size_t, std::vector<RingInMemory>> rings_;    // by step, then by device
  std::vector<std::byte> chunk_;
  std::vector<std::byte> staged_;
};

}  // namespace

LockstepComm::LockstepComm(const Mesh& mesh, Processes& processes) : mesh_(mesh), processes_(processes) {
  for (int64_t rank = 0; rank < mesh.devices(); ++rank) devices_.push_back(mesh.coordinates(rank));
}

std::vector<Arena> LockstepComm::make_arenas(int64_t bytes) {
  require_memory(bytes * mesh_.devices());
  std::vector<Arena> arenas;
  for (size_t i = 0; i < devices_.size(); ++i) arenas.emplace_back(bytes);
  return arenas;
}

std::unique_ptr<Collectives> LockstepComm::prepare(const EntryPoint& entry, std::span<const Arena> arenas) {
  return std::make_unique<LockstepCollectives>(entry, mesh_, devices_, arenas);
}

}  // namespace mtfc
