#include "runtime/testing/random_models.h"

#include <algorithm>

#include "runtime/testing/drawn_operations.h"

namespace mtfc {
namespace {

void draw_along(CaseDraft& draft) {
  draft.chance(0.5) ? draw_cumsum(draft) : draw_top_k(draft);
}

// A sum, and then operations through which it may stay partial.
void draw_linear_chain(CaseDraft& draft) {
  if (draft.chance(0.5))
    draw_merge(draft);
  else
    draft.chance(0.4) ? draw_reduction(draft) : draw_contraction(draft);
  draft.prefer_newest(1);
  const size_t length = 1 + draft.below(4);
  for (size_t i = 0; i < length; ++i) {
    switch (draft.below(8)) {
      case 0:
        draw_relabeling(draft);
        break;
      case 1:
        draw_move(draft);
        break;
      case 2:
        draw_reduction(draft);
        break;
      case 3:
        draw_contraction(draft);
        break;
      case 4:
        draft.chance(0.5) ? draw_lookup(draft) : draw_scatter(draft);
        break;
      case 5:
        draw_choice(draft);
        break;
      case 6:
        draft.chance(0.5) ? draw_cumsum(draft) : draw_update_slice(draft);
        break;
      default:
        draw_arithmetic(draft);
    }
  }
  draft.prefer_newest(3);
}

void draw_gradients(CaseDraft& draft) {
  std::optional<Facts> y = draft.pick_float();
  if (!y) return;
  if (!y->type.dims.empty() && draft.chance(0.5)) {
    const Facts weight = draft.leaf(y->type.dtype, draft.shuffled(y->type.dims), Fill::kNormal);
    y = draft.add({.kind = "mul", .operands = {y->ref, weight.ref}}, y->bound * 4, -y->bound * 4, false);
  }
  if (!y->type.dims.empty())
    y = draft.add({.kind = draft.chance(0.7) ? "reduce_mean" : "reduce_sum", .operands = {y->ref}}, y->bound,
                  y->low, false);
  Item item{.kind = "gradients", .operands = {y->ref}};
  const size_t count = 1 + draft.below(3);
  for (size_t i = 0; i < count; ++i)
    if (const std::optional<Facts> x = draft.pick_float())
      if (std::find(item.operands.begin() + 1, item.operands.end(), x->ref) == item.operands.end())
        item.operands.push_back(x->ref);
  if (item.operands.size() > 1) draft.add(std::move(item), 50, -50, false);
  if (elements(y->type.dims) == 1 && draft.chance(0.2)) draft.drawn().loss = y->ref;
}

void draw_step(CaseDraft& draft) {
  switch (draft.below(23)) {
    case 0:
      return draw_smooth(draft);
    case 1:
      return draw_unary(draft);
    case 2:
    case 3:
      return draw_arithmetic(draft);
    case 4:
      return draw_comparison(draft);
    case 5:
      return draw_choice(draft);
    case 6:
    case 7:
      return draw_relabeling(draft);
    case 8:
      return draw_move(draft);
    case 9:
    case 10:
      return draw_reduction(draft);
    case 11:
    case 12:
    case 13:
      return draw_contraction(draft);
    case 14:
      return draft.chance(0.2)   ? draw_lookup_dot(draft)
             : draft.chance(0.5) ? draw_lookup(draft)
                                 : draw_scatter(draft);
    case 15:
      return draw_generator(draft);
    case 16:
      return draft.chance(0.5) ? draw_normalization(draft) : draw_example(draft);
    case 17:
      return draft.chance(0.2) ? draw_ring(draft) : draw_contraction(draft);
    case 18:
      return draw_linear_chain(draft);
    case 19:
      return draw_gradients(draft);
    case 20:
      return draft.chance(0.6) ? draw_along(draft) : draw_rare_reduction(draft);
    case 21:
      return draft.chance(0.4)   ? draw_dropout(draft)
             : draft.chance(0.5) ? draw_one_hot(draft)
             : draft.chance(0.3) ? draw_count_before(draft)
             : draft.chance(0.2) ? draw_in_training(draft)
                                 : draw_update_slice(draft);
    case 22:
      return draft.chance(0.5) ? draw_pieces(draft) : draw_join(draft);
  }
}

// A new value for a variable: any tensor of its type, or one made for it.
void assign(CaseDraft& draft, size_t variable) {
  const TensorType type = draft.drawn().items[variable].type;
  const bool exact = !is_float(type.dtype);
  const auto fits = [&](const Facts& f) {
    return f.type == type && f.ref.item != variable && (!exact || (f.exact && f.bound <= 2));
  };
  std::optional<Facts> value = draft.pick(fits);
  if (draft.chance(0.5) || !value) {
    const TensorRef old{variable, 0};
    const std::optional<Facts> x = draft.pick([&](const Facts& f) {
      return f.type.dtype == type.dtype && without(f.type.dims, type.dims).empty() && (!exact || f.exact);
    });
    if (!exact && x && draft.chance(0.5))
      value = draft.add({.kind = "add", .operands = {old, x->ref}, .attributes = {{"dims", type.dims}}}, 4,
                        -4, false);
    else if (!exact && draft.chance(0.5))
      value = draft.add({.kind = "tanh", .operands = {old}}, 1, -1, false);
    else if (x)
      value = draft.add(
          {.kind = "where",
           .operands = {draft.leaf(DType::kBool, draft.some_of(type.dims, 0), Fill::kBool).ref, old, x->ref},
           .attributes = {{"dims", type.dims}}},
          4, -4, false);
  }
  if (value && value->type == type) draft.drawn().assignments.emplace_back(variable, value->ref);
}

void assign_variables(CaseDraft& draft) {
  std::vector<size_t> variables;
  for (size_t i = 0; i < draft.drawn().items.size(); ++i)
    if (draft.drawn().items[i].kind == "variable") variables.push_back(i);
  if (draft.drawn().loss && (variables.empty() || draft.chance(0.3))) draft.drawn().loss.reset();
  if (draft.drawn().loss) return;  // training assigns the variables
  for (const size_t variable : variables)
    if (draft.chance(0.7)) assign(draft, variable);
}

// The tensors that nothing uses, and some of the others.
void deliver(CaseDraft& draft) {
  std::vector<TensorRef> unused, others;
  for (const Facts& facts : draft.known()) {
    const bool used =
        std::any_of(draft.drawn().items.begin(), draft.drawn().items.end(), [&](const Item& item) {
          return std::find(item.operands.begin(), item.operands.end(), facts.ref) != item.operands.end();
        });
    (used ? others : unused).push_back(facts.ref);
  }
  for (const TensorRef& ref : unused)
    if (draft.chance(0.8)) draft.drawn().outputs.push_back(ref);
  std::shuffle(others.begin(), others.end(), draft.random());
  others.resize(std::min(others.size(), draft.below(4)));
  draft.drawn().outputs.insert(draft.drawn().outputs.end(), others.begin(), others.end());
  if (draft.drawn().outputs.empty()) draft.drawn().outputs.push_back(draft.newest().ref);
  assign_variables(draft);
}

// Rules for many of the dimensions, together legal.
void draw_layout(CaseDraft& draft) {
  const std::vector<std::vector<int64_t>> meshes{
      {2},       {3},       {4},    {5},    {7},    {12},   {2, 2},    {2, 2},    {2, 3},
      {3, 2},    {3, 4},    {4, 3}, {2, 6}, {2, 5}, {2, 1}, {1, 3},    {2, 2, 2}, {2, 2, 2},
      {2, 3, 2}, {2, 2, 3}, {4, 2}, {2, 4}, {3, 3}, {5, 2}, {3, 1, 2}, {3, 2, 2}, {2, 2, 1}};
  std::vector<Axis> axes;
  for (const int64_t size : draft.any(meshes))
    axes.push_back({std::string(1, static_cast<char>('p' + axes.size())), size});
  draft.drawn().layout = {Mesh(axes), {}};
  WholeTensors leaves;
  const Model model = model_of(draft.drawn(), leaves);
  const double density = 0.5 + 0.1 * static_cast<double>(draft.below(6));
  for (const Dim& dim : draft.shuffled(model.dims))
    for (int tries = draft.chance(density) ? 3 : 0; tries > 0; --tries) {
      AxisList list;
      for (size_t i = 0; i < axes.size(); ++i) list.push_back(static_cast<int>(i));
      std::shuffle(list.begin(), list.end(), draft.random());
      list.resize(draft.chance(0.65) ? 1 : 1 + draft.below(list.size()));
      draft.drawn().layout.rules.push_back({dim.name, list, {}});
      if (is_legal(model, draft.drawn().layout)) break;
      draft.drawn().layout.rules.pop_back();
    }
}

void draw_training(CaseDraft& draft) {
  if (!draft.drawn().loss) return;
  if (draft.chance(0.5)) draft.drawn().optimizer = "momentum";
  std::vector<Axis> axes = draft.drawn().layout.mesh.axes();
  std::shuffle(axes.begin(), axes.end(), draft.random());
  for (const Axis& axis : axes)
    if (draft.chance(0.6)) draft.drawn().shard_state_over.push_back(axis.name);
  if (draft.chance(0.5)) {
    int regions = 1;
    for (Item& item : draft.drawn().items) {
      if (draft.chance(0.3)) ++regions;
      item.region = draft.chance(0.8) ? regions : 0;
    }
  }
  Layout& layout = draft.drawn().layout;
  for (const std::string& axis : draft.drawn().shard_state_over)
    if (draft.chance(0.5)) layout.state.axes.push_back(layout.mesh.find(axis));
  layout.state.variables = !layout.state.axes.empty() && draft.chance(0.7);
  const auto& items = draft.drawn().items;
  const bool has_variable =
      std::any_of(items.begin(), items.end(), [](const auto& item) { return item.kind == "variable"; });
  if (has_variable && draft.chance(0.3)) layout.state.regather.push_back({"**", {}});
}

}  // namespace

namespace {

// A sharding over some of the axes, each of which splits one of the dimensions.
std::vector<Rule> drawn_splits(CaseDraft& draft, const Dims& dims) {
  std::map<std::string, AxisList> splits;
  AxisList axes;
  const Mesh& mesh = draft.drawn().layout.mesh;
  for (size_t i = 0; i < mesh.axes().size(); ++i) axes.push_back(static_cast<int>(i));
  std::shuffle(axes.begin(), axes.end(), draft.random());
  for (const int axis : axes)
    if (!dims.empty() && draft.chance(0.6)) splits[dims[draft.below(dims.size())].name].push_back(axis);
  std::vector<Rule> rules;
  for (auto& [dim, list] : splits) rules.push_back({dim, std::move(list), {}});
  return rules;
}

void draw_annotations(CaseDraft& draft) {
  const double density = 0.1 + 0.1 * static_cast<double>(draft.below(6));
  for (const Facts& facts : draft.known()) {
    if (draft.chance(density))
      draft.drawn().annotations.push_back(
          {facts.ref, "", drawn_splits(draft, facts.type.dims), draft.chance(0.25)});
    for (const char* suffix : {"/grad", "/momentum"})
      if (draft.drawn().items[facts.ref.item].kind == "variable" && draft.chance(0.15))
        draft.drawn().annotations.push_back(
            {facts.ref, suffix, drawn_splits(draft, facts.type.dims), draft.chance(0.25)});
  }
  draft.drawn().layout.propagate = draft.chance(0.6);
  if (draft.chance(0.4)) draft.drawn().layout.rules.clear();
}

RandomCase drawn_case(CaseDraft draft, bool annotated) {
  for (int i = 0; i < 2; ++i) draft.leaf(draft.float_type(), draft.random_dims(1, 3), Fill::kNormal);
  const size_t operations = 3 + draft.below(16);
  for (size_t tries = 0; tries < 6 * operations && draft.operations() < operations; ++tries) draw_step(draft);
  deliver(draft);
  draw_layout(draft);
  draw_training(draft);
  if (annotated) draw_annotations(draft);
  if (draft.chance(0.5)) draft.drawn().layout.rings.push_back({"**"});
  const std::vector<Facts>& known = draft.known();
  if (draft.chance(0.5))
    draft.drawn().layout.between = drawn_splits(draft, known[draft.below(known.size())].type.dims);
  return std::move(draft.drawn());
}

}  // namespace

RandomCase random_case(uint64_t seed) {
  return drawn_case(CaseDraft(seed), false);
}

RandomCase annotated_case(uint64_t seed) {
  return drawn_case(CaseDraft(seed), true);
}

}  // namespace mtfc
