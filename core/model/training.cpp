#include "core/model/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/model/optimizer.h"

namespace mtfc {
namespace {

const OptimizerDef& optimizer_of(const TrainSpec& train) {
  const OptimizerDef* optimizer = find_optimizer(train.optimizer);
  check_invariant(optimizer != nullptr, "the reader let an unknown optimizer pass");
  return *optimizer;
}

bool counts_steps(const TrainSpec& train) {
  const bool is_scheduled = std::any_of(train.lr_factors.begin(), train.lr_factors.end(),
                                        [](const auto& factor) { return !factor.second.schedules.empty(); });
  return is_scheduled || !train.schedules.empty() || optimizer_of(train).counts_steps;
}

std::optional<FactoredDims> factored_dims(const TrainSpec& train, const VariableDecl& variable) {
  const auto found = train.factored.find(variable.name);
  return found == train.factored.end() ? std::nullopt : std::optional(found->second);
}

class Training {
 public:
  Training(GraphBuilder& builder, const Model& model, std::vector<TensorId> gradients,
           const std::vector<std::string>& wanted, std::vector<Assignment>& assignments)
      : b_(builder),
        train_(*model.train),
        optimizer_(optimizer_of(train_)),
        wanted_(wanted),
        assignments_(assignments),
        gradients_(std::move(gradients)) {
    for (const VariableDecl& variable : model.variables)
      if (variable.trainable) trained_.push_back(&variable);
  }

  void run() {
    if (trained_.empty()) return;
    b_.set_origin({"train", train_.location, Phase::kUpdate});
    step_ = counts_steps(train_) ? next_step() : kNoTensor;
    rate_ = rate();
    shared_ = optimizer_.shared(b_, train_.numbers, rate_, step_);
    if (train_.clip_norm || wants(kNormName)) clip();
    for (size_t i = 0; i < trained_.size(); ++i) update(*trained_[i], gradients_[i]);
  }

 private:
  bool wants(std::string_view name) const {
    return std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end();
  }

  // The number of this step, from 1. The variable holds the number of steps made before.
  TensorId next_step() {
    const TensorId made = add_state(shared_state(train_)[0]);
    const TensorId number = b_.op("add", {made, b_.constant(1, DType::kI64)});
    assignments_.push_back({kStepName, number, train_.location});
    return b_.op("cast", {number}, {{"dtype", DType::kF64}});
  }

  // State can be asked for by name, like any other variable.
  TensorId add_state(const VariableDecl& state) {
    const TensorId variable = b_.add_variable(state.name, state.type);
    b_.mark_from_model(variable);
    return variable;
  }

  TensorId rate() {
    const TensorId rate = learning_rate(b_, learning_rate_of(train_), step_);
    if (!train_.schedules.empty() || wants(kRateName)) b_.name(rate, kRateName);
    return rate;
  }

  // The values that the updates of this variable share with those of others, in f64.
  const std::vector<TensorId>& shared_of(const VariableDecl& variable) {
    const auto factor = train_.lr_factors.find(variable.name);
    if (factor == train_.lr_factors.end()) return shared_;
    const auto [known, added] = shared_by_factor_.try_emplace(factor->second);
    if (added) {
      b_.set_origin({"train", train_.location, Phase::kUpdate});
      const TensorId own = b_.op("mul", {rate_, learning_rate(b_, factor->second, step_)});
      known->second = optimizer_.shared(b_, train_.numbers, own, step_);
    }
    return known->second;
  }

  // Scales the gradients so that the norm of all of them is at most clip_norm, if there is one.
  void clip() {
    const TensorId norm = b_.op("sqrt", {sum_of_squares()});
    b_.name(norm, kNormName);
    if (!train_.clip_norm) return;
    const TensorId most = b_.constant(*train_.clip_norm, DType::kF64);
    const TensorId factor = b_.op("div", {most, b_.op("maximum", {norm, most})});
    for (size_t i = 0; i < trained_.size(); ++i) {
      set_update_origin(*trained_[i]);
      gradients_[i] = b_.op("mul", {gradients_[i], in_type(factor, b_.type(gradients_[i]).dtype)});
    }
  }

  // The sum of the squares of all gradients, in f64. Gradients of the same dimensions are usually split
  // alike, so their partial sums are added first and reduced together; those of many elements come before
  // those of few.
  TensorId sum_of_squares() {
    using Key = std::tuple<DType, int64_t, std::set<std::string>>;
    std::map<Key, TensorId> sums;
    for (size_t i = 0; i < trained_.size(); ++i) {
      const TensorType type = b_.type(gradients_[i]);
      set_update_origin(*trained_[i]);
      const TensorId sum = b_.op("reduce_sum", {b_.op("square", {gradients_[i]})});
      Key key{type.dtype, -elements(type.dims), {}};
      for (const Dim& dim : type.dims) std::get<2>(key).insert(dim.name);
      const auto [known, added] = sums.emplace(std::move(key), sum);
      if (!added) known->second = b_.op("add", {known->second, sum});
    }
    b_.set_origin({"train", train_.location, Phase::kUpdate});
    std::map<DType, TensorId> by_type;
    for (const auto& [key, sum] : sums) {
      const auto [known, added] = by_type.emplace(std::get<0>(key), sum);
      if (!added) known->second = b_.op("add", {known->second, sum});
    }
    TensorId total = kNoTensor;
    for (const auto& [dtype, sum] : by_type) {
      const TensorId wide = dtype == DType::kF64 ? sum : b_.op("cast", {sum}, {{"dtype", DType::kF64}});
      total = total == kNoTensor ? wide : b_.op("add", {total, wide});
    }
    return total;
  }

  void set_update_origin(const VariableDecl& variable) {
    b_.set_origin({fmt::format("{}/{}", variable.name, optimizer_.name), train_.location, Phase::kUpdate});
  }

  // An f64 scalar converted to another type. A constant is made anew, any other scalar is cast once.
  TensorId in_type(TensorId scalar, DType dtype) {
    if (const auto value = b_.graph().constant_value(scalar)) return b_.constant(*value, dtype);
    if (dtype == DType::kF64) return scalar;
    const auto [known, added] = casts_.emplace(std::pair{scalar, dtype}, kNoTensor);
    if (added) {
      const SharedOrigin origin = b_.origin();
      b_.set_origin({"train", train_.location, Phase::kUpdate});
      known->second = b_.op("cast", {scalar}, {{"dtype", dtype}});
      b_.set_origin(origin);
    }
    return known->second;
  }

  void update(const VariableDecl& variable, TensorId gradient) {
    const std::vector<TensorId>& shared = shared_of(variable);
    set_update_origin(variable);
    UpdateInputs inputs{.settings = train_.numbers, .shared = {}, .state = {b_.graph().find(variable.name)}};
    for (const VariableDecl& slot : state_of(train_, variable)) inputs.state.push_back(add_state(slot));
    for (const TensorId scalar : shared) inputs.shared.push_back(in_type(scalar, variable.type.dtype));
    inputs.gradient = gradient;
    inputs.decays = train_.no_decay.count(variable.name) == 0;
    inputs.factored = factored_dims(train_, variable);
    const std::vector<TensorId> updated = optimizer_.update(b_, inputs);
    for (size_t k = 0; k < updated.size(); ++k)
      assignments_.push_back({b_.graph().tensor(inputs.state[k]).name, updated[k], train_.location});
  }

  GraphBuilder& b_;
  const TrainSpec& train_;
  const OptimizerDef& optimizer_;
  const std::vector<std::string>& wanted_;
  std::vector<Assignment>& assignments_;
  std::vector<TensorId> gradients_;
  std::vector<const VariableDecl*> trained_;
  TensorId step_ = kNoTensor, rate_ = kNoTensor;
  std::vector<TensorId> shared_;  // the values that all updates share, in f64
  std::map<LearningRate, std::vector<TensorId>> shared_by_factor_;  // by the factor of their rate
  std::map<std::pair<TensorId, DType>, TensorId> casts_;
};

VariableDecl state(std::string name, const TensorType& type, const Location& location,
                   const std::string& group = "") {
  return {std::move(name), type, Init{}, false, true, location, group};
}

}  // namespace

std::vector<VariableDecl> state_of(const TrainSpec& train, const VariableDecl& variable) {
  std::vector<VariableDecl> found;
  const UpdatedVariable updated{variable.type, factored_dims(train, variable)};
  for (const Slot& slot : optimizer_of(train).slots(train.numbers, updated))
    found.push_back(
        state(fmt::format("{}/{}", variable.name, slot.name), slot.type, variable.location, variable.group));
  return found;
}

std::vector<VariableDecl> shared_state(const TrainSpec& train) {
  if (!counts_steps(train)) return {};
  return {state(kStepName, {DType::kI64, {}}, train.location)};
}

LearningRate learning_rate_of(const TrainSpec& train) {
  return {train.numbers.at("lr"), train.schedules};
}

std::vector<std::string> training_names(const Model& model) {
  std::vector<std::string> names;
  for (const VariableDecl& variable : model.variables) {
    if (!variable.trainable) continue;
    names.push_back(variable.name + "/grad");
    for (const VariableDecl& state : state_of(*model.train, variable)) names.push_back(state.name);
  }
  if (names.empty()) return names;
  for (const VariableDecl& state : shared_state(*model.train)) names.push_back(state.name);
  names.insert(names.end(), {kRateName, kNormName});
  return names;
}

std::vector<TensorId> add_gradients(GraphBuilder& builder, const Model& model, TensorId loss) {
  std::vector<TensorId> leaves, gradients;
  std::vector<std::string> names;
  for (const VariableDecl& variable : model.variables) {
    if (!variable.trainable) continue;
    leaves.push_back(builder.graph().find(variable.name));
    names.push_back(variable.name + "/grad");
    gradients.push_back(builder.graph().find(names.back()));
  }
  if (model.train->microbatches > 1) return gradients;
  builder.set_origin({"", model.train->location, Phase::kBackward});
  gradients = builder.add_gradients(loss, leaves, names);
  for (const TensorId id : gradients) builder.mark_from_model(id);
  return gradients;
}

void add_updates(GraphBuilder& builder, const Model& model, std::vector<TensorId> gradients,
                 const std::vector<std::string>& wanted, std::vector<Assignment>& assignments) {
  Training(builder, model, std::move(gradients), wanted, assignments).run();
}

}  // namespace mtfc
