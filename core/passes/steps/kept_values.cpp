#include "core/passes/steps/kept_values.h"

#include <map>

namespace mtfc {
namespace {

constexpr int kNone = -1;

// A step, or a member of a fused one: the values that it reads and makes.
struct Work {
  std::vector<ValueId> reads, makes;  // roots
  bool is_product = false, is_update = false;
};

void add_work(const EntryPoint& entry, const Step& step, std::vector<Work>& works) {
  if (!step.parts.empty()) {
    for (const Step& part : step.parts) add_work(entry, part, works);
    return;
  }
  Work work;
  for (const ValueId id : step.inputs) work.reads.push_back(root_of(entry, id));
  for (const ValueId id : step.outputs) work.makes.push_back(root_of(entry, id));
  work.is_update = step.phase == Phase::kUpdate;
  work.is_product = step.kind == StepKind::kKernel && step.op->family == Family::kContraction;
  works.push_back(std::move(work));
}

class Dependences {
 public:
  explicit Dependences(const EntryPoint& entry) : entry_(entry) {
    for (const Step& step : entry.steps) add_work(entry, step, works_);
    maker_.assign(entry.values.size(), kNone);
    std::vector<int> makers(entry.values.size());
    for (size_t w = 0; w < works_.size(); ++w)
      for (const ValueId id : works_[w].makes) {
        ++makers[static_cast<size_t>(id)];
        maker_[static_cast<size_t>(id)] = static_cast<int>(w);
      }
    // A value that a loop carries is made twice. It is not considered.
    for (size_t v = 0; v < makers.size(); ++v)
      if (makers[v] > 1) maker_[v] = kNone;
  }

  std::vector<ValueId> most_kept() const {
    std::vector<ValueId> most;
    int64_t bytes = 0;
    for (size_t w = 0; w < works_.size(); ++w) {
      if (!works_[w].is_product) continue;
      std::vector<ValueId> kept = kept_at(w);
      int64_t sum = 0;
      for (const ValueId id : kept) sum += mtfc::bytes(entry_.values[static_cast<size_t>(id)].type);
      if (sum <= bytes) continue;
      bytes = sum;
      most = std::move(kept);
    }
    return most;
  }

 private:
  std::vector<ValueId> kept_at(size_t product) const {
    std::vector<bool> before(works_.size()), after(works_.size());
    before[product] = after[product] = true;
    for (size_t w = product + 1; w-- > 0;) {
      if (!before[w]) continue;
      for (const ValueId id : works_[w].reads)
        if (const int maker = maker_of(id, w); maker != kNone) before[static_cast<size_t>(maker)] = true;
    }
    for (size_t w = product; w < works_.size(); ++w)
      for (const ValueId id : works_[w].reads) {
        const int maker = maker_of(id, w);
        if (maker == kNone) continue;
        if (after[static_cast<size_t>(maker)]) after[w] = true;
      }
    std::vector<ValueId> ids;
    std::vector<bool> kept(entry_.values.size());
    for (size_t w = product; w < works_.size(); ++w) {
      if (!after[w]) continue;
      for (const ValueId id : works_[w].reads) {
        const int maker = maker_of(id, w);
        const bool counts = maker != kNone && before[static_cast<size_t>(maker)] && takes_memory(maker, id);
        if (!counts || kept[static_cast<size_t>(id)]) continue;
        kept[static_cast<size_t>(id)] = true;
        ids.push_back(id);
      }
    }
    return ids;
  }

  // The work that makes a value before `reader`, in the same round of a loop.
  int maker_of(ValueId id, size_t reader) const {
    const int maker = maker_[static_cast<size_t>(id)];
    return maker < static_cast<int>(reader) ? maker : kNone;
  }
  // A value made from nothing, such as a constant, may be made anew where it is needed; the new value of a
  // variable may take the place of the old one.
  bool takes_memory(int maker, ValueId id) const {
    const Work& work = works_[static_cast<size_t>(maker)];
    const BufferId buffer = entry_.values[static_cast<size_t>(id)].buffer;
    return !work.reads.empty() && !work.is_update && buffer != kNoBuffer &&
           entry_.buffers[static_cast<size_t>(buffer)].kind == BufferKind::kActivation;
  }

  const EntryPoint& entry_;
  std::vector<Work> works_;
  std::vector<int> maker_;  // by root
};

}  // namespace

std::vector<ValueViews> kept_values(const EntryPoint& entry) {
  std::map<ValueId, ValueViews> views;
  for (const ValueId id : Dependences(entry).most_kept()) views[id];
  for (size_t v = 0; v < entry.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    if (const auto at = views.find(root_of(entry, id)); at != views.end()) at->second.push_back(id);
  }
  std::vector<ValueViews> values;
  for (auto& [unused, ids] : views) values.push_back(std::move(ids));
  return values;
}

}  // namespace mtfc
