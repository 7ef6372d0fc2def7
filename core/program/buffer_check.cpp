#include "core/program/buffer_check.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/program/fused_grid.h"

namespace mtfc {
namespace {

struct Bytes {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const Bytes&) const = default;
  bool overlaps(const Bytes& other) const { return begin < other.end && other.begin < end; }
};

class BufferCheck {
 public:
  BufferCheck(const Mesh& mesh, const EntryPoint& entry) : mesh_(mesh), entry_(entry) {
    for (const ValueId id : entry.values.ids()) {
      const Value& value = entry.values[id];
      if (value.buffer == kNoBuffer || value.alias_of != kNoValue) continue;
      if (buffer(value.buffer).kind == BufferKind::kVariable) holds_.push_back({bytes_of(id), id});
    }
    for (const Binding& input : entry.inputs) put(input.value, "an input");
  }

  std::optional<BufferFault> run() {
    std::set<size_t> repeated;
    for (size_t s = 0; s < entry_.steps.size() && !fault_; ++s) {
      const Step& step = entry_.steps[s];
      now_ = static_cast<int>(s);
      if (step.kind() == StepKind::kLeave) need(step.inputs[0]);
      // A second round checks that the loop finds what the first round has left.
      if (const auto* repeat = step.as<RepeatLoop>(); repeat && repeated.insert(s).second)
        s = repeat->begin.index();
      if (is_control(step.kind())) continue;
      if (step.kind() == StepKind::kStart)
        start(s);
      else if (step.kind() == StepKind::kWait)
        wait(step, step.as<AwaitCollective>()->start.index());
      else
        compute(step);
    }
    now_ = -1;
    for (const Binding& output : entry_.outputs) need(output.value);
    if (!under_way_.empty()) fail("a collective is never awaited");
    return fault_;
  }

 private:
  struct Holding {
    Bytes bytes;
    ValueId value;  // a root
  };
  struct UnderWay {
    size_t step;
    std::vector<Bytes> in, out;
    Bytes workspace;
    bool reads(const Bytes& bytes) const { return overlaps(in, bytes); }
    bool writes(const Bytes& bytes) const { return overlaps(out, bytes) || workspace.overlaps(bytes); }
    static bool overlaps(const std::vector<Bytes>& values, const Bytes& bytes) {
      return std::any_of(values.begin(), values.end(),
                         [&](const Bytes& value) { return value.overlaps(bytes); });
    }
  };

  const Buffer& buffer(BufferId id) const { return entry_.buffers.at(id.index()); }

  Bytes bytes_of(ValueId id) const {
    const int64_t begin = buffer(entry_.values[id].buffer).offset;
    return {begin, begin + largest_bytes(entry_, id, mesh_)};
  }

  Bytes workspace_of(const Step& step) const {
    if (step.workspace == kNoBuffer) return {};
    const Buffer& workspace = buffer(step.workspace);
    return {workspace.offset, workspace.offset + workspace.bytes};
  }

  void fail(const std::string& what) {
    if (!fault_) fault_ = BufferFault{now_, what};
  }
  const std::string& name(ValueId id) const { return entry_.values[id].name; }

  // Checks that the value is still where it was put and that no collective may write there.
  void need(ValueId id) {
    const Bytes bytes = bytes_of(id);
    const ValueId root = root_of(entry_, id);
    const bool held =
        bytes.begin == bytes.end || std::any_of(holds_.begin(), holds_.end(), [&](const Holding& holding) {
          return holding.value == root && holding.bytes == bytes;
        });
    if (!held) fail("'" + name(id) + "' has been overwritten or was never made");
    for (const UnderWay& other : under_way_)
      if (other.writes(bytes))
        fail("'" + name(id) + "' is read while step " + std::to_string(other.step) + " may write over it");
  }

  // Checks that no collective uses the bytes; they may then be written.
  void claim(const Bytes& bytes, const std::string& what) {
    for (const UnderWay& other : under_way_)
      if (other.reads(bytes) || other.writes(bytes))
        fail(what + " lies in what step " + std::to_string(other.step) + " is using");
    std::erase_if(holds_, [&](const Holding& holding) { return holding.bytes.overlaps(bytes); });
  }

  void put(ValueId id, const std::string& what) {
    const Bytes bytes = bytes_of(id);
    if (bytes.end > entry_.arena_bytes) fail(what + " ends outside of the arena");
    claim(bytes, what);
    holds_.push_back({bytes, root_of(entry_, id)});
  }

  void compute(const Step& step) {
    const Bytes workspace = workspace_of(step);
    for (const ValueId id : step.inputs) {
      need(id);
      if (workspace.overlaps(bytes_of(id))) fail("its workspace lies in an operand");
      for (const ValueId made : step.outputs)
        if (bytes_of(made).overlaps(bytes_of(id)) && !may_share(step, id, made))
          fail("'" + name(made) + "' is written over the operand '" + name(id) + "'");
    }
    claim(workspace, "its workspace");
    for (const ValueId id : step.outputs) {
      if (workspace.overlaps(bytes_of(id))) fail("its workspace lies in its result");
      put(id, "'" + name(id) + "'");
    }
  }

  // True if the step may write its result over the operand: it works element by element, or leaves
  // unchanged elements untouched.
  bool may_share(const Step& step, ValueId operand, ValueId result) const {
    const Value &a = entry_.values[operand], &b = entry_.values[result];
    if (bytes_of(operand) != bytes_of(result) || a.type != b.type || a.sharding.dims != b.sharding.dims)
      return false;
    return step.kind() == StepKind::kFused
               ? may_overwrite(entry_, step, operand, result)
               : step.kind() == StepKind::kKernel && may_overwrite_operand(*step.op());
  }

  void start(size_t s) {
    const Step& step = entry_.steps[s];
    UnderWay begun{s, {}, {}, workspace_of(step)};
    for (const ValueId id : step.inputs) {
      need(id);
      begun.in.push_back(bytes_of(id));
    }
    for (const ValueId id : step.outputs) begun.out.push_back(bytes_of(id));
    if (begun.reads(begun.workspace) || UnderWay::overlaps(begun.out, begun.workspace))
      fail("its workspace lies in its operand or result");
    for (size_t i = 0; i < begun.out.size(); ++i) start_result(step, begun, i);
    claim(begun.workspace, "its workspace");
    under_way_.push_back(std::move(begun));
  }

  // Result `i` of a collective that begins. It may take the place of its own operand alone.
  void start_result(const Step& step, const UnderWay& begun, size_t i) {
    const Bytes& result = begun.out[i];
    const bool in_place = works_in_place(step.collective().kind) && begun.in[i] == result;
    for (size_t k = 0; k < begun.in.size(); ++k)
      if (begun.in[k].overlaps(result) && !(in_place && k == i)) fail("its result lies in its operand");
    for (size_t k = 0; k < i; ++k)
      if (begun.out[k].overlaps(result)) fail("its results lie in each other");
    if (!in_place) claim(result, "'" + name(step.outputs[i]) + "'");
    for (const UnderWay& other : under_way_)
      if (other.reads(result)) fail("its result lies in what is being sent");
  }

  void wait(const Step& step, size_t start) {
    const auto at = std::find_if(under_way_.begin(), under_way_.end(),
                                 [&](const UnderWay& begun) { return begun.step == start; });
    if (at == under_way_.end()) return fail("it waits for a collective that was not started");
    under_way_.erase(at);
    for (const ValueId id : step.inputs) need(id);
    for (const ValueId id : step.outputs) put(id, "'" + name(id) + "'");
  }

  const Mesh& mesh_;
  const EntryPoint& entry_;
  std::vector<Holding> holds_;
  std::vector<UnderWay> under_way_;
  int now_ = -1;
  std::optional<BufferFault> fault_;
};

}  // namespace

std::optional<BufferFault> find_buffer_fault(const Mesh& mesh, const EntryPoint& entry) {
  return BufferCheck(mesh, entry).run();
}

}  // namespace mtfc
