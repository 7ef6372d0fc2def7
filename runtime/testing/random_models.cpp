#include "runtime/testing/random_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/graph/op_registry.h"
#include "runtime/testing/pieces_draft.h"

namespace mtfc {
namespace {

class Generator : private PiecesDraft {
 public:
  using PiecesDraft::PiecesDraft;

  RandomCase run() {
    for (int i = 0; i < 2; ++i) leaf(float_, random_dims(1, 3), Fill::kNormal);
    const size_t operations = 3 + below(16);
    for (size_t tries = 0; tries < 6 * operations && operations_ < operations; ++tries) try_step();
    deliver();
    draw_layout();
    draw_training();
    return std::move(case_);
  }

 private:
  void try_step() {
    switch (below(23)) {
      case 0:
        return smooth();
      case 1:
        return unary();
      case 2:
      case 3:
        return arithmetic();
      case 4:
        return comparison();
      case 5:
        return choice();
      case 6:
      case 7:
        return relabel();
      case 8:
        return move();
      case 9:
      case 10:
        return reduction();
      case 11:
      case 12:
      case 13:
        return contraction();
      case 14:
        return chance(0.5) ? lookup() : scatter();
      case 15:
        return generate();
      case 16:
        return chance(0.5) ? normalize() : example();
      case 17:
        return chance(0.2) ? ring() : contraction();
      case 18:
        return linear_chain();
      case 19:
        return differentiate();
      case 20:
        return chance(0.6) ? along() : rare_reduction();
      case 21:
        return chance(0.4) ? dropout() : chance(0.5) ? one_hot() : update_slice();
      case 22:
        return chance(0.5) ? pieces() : join();
    }
  }

  void along() { chance(0.5) ? cumsum() : top_k(); }

  // A sum, and then what a sum may stay partial through.
  void linear_chain() {
    if (chance(0.5))
      merge();
    else
      chance(0.4) ? reduction() : contraction();
    recent_ = 1;
    const size_t length = 1 + below(4);
    for (size_t i = 0; i < length; ++i) {
      switch (below(8)) {
        case 0:
          relabel();
          break;
        case 1:
          move();
          break;
        case 2:
          reduction();
          break;
        case 3:
          contraction();
          break;
        case 4:
          chance(0.5) ? lookup() : scatter();
          break;
        case 5:
          choice();
          break;
        case 6:
          chance(0.5) ? cumsum() : update_slice();
          break;
        default:
          arithmetic();
      }
    }
    recent_ = 3;
  }

  // Two sums that may stay partial until they are one.
  void merge() {
    const TensorType type{float_, random_dims(0, 2)};
    const Facts a = sum_leaf(type, Fill::kNormal), b = sum_leaf(type, Fill::kNormal);
    const double bound = a.bound + b.bound;
    std::vector<TensorRef> operands{a.ref, b.ref};
    if (chance(0.3)) {
      operands.insert(operands.begin(), leaf(DType::kBool, some_of(type.dims, 0), Fill::kBool).ref);
      add({.kind = "where", .operands = operands, .attributes = {{"dims", type.dims}}}, bound, -bound, false);
    } else {
      add({.kind = chance(0.5) ? "add" : "sub", .operands = operands}, bound, -bound, false);
    }
  }

  void smooth() {
    const std::optional<Facts> x = pick_float();
    if (!x) return;
    const auto unary = [&](const char* kind, double bound, double low) {
      add({.kind = kind, .operands = {x->ref}}, bound, low, false);
    };
    if (x->low >= 0.1 && chance(0.6))
      return chance(0.5) ? unary("log", std::abs(std::log(x->low)) + std::log(x->bound + 1), -100)
                         : unary("sqrt", std::sqrt(x->bound), std::sqrt(x->low));
    if (x->bound <= 3 && chance(0.5)) return unary("exp", std::exp(x->bound), std::exp(-x->bound));
    if (x->bound <= 50 && chance(0.3)) return unary("square", x->bound * x->bound, 0);
    unary("tanh", 1, -1);
  }

  void unary() {
    const std::optional<Facts> x = chance(0.5) ? pick_exact() : pick_number();
    if (!x) return;
    const double bound = x->bound;
    switch (below(6)) {
      case 0:
        add({.kind = "neg", .operands = {x->ref}}, bound, -bound, x->exact);
        return;
      case 1:
        if (x->exact) add({.kind = "relu", .operands = {x->ref}}, bound, 0, true);
        return;
      case 2:
        if (bound < 100) add({.kind = "square", .operands = {x->ref}}, bound * bound, 0, x->exact);
        return;
      case 3:
        add({.kind = chance(0.5) ? "identity" : "stop_gradient", .operands = {x->ref}}, bound, x->low,
            x->exact);
        return;
      default:
        cast(*x);
    }
  }

  void cast(const Facts& x) {
    std::vector<DType> to{float_, float_, DType::kF64, DType::kF32};
    if (x.exact) to = {float_, DType::kI32, DType::kI64, DType::kBool};
    const DType dtype = any(to);
    const double low = dtype == DType::kBool ? 0 : x.low;
    add({.kind = "cast", .operands = {x.ref}, .attributes = {{"dtype", dtype}}}, x.bound, low, x.exact);
  }

  // An operand for `a` of its dtype: another tensor, itself, a constant, a broadcast one, or a new one.
  std::optional<Facts> partner(const Facts& a, bool exact) {
    const DType dtype = a.type.dtype;
    if (chance(0.1)) return a;
    if (chance(0.15)) return constant(dtype);
    if (chance(0.15))
      return leaf_or_sum({dtype, some_of(a.type.dims, 0)},
                         exact || !is_float(dtype) ? Fill::kSteps : Fill::kNormal);
    return pick([&](const Facts& f) {
      return f.type.dtype == dtype && (f.exact || !exact) &&
             elements(unite(a.type.dims, f.type.dims)) <= kMostElements;
    });
  }

  std::optional<Facts> constant(DType dtype) {
    const std::vector<double> numbers{0, 0, 1, 1, -1, 2, 0.5};
    double value = any(numbers);
    if (!is_float(dtype)) value = std::trunc(value);
    return add({.kind = "constant", .attributes = {{"value", value}, {"dtype", dtype}}}, std::abs(value),
               value, value == std::trunc(value));
  }

  Attributes result_order(const std::vector<Facts>& operands) {
    if (!chance(0.2)) return {};
    Dims all;
    for (const Facts& facts : operands) all = unite(all, facts.type.dims);
    return {{"dims", shuffled(all)}};
  }

  void arithmetic() {
    const std::optional<Facts> a = pick_number();
    if (!a) return;
    std::optional<Facts> b = partner(*a, false);
    if (is_float(a->type.dtype) && chance(0.2)) return quotient(*a);
    if (!b) return;
    const bool exact = a->exact && b->exact;
    const Attributes attributes = result_order({*a, *b});
    const auto binary = [&](const char* kind, double bound, double low) {
      std::vector<TensorRef> operands{a->ref, b->ref};
      if (kind != std::string_view("sub") && chance(0.3)) std::swap(operands[0], operands[1]);
      add({.kind = kind, .operands = operands, .attributes = attributes}, bound, low, exact);
    };
    const double product = a->bound * b->bound;
    switch (below(exact ? 4 : 3)) {
      case 0:
        return binary("add", a->bound + b->bound, a->low + b->low);
      case 1:
        return binary("sub", a->bound + b->bound, a->low - b->bound);
      case 2:
        return binary("mul", product, a->low > 0 && b->low > 0 ? a->low * b->low : -product);
      default:
        return binary("maximum", std::max(a->bound, b->bound), std::max(a->low, b->low));
    }
  }

  void quotient(const Facts& a) {
    std::optional<Facts> b = pick([&](const Facts& f) {
      return f.type.dtype == a.type.dtype && f.low >= 0.2 &&
             elements(unite(a.type.dims, f.type.dims)) <= kMostElements;
    });
    if (!b) b = leaf_or_sum({a.type.dtype, some_of(a.type.dims, 0)}, Fill::kPositive);
    const double bound = a.bound / b->low;
    add({.kind = "div", .operands = {a.ref, b->ref}, .attributes = result_order({a, *b})}, bound,
        a.low > 0 ? a.low / b->bound : -bound, false);
  }

  void comparison() {
    std::optional<Facts> a = pick_exact();
    if (!a) a = leaf_or_sum({chance(0.5) ? float_ : DType::kI32, random_dims(0, 3)}, Fill::kSteps);
    const std::optional<Facts> b = partner(*a, true);
    if (b && b->exact)
      add({.kind = chance(0.5) ? "equal" : "greater_equal",
           .operands = {a->ref, b->ref},
           .attributes = result_order({*a, *b})},
          1, 0, true);
  }

  void choice() {
    const std::optional<Facts> x = pick_number();
    if (!x) return;
    const std::optional<Facts> y = partner(*x, false);
    std::optional<Facts> c = pick([&](const Facts& f) {
      return f.type.dtype == DType::kBool && elements(unite(x->type.dims, f.type.dims)) <= kMostElements / 4;
    });
    if (!c) c = leaf(DType::kBool, some_of(x->type.dims, 0), Fill::kBool);
    if (y)
      add({.kind = "where", .operands = {c->ref, x->ref, y->ref}, .attributes = result_order({*c, *x, *y})},
          std::max(x->bound, y->bound), std::min(x->low, y->low), x->exact && y->exact);
  }

  void relabel() {
    const std::optional<Facts> x = pick([](const Facts& f) { return !f.type.dims.empty(); });
    if (!x) return;
    const Dims& dims = x->type.dims;
    if (chance(0.5)) {
      std::vector<Renaming> map;
      Dims taken = dims;
      for (const Dim& dim : some_of(dims, 1)) {
        map.push_back({dim.name, dim_of_size(dim.size, taken)});
        taken = unite(taken, {map.back().to});
      }
      add({.kind = "rename", .operands = {x->ref}, .attributes = {{"map", map}}}, x->bound, x->low, x->exact);
      return;
    }
    Dims to = factored(elements(dims));
    // Half of the time what the shapes have in front in common stays.
    if (chance(0.5) && dims.size() > 1) to = with_front(dims[0], factored(elements(dims) / dims[0].size));
    add({.kind = "reshape", .operands = {x->ref}, .attributes = {{"dims", to}}}, x->bound, x->low, x->exact);
  }

  Dims with_front(const Dim& front, const Dims& rest) {
    Dims dims{front};
    for (const Dim& dim : rest)
      dims.push_back(contains(dims, dim.name) ? dim_of_size(dim.size, unite(dims, rest)) : dim);
    return dims;
  }

  void move() {
    const std::optional<Facts> x = pick([](const Facts& f) { return elements(f.type.dims) <= 200; });
    if (!x) return;
    Dims dims = x->type.dims;
    const bool broadcast = chance(0.5);
    if (broadcast) {
      dims = unite(dims, random_dims(0, 2));
      if (elements(dims) > kMostElements) return;
    }
    add({.kind = broadcast ? "broadcast" : "transpose",
         .operands = {x->ref},
         .attributes = {{"dims", chance(0.6) ? shuffled(dims) : dims}}},
        x->bound, x->low, x->exact);
  }

  void reduction() {
    const std::optional<Facts> x =
        pick([](const Facts& f) { return f.type.dtype != DType::kBool && !f.type.dims.empty(); });
    if (!x) return;
    Attributes attributes;
    if (chance(0.9)) {
      Dims over = some_of(x->type.dims, 1);
      if (over.size() == x->type.dims.size() && chance(0.7)) over.pop_back();
      attributes = {{"over", over}};
      if (chance(0.4)) attributes = {{"dims", shuffled(without(x->type.dims, over))}};
    }
    const double count = static_cast<double>(elements(x->type.dims));
    const auto reduce = [&](const char* kind, double bound, double low, bool exact) {
      add({.kind = kind, .operands = {x->ref}, .attributes = attributes}, bound, low, exact);
    };
    switch (below(x->exact ? 6 : 3)) {
      case 0:
      case 3:
        return reduce("reduce_sum", x->bound * count, x->low > 0 ? x->low : x->low * count, x->exact);
      case 1:
        return is_float(x->type.dtype) ? reduce("reduce_mean", x->bound, x->low, false) : void();
      case 2:
        if (!x->exact) return rough_extremum(*x, attributes);
        [[fallthrough]];
      case 4:
        return reduce(chance(0.5) ? "reduce_max" : "reduce_min", x->bound, x->low, true);
      default:
        argmax(*x);
    }
  }

  void argmax(const Facts& x) {
    if (x.type.dims.empty()) return;
    const Dims over{any(x.type.dims)};
    add({.kind = "argmax", .operands = {x.ref}, .attributes = {{"over", over}}}, 9, 0, true);
  }

  // The extremum of what is no integer: its gradient would hang on the rounding of ties.
  void rough_extremum(const Facts& x, const Attributes& attributes) {
    const std::optional<Facts> stopped =
        add({.kind = "stop_gradient", .operands = {x.ref}}, x.bound, x.low, false);
    if (stopped)
      add({.kind = chance(0.5) ? "reduce_max" : "reduce_min",
           .operands = {stopped->ref},
           .attributes = attributes},
          x.bound, x.low, false);
  }

  // Operands that share their dimensions in a ring: products of two of them have dimensions that no operand
  // has together, and that a layout may split over one axis.
  void ring() {
    const Dims dims = shuffled(all_dims());
    const size_t count = std::min<size_t>(dims.size(), 3 + below(2));
    std::vector<TensorRef> refs;
    double bound = 1;
    for (size_t i = 0; i < count; ++i) {
      const Facts operand = leaf_or_sum({float_, {dims[i], dims[(i + 1) % count]}}, Fill::kNormal);
      refs.push_back(operand.ref);
      bound *= operand.bound * static_cast<double>(dims[i].size);
    }
    const Dims kept = chance(0.5) ? Dims{} : Dims{dims[0]};
    const std::optional<Facts> product =
        add({.kind = "einsum", .operands = refs, .attributes = {{"dims", kept}}}, bound, -bound, false);
    if (product && bound > 1e3) add({.kind = "tanh", .operands = {product->ref}}, 1, -1, false);
  }

  void contraction() {
    const std::optional<Facts> a = pick_number();
    if (!a) return;
    std::vector<Facts> operands{*a};
    const size_t count = 1 + below(10) / 3;
    Dims all = a->type.dims;
    double bound = a->bound;
    bool exact = a->exact;
    while (operands.size() < count) {
      const Facts b = chance(0.5) ? partner(*a, false).value_or(*a)
                                  : leaf(a->type.dtype, random_dims(1, 3),
                                         is_float(a->type.dtype) ? Fill::kNormal : Fill::kSteps);
      if (elements(unite(all, b.type.dims)) > 4 * kMostElements) break;
      operands.push_back(b);
      all = unite(all, b.type.dims);
      bound *= b.bound;
      exact &= b.exact;
    }
    std::vector<TensorRef> refs;
    for (const Facts& facts : operands) refs.push_back(facts.ref);
    bound *= static_cast<double>(elements(all));
    Attributes attributes{{"dims", some_of(all, 0)}};
    if (chance(0.2)) attributes = {{"over", some_of(all, 0)}};
    add({.kind = "einsum", .operands = refs, .attributes = attributes}, bound, -bound, exact);
  }

  void lookup() {
    const std::optional<Facts> table =
        pick([](const Facts& f) { return f.type.dtype != DType::kBool && !f.type.dims.empty(); });
    if (!table) return;
    const Dim dim = any(table->type.dims);
    const Facts index = indices(random_dims(0, 2), dim.name);
    if (elements(unite(table->type.dims, index.type.dims)) <= kMostElements)
      add({.kind = "gather", .operands = {table->ref, index.ref}, .attributes = {{"dim", dim}}}, table->bound,
          table->low, table->exact);
  }

  void scatter() {
    const std::optional<Facts> updates = pick_number();
    if (!updates) return;
    const Dims& dims = updates->type.dims;
    const Dim dim = any(all_dims());
    const Dims own = some_of(dims, 0);
    const Facts index = indices(own, dim.name);
    Attributes attributes{{"dim", dim}};
    if (chance(0.5)) {
      const Dims slice = without(dims, index.type.dims);
      attributes.set("dims",
                     shuffled(unite(unite({dim}, slice), some_of(without(index.type.dims, {dim}), 0))));
    }
    const double bound = updates->bound * static_cast<double>(elements(index.type.dims));
    add({.kind = "scatter_add", .operands = {updates->ref, index.ref}, .attributes = attributes}, bound,
        -bound, updates->exact);
  }

  void generate() {
    const std::vector<std::string> kinds{"random_normal", "random_truncated_normal", "random_uniform"};
    if (chance(0.5)) {
      const Dim dim = any(all_dims());
      const std::vector<DType> dtypes{DType::kI32, DType::kI64, float_};
      add({.kind = "range", .attributes = {{"dim", dim}, {"dtype", any(dtypes)}}},
          static_cast<double>(dim.size), 0, true);
    } else {
      add({.kind = any(kinds), .attributes = {{"dims", random_dims(0, 3)}, {"dtype", float_}}}, 6, -6, false);
    }
  }

  // -- examples: so that an operation nobody wrote a rule for is tried, too --

  Dim of_example(const Dim& dim) {
    const std::string name = fmt::format("{}{}", dim.name, dim.size);
    const auto at = case_.sizes.emplace(name, dim.size).first;
    return {name, at->second};
  }

  Dims of_example(Dims dims) {
    for (Dim& dim : dims) dim = of_example(dim);
    return dims;
  }

  AttributeValue of_example(AttributeValue value, std::string& indexed) {
    if (Dim* dim = std::get_if<Dim>(&value)) indexed = (*dim = of_example(*dim)).name;
    if (Dims* dims = std::get_if<Dims>(&value))
      if (*dims = of_example(*dims); indexed.empty() && !dims->empty()) indexed = dims->front().name;
    if (auto* map = std::get_if<std::vector<Renaming>>(&value))
      for (Renaming& entry : *map) {
        const std::string from = entry.from;
        entry.to = of_example(entry.to);
        entry.from = fmt::format("{}{}", from, entry.to.size);
      }
    return value;
  }

  // A dimension of as many elements as there are indices: where it can be the indexed one.
  std::string counted(const std::string& indexed, int64_t limit) {
    const auto at = case_.sizes.find(indexed);
    return at != case_.sizes.end() && at->second == limit ? indexed : dim_of_size(limit, {}).name;
  }

  void example() {
    const Signature& signature = *find_signature(any(operation_names()));
    const Example& drawn = any(signature.examples);
    std::string indexed;
    Item item{.kind = std::string(signature.name)};
    for (const auto& [name, value] : drawn.attributes.entries())
      item.attributes.set(name, of_example(value, indexed));
    bool exact = true;
    for (const ExampleOperand& operand : drawn.operands) {
      const TensorType type{operand.type.dtype, of_example(operand.type.dims)};
      const bool index = operand.fill == Fill::kIndex;
      const Facts facts = index ? leaf(type.dtype, type.dims, operand.fill, counted(indexed, operand.limit))
                                : leaf_or_sum(type, operand.fill);
      exact &= facts.exact;
      item.operands.push_back(facts.ref);
    }
    const std::optional<Facts> result = add(std::move(item), 100, -100, false);
    if (result && !is_float(result->type.dtype)) known_.back().exact = exact;
  }

  // -- gradients and delivery --

  void differentiate() {
    std::optional<Facts> y = pick_float();
    if (!y) return;
    if (!y->type.dims.empty() && chance(0.5)) {
      const Facts weight = leaf(y->type.dtype, shuffled(y->type.dims), Fill::kNormal);
      y = add({.kind = "mul", .operands = {y->ref, weight.ref}}, y->bound * 4, -y->bound * 4, false);
    }
    if (!y->type.dims.empty())
      y = add({.kind = chance(0.7) ? "reduce_mean" : "reduce_sum", .operands = {y->ref}}, y->bound, y->low,
              false);
    Item item{.kind = "gradients", .operands = {y->ref}};
    const size_t count = 1 + below(3);
    for (size_t i = 0; i < count; ++i)
      if (const std::optional<Facts> x = pick_float())
        if (std::find(item.operands.begin() + 1, item.operands.end(), x->ref) == item.operands.end())
          item.operands.push_back(x->ref);
    if (item.operands.size() > 1) add(std::move(item), 50, -50, false);
    if (elements(y->type.dims) == 1 && chance(0.2)) case_.loss = y->ref;
  }

  // What nothing uses, and some of the rest.
  void deliver() {
    std::vector<TensorRef> unused, others;
    for (const Facts& facts : known_) {
      const bool used = std::any_of(case_.items.begin(), case_.items.end(), [&](const Item& item) {
        return std::find(item.operands.begin(), item.operands.end(), facts.ref) != item.operands.end();
      });
      (used ? others : unused).push_back(facts.ref);
    }
    for (const TensorRef& ref : unused)
      if (chance(0.8)) case_.outputs.push_back(ref);
    std::shuffle(others.begin(), others.end(), random_);
    others.resize(std::min(others.size(), below(4)));
    case_.outputs.insert(case_.outputs.end(), others.begin(), others.end());
    if (case_.outputs.empty()) case_.outputs.push_back(known_.back().ref);
    assign_variables();
  }

  void assign_variables() {
    std::vector<size_t> variables;
    for (size_t i = 0; i < case_.items.size(); ++i)
      if (case_.items[i].kind == "variable") variables.push_back(i);
    if (case_.loss && (variables.empty() || chance(0.3))) case_.loss.reset();
    if (case_.loss) return;  // training assigns the variables
    for (const size_t variable : variables)
      if (chance(0.7)) assign(variable);
  }

  void draw_training() {
    if (!case_.loss) return;
    if (chance(0.5)) case_.optimizer = "momentum";
    std::vector<Axis> axes = case_.layout.mesh.axes();
    std::shuffle(axes.begin(), axes.end(), random_);
    for (const Axis& axis : axes)
      if (chance(0.6)) case_.shard_state_over.push_back(axis.name);
  }

  // A new value for a variable: any tensor of its type, or one made for it.
  void assign(size_t variable) {
    const TensorType type = case_.items[variable].type;
    const bool exact = !is_float(type.dtype);
    const auto fits = [&](const Facts& f) {
      return f.type == type && f.ref.item != variable && (!exact || (f.exact && f.bound <= 2));
    };
    std::optional<Facts> value = pick(fits);
    if (chance(0.5) || !value) {
      const TensorRef old{variable, 0};
      const std::optional<Facts> x = pick([&](const Facts& f) {
        return f.type.dtype == type.dtype && without(f.type.dims, type.dims).empty() && (!exact || f.exact);
      });
      if (!exact && x && chance(0.5))
        value = add({.kind = "add", .operands = {old, x->ref}, .attributes = {{"dims", type.dims}}}, 4, -4,
                    false);
      else if (!exact && chance(0.5))
        value = add({.kind = "tanh", .operands = {old}}, 1, -1, false);
      else if (x)
        value = add({.kind = "where",
                     .operands = {leaf(DType::kBool, some_of(type.dims, 0), Fill::kBool).ref, old, x->ref},
                     .attributes = {{"dims", type.dims}}},
                    4, -4, false);
    }
    if (value && value->type == type) case_.assignments.emplace_back(variable, value->ref);
  }
};

}  // namespace

RandomCase random_case(uint64_t seed) {
  return Generator(seed).run();
}

}  // namespace mtfc
