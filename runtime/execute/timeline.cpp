#include "runtime/execute/timeline.h"

#include <algorithm>
#include <cstring>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

// Writes numbers one after another, to be sent and read back by Unpacking.
class Packing {
 public:
  void put(int64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacking {
 public:
  explicit Unpacking(const std::string& bytes) : bytes_(bytes) {}
  bool at_end() const { return at_ == bytes_.size(); }
  int64_t get() {
    int64_t number;
    check_invariant(at_ + sizeof number <= bytes_.size(), "a timeline arrives cut short");
    std::memcpy(&number, bytes_.data() + at_, sizeof number);
    at_ += sizeof number;
    return number;
  }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
};

void pack(Packing& to, const DeviceTimeline& device, int64_t offset) {
  const auto put_span = [&](const TimeSpan& span) {
    to.put(span.begin + offset);
    to.put(span.end + offset);
  };
  to.put(static_cast<int64_t>(device.work.size()));
  for (const std::vector<StepWork>& steps : device.work) {
    to.put(static_cast<int64_t>(steps.size()));
    for (const StepWork& work : steps) {
      to.put(work.flops);
      to.put(work.bytes);
    }
  }
  to.put(static_cast<int64_t>(device.runs.size()));
  for (const TimedRun& run : device.runs) {
    to.put(static_cast<int64_t>(run.entry));
    to.put(run.train_step);
    put_span(run.span);
    to.put(static_cast<int64_t>(run.steps.size()));
    for (const TimeSpan& span : run.steps) put_span(span);
  }
}

DeviceTimeline unpacked(Unpacking& from) {
  const auto get_span = [&] {
    const int64_t begin = from.get();
    return TimeSpan{begin, from.get()};
  };
  DeviceTimeline device;
  device.work.resize(static_cast<size_t>(from.get()));
  for (std::vector<StepWork>& steps : device.work) {
    steps.resize(static_cast<size_t>(from.get()));
    for (StepWork& work : steps) {
      work.flops = from.get();
      work.bytes = from.get();
    }
  }
  device.runs.resize(static_cast<size_t>(from.get()));
  for (TimedRun& run : device.runs) {
    run.entry = static_cast<size_t>(from.get());
    run.train_step = from.get();
    run.span = get_span();
    run.steps.resize(static_cast<size_t>(from.get()));
    for (TimeSpan& span : run.steps) span = get_span();
  }
  return device;
}

}  // namespace

Timeline::Timeline(const Program& program, size_t devices, int64_t kept)
    : program_(program), devices_(devices), kept_(kept), recorded_(program.entry_points.size()) {}

size_t Timeline::position(const EntryPoint& entry) const {
  const auto position = static_cast<size_t>(&entry - program_.entry_points.data());
  check_invariant(position < recorded_.size(), "an entry point is not of the program that is recorded");
  return position;
}

void Timeline::begin_run(const EntryPoint& entry, int64_t train_step) {
  running_ = &recorded_[position(entry)];
  steps_ = entry.steps.size();
  if (running_->runs == 0) {
    running_->first.resize(steps_);
    running_->total.resize(steps_);
  }
  sums_ = running_->runs == 0 ? &running_->first : &running_->total;
  slot_ = nullptr;
  if (kept_ > 0) {
    const auto turn = static_cast<size_t>(running_->runs % kept_);
    if (turn == running_->ring.size())
      running_->ring.push_back({0, {}, std::vector<TimeSpan>(devices_ * steps_)});
    slot_ = &running_->ring[turn];
    slot_->train_step = train_step;
    slot_->span.begin = now();
  }
}

void Timeline::add(size_t device, size_t step, TimeSpan span) {
  (*sums_)[step] += span.end - span.begin;
  if (slot_) slot_->steps[device * steps_ + step] = span;
}

void Timeline::end_run() {
  ++running_->runs;
  if (slot_) slot_->span.end = now();
}

StepTimes Timeline::times(const EntryPoint& entry, Processes& processes) const {
  const Recorded& recorded = recorded_[position(entry)];
  StepTimes times;
  times.runs = std::max<int64_t>(recorded.runs > 0, recorded.runs - 1);
  std::vector<int64_t> most = recorded.runs > 1 ? recorded.total : recorded.first;
  most.resize(entry.steps.size());
  std::vector<int64_t> sum = most;
  processes.maximum(most);
  processes.sum(sum);
  const double own =
      1e-9 / static_cast<double>(std::max<int64_t>(1, times.runs)) / static_cast<double>(devices_);
  for (size_t i = 0; i < most.size(); ++i) {
    times.mean_seconds.push_back(static_cast<double>(sum[i]) * own / processes.size());
    times.max_seconds.push_back(static_cast<double>(most[i]) * own);
  }
  return times;
}

DeviceTimeline Timeline::device_timeline(size_t device) const {
  DeviceTimeline timeline;
  for (size_t e = 0; e < recorded_.size(); ++e) {
    const size_t steps = program_.entry_points[e].steps.size();
    for (const Kept& kept : recorded_[e].ring) {
      const auto first = kept.steps.begin() + static_cast<ptrdiff_t>(device * steps);
      timeline.runs.push_back(
          {e, kept.train_step, kept.span, {first, first + static_cast<ptrdiff_t>(steps)}});
    }
  }
  std::sort(timeline.runs.begin(), timeline.runs.end(),
            [](const TimedRun& a, const TimedRun& b) { return a.span.begin < b.span.begin; });
  return timeline;
}

std::vector<DeviceTimeline> gather_timelines(std::vector<DeviceTimeline> own, int64_t offset,
                                             Processes& processes) {
  if (processes.size() == 1) return own;
  Packing packing;
  for (const DeviceTimeline& device : own) pack(packing, device, offset);
  std::vector<DeviceTimeline> all;
  for (const std::string& bytes : processes.gather(packing.take())) {
    Unpacking from(bytes);
    while (!from.at_end()) all.push_back(unpacked(from));
  }
  return all;
}

}  // namespace mtfc
