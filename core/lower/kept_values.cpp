#include "core/lower/kept_values.h"

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
  if (!step.members().empty()) {
    for (const Step& part : step.members()) add_work(entry, part, works);
    return;
  }
  Work work;
  for (const ValueId id : step.inputs) work.reads.push_back(root_of(entry, id));
  for (const ValueId id : step.outputs) work.makes.push_back(root_of(entry, id));
  work.is_update = step.phase == Phase::kUpdate;
  work.is_product = step.multiplies();
  works.push_back(std::move(work));
}

class Dependences {
 public:
  explicit Dependences(const EntryPoint& entry) : entry_(entry) {
    for (const Step& step : entry.steps) add_work(entry, step, works_);
    maker_.assign(entry.values.size(), kNone);
    PerValue<int> makers(entry.values.size());
    for (size_t w = 0; w < works_.size(); ++w)
      for (const ValueId id : works_[w].makes) {
        ++makers[id];
        maker_[id] = static_cast<int>(w);
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
      for (const ValueId id : kept) sum += mtfc::bytes(entry_.values[id].type);
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
        if (const int maker = maker_of(id, w); maker != kNone) before[maker] = true;
    }
    for (size_t w = product; w < works_.size(); ++w)
      for (const ValueId id : works_[w].reads) {
        const int maker = maker_of(id, w);
        if (maker == kNone) continue;
        if (after[maker]) after[w] = true;
      }
    std::vector<ValueId> ids;
    PerValue<bool> kept(entry_.values.size());
    for (size_t w = product; w < works_.size(); ++w) {
      if (!after[w]) continue;
      for (const ValueId id : works_[w].reads) {
        const int maker = maker_of(id, w);
        const bool counts = maker != kNone && before[maker] && takes_memory(maker, id);
        if (!counts || kept[id]) continue;
        kept[id] = true;
        ids.push_back(id);
      }
    }
    return ids;
  }

  // The work that makes a value before `reader`, in the same round of a loop.
  int maker_of(ValueId id, size_t reader) const {
    const int maker = maker_[id];
    return maker < static_cast<int>(reader) ? maker : kNone;
  }
  // A value made from nothing, such as a constant, may be made anew where it is needed; the new value of a
  // variable may take the place of the old one.
  bool takes_memory(int maker, ValueId id) const {
    const Work& work = works_[maker];
    const BufferId buffer = entry_.values[id].buffer;
    return !work.reads.empty() && !work.is_update && buffer != kNoBuffer &&
           entry_.buffers[buffer].kind != BufferKind::kVariable &&
           entry_.buffers[buffer].kind != BufferKind::kInput;
  }

  const EntryPoint& entry_;
  std::vector<Work> works_;
  PerValue<int> maker_;  // of roots
};

}  // namespace

std::vector<ValueViews> kept_values(const EntryPoint& entry) {
  std::map<ValueId, ValueViews> views;
  for (const ValueId id : Dependences(entry).most_kept()) views[id];
  for (const ValueId id : entry.values.ids())
    if (const auto at = views.find(root_of(entry, id)); at != views.end()) at->second.push_back(id);
  std::vector<ValueViews> values;
  for (auto& [unused, ids] : views) values.push_back(std::move(ids));
  return values;
}

}  // namespace mtfc
