#include "core/model/microbatches.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include "core/model/batch_uses.h"

namespace mtfc {
namespace {

constexpr size_t kCounter = 0;  // the first operand of the loop: which part it is at

std::vector<std::string> trained_variables(const Model& model) {
  std::vector<std::string> names;
  for (const VariableDecl& variable : model.variables)
    if (variable.trainable) names.push_back(variable.name);
  return names;
}

class Splitter {
 public:
  Splitter(GraphBuilder& builder, const EntryGraph& forward, const Model& model)
      : b_(builder),
        forward_(forward),
        graph_(forward.graph),
        train_(*model.train),
        trained_(trained_variables(model)),
        parts_(model.train->microbatches),
        batch_(batch_of(model)),
        part_{batch_.name, batch_.size / parts_},
        number_{free_name(model.dims), parts_},
        uses_(batch_uses(graph_, batch_, trained_)),
        outside_(graph_.tensors().size(), kNoTensor),
        inside_(graph_.tensors().size(), kNoTensor) {}

  Microbatched run() {
    loss_ = loss();
    check_loss();
    find_needed();
    copy_before();
    differentiate_after();
    add_loop();
    copy_after();
    return finished();
  }

 private:
  static size_t index(TensorId id) { return static_cast<size_t>(id); }
  BatchUse use(TensorId id) const { return uses_.use[index(id)]; }
  bool learned(TensorId id) const { return uses_.learned[index(id)]; }
  bool has_batch(const Dims& dims) const { return position(dims, batch_.name) >= 0; }

  static std::string free_name(const Dims& dims) {
    std::string name = "microbatch";
    while (contains(dims, name)) name += "_";
    return name;
  }

  // The last output of `forward`.
  TensorId loss() const { return forward_.outputs.back().tensor; }

  // Where a tensor is computed. Data may be handled twice: as a whole for what needs it so, and in parts.
  bool is_before(TensorId id) const { return !learned(id) || use(id) == BatchUse::kNone; }
  bool is_in_loop(TensorId id) const {
    return !is_before(id) && (use(id) == BatchUse::kRows || is_reduced(id));
  }
  bool is_reduced(TensorId id) const { return uses_.reduced[index(id)] && use(id) != BatchUse::kWhole; }

  void check_loss() const {
    for (const std::string& name : trained_)
      if (has_batch(graph_.type(graph_.find(name)).dims))
        throw UserError(
            fmt::format("'{}', which is trained, has the dimension '{}', which 'microbatches' cuts "
                        "into parts",
                        name, batch_.name),
            "give the inputs a first dimension that no weights have", train_.microbatches_location);
    if (use(loss_) == BatchUse::kMean && learned(loss_)) return;
    const Node* culprit = nullptr;
    std::vector<bool> leads(graph_.tensors().size(), false);
    leads[index(loss_)] = true;
    for (size_t n = graph_.nodes().size(); n-- > 0;) {
      const Node& node = graph_.nodes()[n];
      const bool on_path = std::any_of(node.results.begin(), node.results.end(),
                                       [&](TensorId id) { return leads[index(id)]; });
      if (!on_path) continue;
      for (const TensorId id : node.operands) leads[index(id)] = true;
      if (use(node.results[0]) == BatchUse::kWhole && learned(node.results[0])) culprit = &node;
    }
    if (!culprit)
      throw UserError("the loss does not depend on the batch, which 'microbatches' cuts into parts", "",
                      train_.microbatches_location);
    throw UserError(
        fmt::format(
            "with 'microbatches' the loss must be a mean or a sum over '{}', but '{}', which leads to "
            "it, takes all rows at once",
            batch_.name, graph_.tensor(culprit->results[0]).name),
        "it must be computed from each row alone, or be linear in means over the rows",
        culprit->origin.location.pointer.empty() ? train_.microbatches_location : culprit->origin.location);
  }

  // What the loop must give, and what it takes to get there.
  void find_needed() {
    needed_.assign(graph_.tensors().size(), false);
    for (const NamedTensor& output : forward_.outputs) needed_[index(output.tensor)] = true;
    for (const Assignment& assignment : forward_.assignments) needed_[index(assignment.value)] = true;
    for (size_t n = graph_.nodes().size(); n-- > 0;) {
      const Node& node = graph_.nodes()[n];
      const TensorId first = node.results[0];
      const bool wanted = std::any_of(node.results.begin(), node.results.end(),
                                      [&](TensorId id) { return needed_[index(id)]; });
      if (wanted && !is_before(first) && !is_in_loop(first))
        for (const TensorId id : node.operands) needed_[index(id)] = true;
    }
    for (size_t i = 0; i < needed_.size(); ++i) {
      const auto id = static_cast<TensorId>(i);
      if (!needed_[i] || !is_in_loop(id)) continue;
      (use(id) == BatchUse::kRows ? rows_ : sums_).push_back(id);
    }
  }

  void copy_node(const Node& node) {
    std::vector<TensorId> operands;
    for (const TensorId id : node.operands) operands.push_back(outside_[index(id)]);
    const std::vector<TensorId> results = b_.copy(graph_, node, operands);
    for (size_t i = 0; i < results.size(); ++i) outside_[index(node.results[i])] = results[i];
  }

  void copy_before() {
    for (const Node& node : graph_.nodes())
      if (is_before(node.results[0])) copy_node(node);
  }

  void copy_after() {
    for (const Node& node : graph_.nodes()) {
      const TensorId first = node.results[0];
      const bool wanted = std::any_of(node.results.begin(), node.results.end(),
                                      [&](TensorId id) { return needed_[index(id)]; });
      if (wanted && !is_before(first) && !is_in_loop(first)) copy_node(node);
    }
  }

  // What the loss adds up: it is linear in what is reduced in the loop, so that its gradients by these are
  // known before, with zeros in their places. Those by variables that it takes in beside them come along.
  void differentiate_after() {
    std::vector<bool> leads(graph_.tensors().size(), false);
    leads[index(loss_)] = true;
    for (size_t n = graph_.nodes().size(); n-- > 0;) {
      const Node& node = graph_.nodes()[n];
      const TensorId first = node.results[0];
      if (std::none_of(node.results.begin(), node.results.end(),
                       [&](TensorId id) { return leads[index(id)]; }))
        continue;
      if (is_in_loop(first))
        reduced_.push_back(first);
      else
        for (const TensorId id : node.operands) leads[index(id)] = leads[index(id)] || learned(id);
    }
    for (const std::string& name : trained_) is_direct_.push_back(leads[index(graph_.find(name))]);
    if (is_in_loop(loss_)) return;
    std::map<TensorId, TensorId> made;
    std::vector<TensorId> in;
    for (const TensorId id : reduced_) {
      set_origin_of(id);
      const TensorType& type = graph_.type(id);
      in.push_back(b_.op("broadcast", {b_.constant(0, type.dtype)}, {{"dims", type.dims}}));
      made[id] = in.back();
    }
    for (const Node& node : graph_.nodes())
      if (leads[index(node.results[0])] && !is_before(node.results[0]) && !is_in_loop(node.results[0]))
        copy_linear(node, made);
    for (size_t i = 0; i < trained_.size(); ++i)
      if (is_direct_[i]) in.push_back(outside_[index(graph_.find(trained_[i]))]);
    b_.set_origin({"", train_.location, Phase::kBackward});
    after_gradients_ = b_.add_gradients(made.at(loss_), in);
  }

  void copy_linear(const Node& node, std::map<TensorId, TensorId>& made) {
    std::vector<TensorId> operands;
    for (const TensorId id : node.operands) {
      const auto found = made.find(id);
      operands.push_back(found == made.end() ? outside_[index(id)] : found->second);
    }
    b_.set_origin(node.origin);
    const std::vector<TensorId> results = b_.add(*node.op, std::move(operands), node.attributes);
    for (size_t i = 0; i < results.size(); ++i) made[node.results[i]] = results[i];
  }

  // The loop

  void add_loop() {
    b_.set_origin({"train", train_.location, Phase::kForward});
    const TensorId start = b_.constant(0, DType::kI32);
    operands_ = {start};
    std::vector<std::string> names = {"train/microbatch"};
    for (const TensorId id : rows_) {
      const TensorId zero = b_.constant(0, graph_.type(id).dtype);
      operands_.push_back(b_.op("broadcast", {zero}, {{"dims", in_parts(graph_.type(id).dims)}}));
      names.push_back(graph_.tensor(id).name + "/parts");
    }
    for (const TensorId id : sums_) names.push_back(graph_.tensor(id).name + "/sum");
    for (const std::string& name : trained_) names.push_back(name + "/grad/sum");
    auto loop = std::make_shared<GraphLoop>();
    loop->times = parts_;
    loop->body = body();
    loop->sums = sums_.size() + trained_.size();
    b_.set_origin({"train", train_.location, Phase::kBackward});
    const std::vector<TensorId> results = b_.add_loop(std::move(loop), operands_, names);
    take(results);
  }

  // […, batch, …] as […, batch / parts, parts, …]
  Dims in_parts(const Dims& dims) const {
    Dims made;
    for (const Dim& dim : dims) {
      made.push_back(dim.name == batch_.name ? part_ : dim);
      if (dim.name == batch_.name) made.push_back(number_);
    }
    return made;
  }

  LoopPart body() {
    for (size_t i = 0; i < operands_.size(); ++i) body_.add_input(leaf_name(i), b_.type(operands_[i]));
    counter_ = body_.graph().find(leaf_name(kCounter));
    LoopPart part;
    for (const TensorId id : rows_) inside(id);
    for (const TensorId id : sums_) inside(id);
    for (const TensorId id : reduced_) inside(id);
    const std::vector<TensorId> gradients = gradients_inside();
    body_.set_origin({"train", train_.location, Phase::kForward});
    part.results = {body_.op("add", {counter_, body_.constant(1, DType::kI32)})};
    for (size_t i = 0; i < rows_.size(); ++i) part.results.push_back(with_rows(rows_[i], i + 1));
    for (const TensorId id : sums_) part.results.push_back(inside_[index(id)]);
    part.results.insert(part.results.end(), gradients.begin(), gradients.end());
    part.graph = std::move(body_).build();
    return part;
  }

  std::vector<TensorId> gradients_inside() {
    std::vector<TensorId> leaves;
    std::vector<std::string> names;
    for (const std::string& name : trained_) {
      leaves.push_back(inside(graph_.find(name)));
      names.push_back(name + "/grad");
    }
    const TensorId of = objective();
    body_.set_origin({"", train_.location, Phase::kBackward});
    return body_.add_gradients(of, leaves, names);
  }

  // What a part adds to the loss: what is reduced there, weighted.
  TensorId objective() {
    if (is_in_loop(loss_)) return inside_[index(loss_)];
    TensorId sum = kNoTensor;
    for (size_t i = 0; i < reduced_.size(); ++i) {
      const TensorId weight = add_operand(after_gradients_[i]), part = inside_[index(reduced_[i])];
      body_.set_origin({"train", train_.location, Phase::kForward});
      const TensorId term = body_.op("reduce_sum", {body_.op("mul", {part, weight})});
      sum = sum == kNoTensor ? term : body_.op("add", {sum, term});
    }
    return sum;
  }

  // The rows so far, with those of this part in their places.
  TensorId with_rows(TensorId id, size_t operand) {
    const Attributes attributes = {{"dim", number_}};
    const TensorId so_far = body_.graph().find(leaf_name(operand));
    return body_.op("update_slice", {so_far, inside_[index(id)], counter_}, attributes);
  }

  // A tensor in the body: of this part, where it has rows. Adds what it takes to compute it, without
  // recursion: graphs are deep.
  TensorId inside(TensorId wanted) {
    if (inside_[index(wanted)] != kNoTensor) return inside_[index(wanted)];
    std::set<int> nodes;
    std::vector<TensorId> open = {wanted};
    while (!open.empty()) {
      const TensorId id = open.back();
      open.pop_back();
      if (inside_[index(id)] != kNoTensor || !nodes.insert(graph_.tensor(id).node).second) continue;
      const Node& node = graph_.producer(id);
      if (!is_given(node)) open.insert(open.end(), node.operands.begin(), node.operands.end());
    }
    for (const int n : nodes) {
      const Node& node = graph_.node(n);
      if (is_given(node))
        give(node);
      else
        copy_inside(node);
    }
    return inside_[index(wanted)];
  }

  // Whether the loop gets the node's results from outside: leaves, data that take the whole batch, and
  // numbers that are drawn once.
  bool is_given(const Node& node) const {
    const TensorId id = node.results[0];
    if (node.kind == NodeKind::kInput || node.kind == NodeKind::kVariable) return true;
    const bool is_drawn = node.operands.empty() && learned(id) && use(id) == BatchUse::kNone;
    const bool needs_all = use(id) != BatchUse::kRows && use(id) != BatchUse::kNone;
    return is_drawn || (needs_all && !learned(id));
  }

  void give(const Node& node) {
    for (const TensorId id : node.results) {
      const Tensor& tensor = graph_.tensor(id);
      TensorId operand = outside_[index(id)];
      if (!has_batch(tensor.type.dims)) {
        inside_[index(id)] = add_operand(operand);  // keeps the name of a leaf
      } else {
        b_.set_origin({"train", train_.location, Phase::kForward});
        operand = b_.op("reshape", {operand}, {{"dims", in_parts(tensor.type.dims)}});
        const TensorId parts = add_operand(operand);
        body_.set_origin({"train", train_.location, Phase::kForward});
        inside_[index(id)] = body_.op("gather", {parts, counter_}, {{"dim", number_}});
        body_.name(inside_[index(id)], tensor.name);
      }
    }
  }

  TensorId add_operand(TensorId operand) {
    operands_.push_back(operand);
    return body_.add_input(leaf_name(operands_.size() - 1), b_.type(operand));
  }

  void copy_inside(const Node& node) {
    std::vector<TensorId> operands;
    for (const TensorId id : node.operands) operands.push_back(inside_[index(id)]);
    std::vector<std::string> names;
    for (const TensorId id : node.results) names.push_back(graph_.tensor(id).name);
    Attributes attributes = of_part(node.attributes);
    body_.set_origin(node.origin);
    if (uses_.adds[index(node.results[0])]) names[0] += "/part";
    std::vector<TensorId> results;
    if (node.kind == NodeKind::kComposite) {
      results = body_.add(*node.composite, operands, std::move(attributes), names);
    } else {
      check_invariant(node.kind == NodeKind::kOp, "a loop or gradients would go into a microbatch");
      if (is_drawn_by_row(node)) {
        operands = {counter_};
        attributes.set("interleaved", batch_);
      }
      results = body_.add(*node.op, operands, std::move(attributes), names);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      inside_[index(node.results[i])] = scaled(node.results[i], results[i]);
      body_.mark_from_model(results[i], graph_.tensor(node.results[i]).from_model);
    }
  }

  bool is_drawn_by_row(const Node& node) const {
    return node.operands.empty() && learned(node.results[0]) && use(node.results[0]) == BatchUse::kRows;
  }

  // A sum over rows as a mean over parts.
  TensorId scaled(TensorId id, TensorId made) {
    if (!uses_.adds[index(id)]) return made;
    const TensorId factor = body_.constant(static_cast<double>(parts_), body_.type(made).dtype);
    const TensorId mean = body_.op("mul", {made, factor});
    body_.name(mean, graph_.tensor(id).name);
    return mean;
  }

  Attributes of_part(const Attributes& attributes) const {
    const auto resized = [&](const Dim& dim) { return dim.name == batch_.name ? part_ : dim; };
    Attributes made;
    for (const auto& [name, value] : attributes.entries()) {
      AttributeValue copied = value;
      if (Dim* dim = std::get_if<Dim>(&copied)) *dim = resized(*dim);
      if (Dims* dims = std::get_if<Dims>(&copied))
        std::transform(dims->begin(), dims->end(), dims->begin(), resized);
      if (auto* renamings = std::get_if<std::vector<Renaming>>(&copied))
        for (Renaming& renaming : *renamings) renaming.to = resized(renaming.to);
      made.set(name, std::move(copied));
    }
    return made;
  }

  // What the loop gave, in the place of the tensors of the model.
  void take(const std::vector<TensorId>& results) {
    size_t next = kCounter + 1;
    for (const TensorId id : rows_) {
      set_origin_of(id);
      put(id, b_.op("reshape", {results[next++]}, {{"dims", graph_.type(id).dims}}));
    }
    for (const TensorId id : sums_) {
      set_origin_of(id);
      const TensorId sum = results[next++];
      put(id, use(id) == BatchUse::kMean ? mean_of(sum) : b_.op("identity", {sum}));
    }
    size_t direct = reduced_.size();
    for (size_t i = 0; i < trained_.size(); ++i) {
      const std::string name = trained_[i] + "/grad";
      b_.set_origin({name, train_.location, Phase::kBackward});
      TensorId gradient = mean_of(results[next++]);
      if (is_direct_[i] && !is_in_loop(loss_))
        gradient = b_.op("add", {gradient, after_gradients_[direct++]});
      b_.name(gradient, name);
      gradients_.push_back(gradient);
    }
  }

  void set_origin_of(TensorId id) { b_.set_origin(graph_.producer(id).origin); }

  void put(TensorId id, TensorId made) {
    const Tensor& tensor = graph_.tensor(id);
    b_.name(made, tensor.name);
    b_.mark_from_model(made, tensor.from_model);
    outside_[index(id)] = made;
  }

  TensorId mean_of(TensorId sum) {
    return b_.op("mul", {sum, b_.constant(1.0 / static_cast<double>(parts_), b_.type(sum).dtype)});
  }

  Microbatched finished() {
    Microbatched made{forward_.outputs, forward_.assignments, std::move(gradients_)};
    made.outputs.pop_back();
    for (NamedTensor& output : made.outputs) output.tensor = outside_[index(output.tensor)];
    for (Assignment& assignment : made.assignments) assignment.value = outside_[index(assignment.value)];
    for (const auto& [name, id] : graph_.aliases())
      if (outside_[index(id)] != kNoTensor && b_.is_free(name)) b_.alias(outside_[index(id)], name);
    return made;
  }

  GraphBuilder& b_;
  const EntryGraph& forward_;
  const Graph& graph_;
  const TrainSpec& train_;
  std::vector<std::string> trained_;
  int64_t parts_;
  Dim batch_, part_, number_;  // the batch, that of a part, and the dimension that counts parts
  BatchUses uses_;
  TensorId loss_ = kNoTensor;
  std::vector<TensorId> reduced_;          // that the loss is linear in; itself, where it is reduced
  std::vector<bool> is_direct_;            // by trained variable: whether the loss depends on it beside these
  std::vector<TensorId> after_gradients_;  // of the loss, by these, then by those
  std::vector<bool> needed_;               // after the loop
  std::vector<TensorId> rows_, sums_;      // what the loop gives beside gradients
  std::vector<TensorId> outside_, inside_;  // by tensor of the model
  GraphBuilder body_;
  std::vector<TensorId> operands_;  // of the loop
  TensorId counter_ = kNoTensor;
  std::vector<TensorId> gradients_;
};

}  // namespace

Dim batch_of(const Model& model) {
  const TrainSpec& train = *model.train;
  const InputDecl* first = nullptr;
  for (const InputDecl& input : model.inputs) {
    if (input.type.dims.empty()) continue;
    if (first && input.type.dims[0] != first->type.dims[0])
      throw UserError(
          fmt::format("'microbatches' cuts the first dimension of the inputs into parts, but that "
                      "of '{}' is '{}' and that of '{}' is '{}'",
                      first->name, first->type.dims[0].name, input.name, input.type.dims[0].name),
          "let all inputs begin with one dimension", train.microbatches_location);
    if (!first) first = &input;
  }
  if (!first)
    throw UserError("'microbatches' cuts the first dimension of the inputs into parts, and no input has any",
                    "", train.microbatches_location);
  const Dim& batch = first->type.dims[0];
  if (batch.size % train.microbatches != 0)
    throw UserError(fmt::format("{} microbatches don't divide '{}' of size {}", train.microbatches,
                                batch.name, batch.size),
                    fmt::format("a divisor of {} does", batch.size), train.microbatches_location);
  return batch;
}

Microbatched add_microbatches(GraphBuilder& builder, const EntryGraph& forward, const Model& model) {
  return Splitter(builder, forward, model).run();
}

}  // namespace mtfc
