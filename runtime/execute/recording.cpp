#include "runtime/execute/recording.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

#include "core/cost/cost.h"
#include "core/tensors/relayout.h"
#include "runtime/memory/dtypes.h"

namespace mtfc {
namespace {

double element_of(const LocalShard& shard, int64_t index) {
  return dispatch(AllTypes{}, shard.type.dtype, [&]<typename T>() {
    T value;
    std::memcpy(&value, shard.data + index * static_cast<int64_t>(sizeof value), sizeof value);
    return static_cast<double>(value);
  });
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

double magnitude(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  return largest;
}

// Terms of a product multiply, so its operand magnitude is the product of its operands'.
double largest_operand(const Step& step, const std::map<ValueId, double>& largest) {
  const bool product = step.op() && step.op()->traits.multiplies;
  double found = product ? 1 : 0;
  for (const ValueId id : step.inputs) {
    const auto at = largest.find(id);
    const double operand = at == largest.end() ? 0 : at->second;
    found = product ? found * operand : std::max(found, operand);
  }
  return found;
}

}  // namespace

Recorder::Recorder(Executor& executor) : executor_(executor) {
  executor_.observe(
      [this](const EntryPoint& entry, size_t step, double) { record(entry, entry.steps[step]); });
}

RecordedTensor Recorder::assembled(const std::string& name, const TensorType& type,
                                   const std::vector<LocalShard>& shards) const {
  RecordedTensor tensor;
  tensor.name = name;
  tensor.type = type;
  const auto count = static_cast<size_t>(elements(type.dims));
  tensor.values.resize(count);
  std::vector<bool> written(count, false);
  const Box whole = whole_box(type.dims);
  for (const LocalShard& shard : shards)
    for (const Run& run : common_runs(type.dims, shard.box, type.dims, whole))
      for (int64_t k = 0; k < run.length; ++k) {
        const auto to = static_cast<size_t>(run.to + k);
        const double value = element_of(shard, run.from + k);
        if (written[to] && !same(tensor.values[to], value) && !tensor.torn) tensor.torn = to;
        tensor.values[to] = value;
        written[to] = true;
      }
  return tensor;
}

void Recorder::record(const EntryPoint& entry, const Step& step) {
  if (step.kind() == StepKind::kStart) return;
  if (step.kind() == StepKind::kFused) {
    for (const Step& member : step.members()) record(entry, member);
    return;
  }
  for (const ValueId id : step.outputs) {
    const Value& value = entry.values[id];
    if (value.buffer == kNoBuffer) continue;
    std::vector<LocalShard> shards;
    for (size_t device = 0; device < executor_.devices(); ++device)
      shards.push_back(executor_.shard(entry, id, device));
    // The devices of a partial value hold different terms: only their size counts.
    RecordedTensor tensor = assembled(value.name, value.type, shards);
    // A copy is as exact as its operand.
    const bool copies = step.op() && step.op()->traits.copies == Copies::kOperand;
    const auto exact = copies ? operands_.find(step.inputs[0]) : operands_.end();
    tensor.largest_operand = exact != operands_.end() ? exact->second : largest_operand(step, largest_);
    largest_[id] = magnitude(tensor.values);
    operands_[id] = tensor.largest_operand;
    if (!value.from_model || !value.sharding.partial.empty()) continue;
    tensor.entry = entry.name;
    tensor.step = step_;
    tensor.operation = step.op() ? std::string(step.op()->signature.name) : kind_of(step);
    tensor.source = step.source;
    tensors_.push_back(std::move(tensor));
  }
}

void Recorder::run(const EntryPoint& entry, int64_t step) {
  step_ = step;
  largest_.clear();
  operands_.clear();
  executor_.run(entry, step);
  const std::vector<ProgramVariable>& variables = executor_.program().variables;
  for (size_t v = 0; v < variables.size(); ++v) {
    std::vector<LocalShard> shards;
    for (size_t device = 0; device < executor_.devices(); ++device)
      shards.push_back(executor_.variable(v, device));
    RecordedTensor tensor = assembled("new " + variables[v].decl.name, variables[v].decl.type, shards);
    tensor.entry = entry.name;
    tensor.step = step;
    tensor.operation = "variable";
    tensors_.push_back(std::move(tensor));
  }
}

namespace {

// A loop makes the tensors that it carries several times in a step.
using MadeTensors =
    std::map<std::tuple<std::string, int64_t, std::string>, std::vector<const RecordedTensor*>>;

std::vector<const RecordedTensor*>& made_as(MadeTensors& made, const RecordedTensor& tensor) {
  return made[{tensor.entry, tensor.step, tensor.name}];
}

}  // namespace

Comparison compare(const std::vector<RecordedTensor>& expected, const std::vector<RecordedTensor>& found,
                   double tolerance) {
  MadeTensors known, judged;
  for (const RecordedTensor& tensor : expected) made_as(known, tensor).push_back(&tensor);
  for (const RecordedTensor& tensor : found) made_as(judged, tensor).push_back(&tensor);
  std::map<const std::vector<const RecordedTensor*>*, size_t> turns;
  Comparison result;
  for (const RecordedTensor& tensor : found) {
    const std::vector<const RecordedTensor*>& all = made_as(judged, tensor);
    const std::vector<const RecordedTensor*>& others = made_as(known, tensor);
    const size_t turn = turns[&all]++;
    const bool is_last = turn + 1 == all.size();
    if (others.empty() || (!is_last && turn >= others.size())) continue;
    const RecordedTensor& wanted = is_last ? *others.back() : *others[turn];
    if (wanted.type != tensor.type) continue;
    ++result.tensors;
    const double rate = tolerance > 0 ? tolerance : tensor.type.dtype == DType::kF64 ? 1e-9 : 1e-4;
    const double own = magnitude(wanted.values);
    const double operands = std::max(wanted.largest_operand, tensor.largest_operand);
    const double allowed = is_float(tensor.type.dtype) ? rate * (own + 0.01 * operands) : 0;
    if (tensor.torn && !result.first)
      result.first =
          Difference{&tensor, *tensor.torn, wanted.values[*tensor.torn], tensor.values[*tensor.torn], -1};
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      const double a = wanted.values[i], b = tensor.values[i];
      if (std::isnan(a) && std::isnan(b) && ++result.nans == 1) result.nan_where = tensor.name;
      if (same(a, b)) continue;
      const double difference = std::abs(a - b);
      const double relative = difference / std::max(own, std::numeric_limits<double>::min());
      if (relative > result.largest && is_float(tensor.type.dtype)) {
        result.largest = relative;
        result.where = tensor.name;
      }
      if (!(difference <= allowed) && !result.first) result.first = Difference{&tensor, i, a, b, allowed};
    }
  }
  return result;
}

}  // namespace mtfc
