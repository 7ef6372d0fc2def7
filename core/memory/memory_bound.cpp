#include "core/memory/memory_bound.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace mtfc {
namespace {

constexpr int kNone = -1;

/// The steps in which a value is needed.
struct Life {
  int first = kNone;
  int last = kNone;
  bool is_forward = false;  // it is made before the forward pass ends
};

// The number of steps until the forward pass ends. Operations of the backward pass among them are fused with some of the
// forward pass and depend on it alone.
size_t forward_steps(const EntryPoint& entry) {
  size_t count = 0;
  for (size_t s = 0; s < entry.steps.size(); ++s)
    if (entry.steps[StepIndex(s)].phase == Phase::kForward) count = s + 1;
  return count;
}

PerValue<Life> lives_of(const EntryPoint& entry) {
  PerValue<Life> lives(entry.values.size(), Life{});
  const size_t end = forward_steps(entry);
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    const Step& step = entry.steps[StepIndex(s)];
    const bool is_forward = s < end;
    for (const ValueId id : step.outputs) {
      Life& life = lives[root_of(entry, id)];
      if (life.first == kNone) life = {static_cast<int>(s), static_cast<int>(s), is_forward};
    }
    for (const ValueId id : step.inputs) {
      Life& life = lives[root_of(entry, id)];
      if (life.first != kNone && (is_forward || !life.is_forward)) life.last = static_cast<int>(s);
    }
  }
  return lives;
}

// The bytes at each step, and one more, of the buffers that hold values for which `counts`, by their lives.
template <typename Counts>
std::vector<int64_t> alive_bytes(const EntryPoint& entry, Counts counts) {
  const PerValue<Life> lives = lives_of(entry);
  IndexedBy<BufferId, std::vector<std::pair<int, int>>> in_use(entry.buffers.size());
  for (size_t v = 0; v < entry.values.size(); ++v) {
    const Value& value = entry.values[ValueId(v)];
    const Life& life = lives[ValueId(v)];
    if (value.buffer == kNoBuffer || life.first == kNone || !counts(life)) continue;
    if (entry.buffers[value.buffer].kind == BufferKind::kVariable) continue;
    in_use[value.buffer].emplace_back(life.first, life.last);
  }
  std::vector<int64_t> alive(entry.steps.size() + 1, 0);
  for (size_t b = 0; b < entry.buffers.size(); ++b) {
    std::vector<std::pair<int, int>>& spans = in_use[BufferId(b)];
    std::sort(spans.begin(), spans.end());
    int end = 0;  // after the last step that is counted
    for (const auto& [first, last] : spans) {
      const int begin = std::max(first, end);
      if (last < begin) continue;
      alive[static_cast<size_t>(begin)] += entry.buffers[BufferId(b)].bytes;
      alive[static_cast<size_t>(last) + 1] -= entry.buffers[BufferId(b)].bytes;
      end = last + 1;
    }
  }
  std::partial_sum(alive.begin(), alive.end(), alive.begin());
  return alive;
}

}  // namespace

int64_t lasting_memory(const Program& program, const EntryPoint& entry) {
  int64_t end = 0;
  for (const auto* variables : {&program.variables, &entry.caches})
    for (const ProgramVariable& variable : *variables) end = std::max(end, variable.offset + variable.bytes);
  return end;
}

int64_t least_memory(const Program& program, const EntryPoint& entry) {
  const std::vector<int64_t> alive = alive_bytes(entry, [](const Life&) { return true; });
  return lasting_memory(program, entry) + *std::max_element(alive.begin(), alive.end());
}

int64_t backward_memory(const EntryPoint& entry, size_t step) {
  return alive_bytes(entry, [](const Life& life) { return !life.is_forward; })[step];
}

}  // namespace mtfc
