#include "core/cost/memory_traffic.h"

#include <algorithm>
#include <map>
#include <utility>

namespace mtfc {
namespace {

struct Access {
  ValueId value;
  int64_t bytes;
  bool writes;  // memory that was not read before
};

bool is_same_memory(const EntryPoint& entry, ValueId a, ValueId b) {
  return entry.values[a].buffer == entry.values[b].buffer && entry.values[a].buffer != kNoBuffer;
}

bool leaves_in_place(const EntryPoint& entry, const Step& step) {
  return (step.kind() == StepKind::kSlice || (step.op() && step.op()->family == Family::kRelabel)) &&
         is_same_memory(entry, step.inputs[0], step.outputs[0]);
}

// Operations that pick elements read no more of an operand than they take from it.
bool picks(const Step& step) {
  return step.kind() == StepKind::kSlice ||
         (step.kind() == StepKind::kKernel &&
          (step.op()->family == Family::kIndexing || step.op()->family == Family::kMovement));
}

// If the result lies in the memory of an operand, only the changed elements are read and written.
std::vector<Access> picked(const EntryPoint& entry, const Step& step, const std::vector<LocalType>& operands,
                           const std::vector<LocalType>& results) {
  int64_t written = 0, read = 0;
  size_t in_place = operands.size();
  for (size_t r = 0; r < results.size(); ++r) {
    written += bytes(results[r]);
    for (size_t o = 0; o < operands.size(); ++o)
      if (is_same_memory(entry, step.inputs[o], step.outputs[r])) in_place = o;
  }
  std::vector<Access> all;
  for (size_t o = 0; o < operands.size(); ++o) {
    if (o == in_place) continue;
    all.push_back({step.inputs[o], std::min(bytes(operands[o]), written), false});
    read += all.back().bytes;
  }
  for (size_t r = 0; r < results.size(); ++r)
    all.push_back({step.outputs[r], in_place < operands.size() ? read : bytes(results[r]),
                   in_place == operands.size()});
  return all;
}

std::vector<Access> accesses(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  if (is_control(step.kind()) || step.kind() == StepKind::kWait || leaves_in_place(entry, step)) return {};
  const std::vector<LocalType> operands = local_types(entry, step.inputs, mesh, mesh.last()),
                               results = local_types(entry, step.outputs, mesh, mesh.last());
  if (picks(step)) return picked(entry, step, operands, results);
  std::vector<Access> all;
  for (size_t o = 0; o < operands.size(); ++o)
    if (std::none_of(all.begin(), all.end(), [&](const Access& a) { return a.value == step.inputs[o]; }))
      all.push_back({step.inputs[o], bytes(operands[o]), false});
  for (size_t r = 0; r < results.size(); ++r) {
    const bool in_place = std::any_of(step.inputs.begin(), step.inputs.end(), [&](ValueId input) {
      return is_same_memory(entry, input, step.outputs[r]);
    });
    all.push_back({step.outputs[r], bytes(results[r]), !in_place});
  }
  return all;
}

// Remembers when each part of the arena was last touched. Time is counted in bytes touched.
class TouchedMemory {
 public:
  int64_t now() const { return now_; }
  void advance(int64_t bytes) { now_ += bytes; }

  // Appends the parts of [begin, end), each with the bytes touched since it was touched last.
  void look(int64_t begin, int64_t end, bool writes, int64_t time, std::vector<MemoryAccess>& found) {
    if (begin >= end) return;
    if (const Touch* whole = part_of(begin, end)) {
      found.push_back({end - begin, time - whole->time, writes});
      return;
    }
    split(begin);
    split(end);
    int64_t at = begin;
    for (auto part = touched_.lower_bound(begin); part != touched_.end() && part->first < end; ++part) {
      if (part->first > at) found.push_back({part->first - at, time, writes});  // never touched before
      found.push_back({part->second.end - part->first, time - part->second.time, writes});
      at = part->second.end;
    }
    if (at < end) found.push_back({end - at, time, writes});
  }

  void touch(int64_t begin, int64_t end, int64_t time) {
    if (begin >= end) return;
    if (Touch* whole = part_of(begin, end)) {
      whole->time = time;
      return;
    }
    split(begin);
    split(end);
    touched_.erase(touched_.lower_bound(begin), touched_.lower_bound(end));
    touched_[begin] = {end, time};
  }

 private:
  struct Touch {
    int64_t end, time;
  };

  // The part from `begin` to `end`, or nullptr if no part is just that.
  Touch* part_of(int64_t begin, int64_t end) {
    const auto at = touched_.find(begin);
    return at != touched_.end() && at->second.end == end ? &at->second : nullptr;
  }

  void split(int64_t at) {
    auto after = touched_.upper_bound(at);
    if (after == touched_.begin()) return;
    Touch& before = std::prev(after)->second;
    if (std::prev(after)->first == at || before.end <= at) return;
    touched_[at] = before;
    before.end = at;
  }

  std::map<int64_t, Touch> touched_;  // by their begin; they don't overlap
  int64_t now_ = 0;
};

class Walk {
 public:
  Walk(const EntryPoint& entry, const Mesh& mesh) : entry_(entry), traffic_(entry.steps.size()) {
    for (const Step& step : entry.steps) {
      accesses_.push_back(accesses(entry, step, mesh));
      std::erase_if(accesses_.back(),
                    [&](const Access& a) { return entry.values[a.value].buffer == kNoBuffer; });
    }
  }

  // Runs the program twice, and each loop twice: the second time finds memory as the first time has left it.
  std::vector<std::vector<MemoryAccess>> run() {
    for (const bool looks : {false, true}) {
      looks_ = looks;
      steps(0, entry_.steps.size());
    }
    return std::move(traffic_);
  }

 private:
  void steps(size_t from, size_t end) {
    for (size_t s = from; s < end; ++s) {
      if (const auto* loop = entry_.steps[s].as<BeginLoop>()) {
        const size_t last = loop->end.index();
        for (int round = 0; round < 2; ++round) steps(s + 1, last);
        s = last;
      } else {
        visit(s);
      }
    }
  }

  int64_t offset(const Access& access) const {
    return entry_.buffers[entry_.values[access.value].buffer].offset;
  }

  void visit(size_t s) {
    traffic_[s].clear();
    const int64_t begin = memory_.now();
    for (const Access& access : accesses_[s]) {
      if (looks_)
        memory_.look(offset(access), offset(access) + access.bytes, access.writes, begin, traffic_[s]);
      memory_.advance(access.bytes);
    }
    for (const Access& access : accesses_[s])
      memory_.touch(offset(access), offset(access) + access.bytes, begin);
  }

  const EntryPoint& entry_;
  std::vector<std::vector<Access>> accesses_;
  std::vector<std::vector<MemoryAccess>> traffic_;
  TouchedMemory memory_;
  bool looks_ = false;  // what is found is kept
};

}  // namespace

std::vector<std::vector<MemoryAccess>> memory_traffic(const EntryPoint& entry, const Mesh& mesh) {
  return Walk(entry, mesh).run();
}

}  // namespace mtfc
