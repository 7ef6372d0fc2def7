#include "runtime/random_graph_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/op_registry.h"

namespace mtfc {
namespace {

constexpr int64_t kMostElements = 1500;  // of one tensor
constexpr double kLargest = 1e4;         // bound of a value that may be used further

const Item* leaf_of(const Item& item) {
  return item.kind == "input" || item.kind == "variable" ? &item : nullptr;
}

// The attribute with the sizes that its dimensions have now.
AttributeValue resized(AttributeValue value, const std::map<std::string, int64_t>& sizes) {
  const auto resize = [&](Dim& dim) { dim.size = sizes.at(dim.name); };
  if (Dim* dim = std::get_if<Dim>(&value)) resize(*dim);
  if (Dims* dims = std::get_if<Dims>(&value))
    for (Dim& dim : *dims) resize(dim);
  if (auto* map = std::get_if<std::vector<Renaming>>(&value))
    for (Renaming& entry : *map) resize(entry.to);
  return value;
}

Attributes resized(const Attributes& attributes, const std::map<std::string, int64_t>& sizes) {
  Attributes result;
  for (const auto& [name, value] : attributes.entries()) result.set(name, resized(value, sizes));
  return result;
}

TensorType resized(TensorType type, const std::map<std::string, int64_t>& sizes) {
  for (Dim& dim : type.dims) dim.size = sizes.at(dim.name);
  return type;
}

// Adds an item to the graph; `tensors` holds the results of those before it.
std::vector<TensorId> add_item(GraphBuilder& b, const Item& item, size_t position,
                               const std::map<std::string, int64_t>& sizes,
                               const std::vector<std::vector<TensorId>>& tensors) {
  const std::string name = fmt::format("t{}", position);
  b.set_origin({name, {}, Phase::kForward});
  if (leaf_of(item)) {
    const TensorType type = resized(item.type, sizes);
    return {item.kind == "input" ? b.add_input(name, type) : b.add_variable(name, type)};
  }
  std::vector<TensorId> operands;
  for (const TensorRef& ref : item.operands) operands.push_back(tensors.at(ref.item).at(ref.result));
  if (item.kind == "gradients") {
    std::vector<std::string> names;
    for (size_t i = 1; i < operands.size(); ++i) names.push_back(fmt::format("{}g{}", name, i - 1));
    return b.add_gradients(operands[0], {operands.begin() + 1, operands.end()}, names);
  }
  const Attributes attributes = resized(item.attributes, sizes);
  if (const CompositeDef* composite = find_composite(item.kind))
    return b.add(*composite, operands, attributes, {name});
  return b.add(op_named(item.kind), operands, attributes, {name});
}

// What is known of a tensor's values.
struct Facts {
  TensorRef ref;
  TensorType type;
  double bound = 1;    // no value is further from 0
  double low = -1;     // nor smaller than this
  bool exact = false;  // small integers, the same whatever the order of sums
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) { case_.seed = seed; }

  RandomCase run() {
    draw_sizes();
    float_ = chance(0.75) ? DType::kF64 : DType::kF32;
    for (int i = 0; i < 2; ++i) leaf(float_, random_dims(1, 3), Fill::kNormal);
    const size_t operations = 3 + below(16);
    for (size_t tries = 0; tries < 6 * operations && operations_ < operations; ++tries) try_step();
    deliver();
    draw_layout();
    return std::move(case_);
  }

 private:
  // -- chance --

  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }
  bool chance(double p) { return static_cast<double>(random_() % 1000000) < p * 1e6; }
  template <typename T>
  const T& any(const std::vector<T>& list) {
    return list[below(list.size())];
  }

  void draw_sizes() {
    const std::vector<int64_t> likely{1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9};
    const size_t count = 3 + below(3);
    for (size_t i = 0; i < count; ++i)
      case_.sizes[std::string(1, static_cast<char>('a' + i))] = any(likely);
  }

  std::vector<Dim> all_dims() const {
    Dims dims;
    for (const auto& [name, size] : case_.sizes) dims.push_back({name, size});
    return dims;
  }

  Dims shuffled(Dims dims) {
    std::shuffle(dims.begin(), dims.end(), random_);
    return dims;
  }

  Dims random_dims(size_t least, size_t most) {
    Dims dims = shuffled(all_dims());
    dims.resize(std::min(dims.size(), least + below(most - least + 1)));
    while (elements(dims) > kMostElements) dims.pop_back();
    return dims;
  }

  // Some of `dims`, at least `least` of them, in any order.
  Dims some_of(const Dims& dims, size_t least) {
    Dims chosen = shuffled(dims);
    chosen.resize(least + below(dims.size() - least + 1));
    return chosen;
  }

  // A recent tensor more often than an old one.
  template <typename Wanted>
  std::optional<Facts> pick(Wanted wanted) {
    std::vector<Facts> fitting;
    for (const Facts& facts : known_)
      if (facts.bound <= kLargest && wanted(facts)) fitting.push_back(facts);
    if (fitting.empty()) return std::nullopt;
    const size_t newest = chance(0.5) ? std::min<size_t>(fitting.size(), 4) : fitting.size();
    return fitting[fitting.size() - 1 - below(newest)];
  }

  std::optional<Facts> pick_number() {
    return pick([](const Facts& f) { return f.type.dtype != DType::kBool; });
  }
  std::optional<Facts> pick_float() {
    return pick([](const Facts& f) { return is_float(f.type.dtype); });
  }
  std::optional<Facts> pick_exact() {
    return pick([](const Facts& f) { return f.exact && f.type.dtype != DType::kBool; });
  }

  // -- items --

  // The facts of the item's first result, or nothing where the operation refuses it.
  std::optional<Facts> add(Item item, double bound, double low, bool exact) {
    const size_t position = case_.items.size();
    try {
      tensors_.push_back(add_item(builder_, item, position, case_.sizes, tensors_));
    } catch (const OpError&) {
      return std::nullopt;
    }
    if (!leaf_of(item)) ++operations_;
    case_.items.push_back(std::move(item));
    std::optional<Facts> first;
    for (size_t i = 0; i < tensors_.back().size(); ++i) {
      const TensorType& type = builder_.type(tensors_.back()[i]);
      if (elements(type.dims) > kMostElements) bound = 2 * kLargest;  // not used further
      known_.push_back({{position, i}, type, bound, low, exact && bound < 1e6});
      if (i == 0) first = known_.back();
    }
    return first;
  }

  Facts leaf(DType dtype, const Dims& dims, Fill fill, const std::string& indexed = "") {
    Item item{.kind = "input", .type = {dtype, dims}, .fill = fill, .indexed = indexed};
    if (fill == Fill::kNormal && chance(0.4)) item.kind = "variable";
    if (fill == Fill::kSteps && !is_float(dtype) && chance(0.3)) item.kind = "variable";
    // A variable may get a new value of any sign that is no integer.
    const bool positive = fill == Fill::kPositive;
    const bool exact = fill != Fill::kNormal && !positive;
    const double bound = fill == Fill::kIndex ? 9 : fill == Fill::kNormal ? 4 : 2;
    return *add(std::move(item), bound, positive ? 0.5 : fill == Fill::kSteps ? -2 : 0, exact);
  }

  // A tensor of `type` that is a sum over a dimension it lacks: partial where that one is split.
  Facts sum_leaf(const TensorType& type, Fill fill) {
    Dims extra = shuffled(without(all_dims(), type.dims));
    if (extra.empty()) return leaf(type.dtype, type.dims, fill);
    extra.resize(1);
    Dims dims = unite(type.dims, extra);
    const double count = static_cast<double>(extra[0].size);
    const Facts whole = leaf(type.dtype, chance(0.3) ? shuffled(dims) : dims, fill);
    const std::optional<Facts> sum = add(
        {.kind = "reduce_sum", .operands = {whole.ref}, .attributes = {{"dims", type.dims}}},
        whole.bound * count, whole.low < 0 ? whole.low * count : whole.low, whole.exact);
    return sum ? *sum : leaf(type.dtype, type.dims, fill);
  }

  Facts leaf_or_sum(const TensorType& type, Fill fill) {
    const bool summable = fill == Fill::kNormal || fill == Fill::kPositive || fill == Fill::kSteps;
    return summable && chance(0.4) ? sum_leaf(type, fill) : leaf(type.dtype, type.dims, fill);
  }

  void try_step() {
    switch (below(16)) {
      case 0:
      case 1:
        return smooth();
      case 2:
        return exact_unary();
      case 3:
      case 4:
      case 5:
        return arithmetic();
      case 6:
        return comparison();
      case 7:
        return choice();
      case 8:
        return chance(0.5) ? relabel() : move();
      case 9:
        return reduction();
      case 10:
      case 11:
        return contraction();
      case 12:
        return chance(0.5) ? lookup() : scatter();
      case 13:
        return generate();
      case 14:
        return chance(0.5) ? normalize() : example();
      case 15:
        return differentiate();
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

  void exact_unary() {
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
    return add({.kind = "constant", .attributes = {{"value", value}, {"dtype", dtype}}},
               std::abs(value), value, value == std::trunc(value));
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

  // A dimension of this size that none of `dims` is.
  Dim dim_of_size(int64_t size, const Dims& dims) {
    Dims fitting;
    for (const Dim& dim : all_dims())
      if (dim.size == size && !contains(dims, dim.name)) fitting.push_back(dim);
    if (!fitting.empty() && chance(0.6)) return any(fitting);
    for (int i = 0;; ++i) {
      const std::string name = fmt::format("{}{}", static_cast<char>('r' + i % 4), size + 100 * (i / 4));
      const auto at = case_.sizes.find(name);
      if (contains(dims, name) || (at != case_.sizes.end() && (at->second != size || chance(0.3)))) continue;
      case_.sizes[name] = size;
      return {name, size};
    }
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
    for (const Dim& dim : rest) dims.push_back(contains(dims, dim.name) ? dim_of_size(dim.size, unite(dims, rest)) : dim);
    return dims;
  }

  // Dimensions with `count` elements in all.
  Dims factored(int64_t count) {
    Dims dims;
    int64_t rest = count;
    while (rest > 1) {
      std::vector<int64_t> divisors;
      for (int64_t d = 2; d <= rest; ++d)
        if (rest % d == 0) divisors.push_back(d);
      const int64_t size = any(divisors);
      dims.push_back(dim_of_size(size, dims));
      rest /= size;
    }
    if (dims.empty() || chance(0.1)) {
      const Dim one = dim_of_size(1, dims);
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(below(dims.size() + 1)), one);
    }
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
    const std::optional<Facts> x = pick([](const Facts& f) { return f.type.dtype != DType::kBool; });
    if (!x) return;
    Attributes attributes;
    if (!x->type.dims.empty() && chance(0.8))
      attributes.set(chance(0.5) ? "over" : "dims", some_of(x->type.dims, 0));
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

  Facts indices(const Dims& dims, const std::string& indexed) {
    if (chance(0.2)) {
      const Dim dim{indexed, case_.sizes.at(indexed)};
      const std::optional<Facts> range =
          add({.kind = "range", .attributes = {{"dim", dim}, {"dtype", DType::kI32}}}, 9, 0, true);
      if (range) return *range;
    }
    return leaf(chance(0.7) ? DType::kI32 : DType::kI64, dims, Fill::kIndex, indexed);
  }

  void lookup() {
    const std::optional<Facts> table =
        pick([](const Facts& f) { return f.type.dtype != DType::kBool && !f.type.dims.empty(); });
    if (!table) return;
    const Dim dim = any(table->type.dims);
    const Facts index = indices(random_dims(0, 2), dim.name);
    if (elements(unite(table->type.dims, index.type.dims)) <= kMostElements)
      add({.kind = "gather", .operands = {table->ref, index.ref}, .attributes = {{"dim", dim}}},
          table->bound, table->low, table->exact);
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
      attributes.set("dims", shuffled(unite(unite({dim}, slice), some_of(without(index.type.dims, {dim}), 0))));
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

  void normalize() {
    const std::optional<Facts> x =
        pick([](const Facts& f) { return is_float(f.type.dtype) && !f.type.dims.empty() && f.bound < 100; });
    if (!x) return;
    const Dims over = some_of(x->type.dims, 1);
    if (chance(0.5))
      add({.kind = "softmax", .operands = {x->ref}, .attributes = {{"over", over}}}, 1, 0, false);
    else
      add({.kind = "log_softmax", .operands = {x->ref}, .attributes = {{"over", over}}}, 2 * x->bound + 8,
          -2 * x->bound - 8, false);
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
      const Facts facts = index ? leaf(type.dtype, type.dims, operand.fill, indexed)
                                : leaf_or_sum(type, operand.fill);
      exact &= facts.exact;
      item.operands.push_back(facts.ref);
    }
    const std::optional<Facts> result = add(std::move(item), 100, -100, false);
    if (result && !is_float(result->type.dtype)) known_.back().exact = exact;
  }

  // -- gradients, delivery, layout --

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

  void deliver() {
    const size_t count = 1 + below(4);
    case_.outputs.push_back(known_.back().ref);
    for (size_t i = 0; i < count; ++i) {
      const TensorRef ref = any(known_).ref;
      if (std::find(case_.outputs.begin(), case_.outputs.end(), ref) == case_.outputs.end())
        case_.outputs.push_back(ref);
    }
    std::vector<size_t> variables;
    for (size_t i = 0; i < case_.items.size(); ++i)
      if (case_.items[i].kind == "variable") variables.push_back(i);
    if (case_.loss && (variables.empty() || chance(0.3))) case_.loss.reset();
    if (case_.loss) return;  // training assigns the variables
    for (const size_t variable : variables)
      if (chance(0.7)) assign(variable);
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
        value = add({.kind = "add", .operands = {old, x->ref}, .attributes = {{"dims", type.dims}}}, 4, -4, false);
      else if (!exact && chance(0.5))
        value = add({.kind = "tanh", .operands = {old}}, 1, -1, false);
      else if (x)
        value = add({.kind = "where", .operands = {leaf(DType::kBool, some_of(type.dims, 0), Fill::kBool).ref, old, x->ref},
                     .attributes = {{"dims", type.dims}}}, 4, -4, false);
    }
    if (value && value->type == type) case_.assignments.emplace_back(variable, value->ref);
  }

  void draw_layout() {
    const std::vector<std::vector<int64_t>> meshes{{2},    {3},    {4},       {5},       {7},    {12},
                                                   {2, 2}, {2, 3}, {3, 2},    {3, 4},    {4, 3}, {2, 6},
                                                   {2, 1}, {1, 3}, {2, 2, 2}, {2, 3, 2}, {2, 5}, {2, 2, 3}};
    std::vector<Axis> axes;
    for (const int64_t size : any(meshes))
      axes.push_back({std::string(1, static_cast<char>('p' + axes.size())), size});
    case_.layout = {Mesh(axes), {}};
    WholeTensors leaves;
    const Model model = model_of(case_, leaves);
    const double density = 0.4 + 0.1 * static_cast<double>(below(7));
    for (const Dim& dim : shuffled(model.dims)) {
      if (!chance(density)) continue;
      AxisList list;
      for (size_t i = 0; i < axes.size(); ++i) list.push_back(static_cast<int>(i));
      std::shuffle(list.begin(), list.end(), random_);
      list.resize(chance(0.7) ? 1 : 1 + below(list.size()));
      case_.layout.rules.push_back({dim.name, list, {}});
      if (!is_legal(model, case_.layout)) case_.layout.rules.pop_back();
    }
  }

  std::mt19937_64 random_;
  RandomCase case_;
  GraphBuilder builder_;
  std::vector<std::vector<TensorId>> tensors_;  // by item
  std::vector<Facts> known_;
  size_t operations_ = 0;
  DType float_ = DType::kF64;
};

void add_used_dims(Dims& dims, const Item& item, const std::map<std::string, int64_t>& sizes) {
  for (const auto& [name, value] : resized(item.attributes, sizes).entries()) {
    if (const Dim* dim = std::get_if<Dim>(&value)) dims = unite(dims, {*dim});
    if (const Dims* list = std::get_if<Dims>(&value)) dims = unite(dims, *list);
  }
}

void add_leaf_to(Model& model, const Item& item, const Tensor& tensor, bool trainable,
                 const RandomCase& from, WholeTensors& leaves) {
  const int64_t limit = item.indexed.empty() ? 1 : from.sizes.at(item.indexed);
  leaves[tensor.name] = drawn({tensor.type, item.fill, limit}, from.seed + leaves.size());
  if (item.kind == "input") {
    model.inputs.push_back({tensor.name, tensor.type, "", {}});
    return;
  }
  VariableDecl variable{tensor.name, tensor.type, Init{}, trainable, false, {}};
  if (is_float(tensor.type.dtype)) variable.init = Init{InitKind::kUniform, -1, 1};
  model.variables.push_back(std::move(variable));
}

}  // namespace

RandomCase random_case(uint64_t seed) {
  return Generator(seed).run();
}

Model model_of(const RandomCase& random_case, WholeTensors& leaves) {
  Model model;
  model.name = "random";
  GraphBuilder b;
  std::vector<std::vector<TensorId>> tensors;
  for (size_t i = 0; i < random_case.items.size(); ++i) {
    const Item& item = random_case.items[i];
    tensors.push_back(add_item(b, item, i, random_case.sizes, tensors));
    add_used_dims(model.dims, item, random_case.sizes);
    for (const TensorId id : tensors.back()) {
      b.mark_from_model(id);
      model.dims = unite(model.dims, b.dims(id));
    }
    if (leaf_of(item)) {
      const Tensor& tensor = b.graph().tensor(tensors.back()[0]);
      const bool trainable = random_case.loss && is_float(tensor.type.dtype);
      add_leaf_to(model, item, tensor, trainable, random_case, leaves);
    }
  }
  const auto id_of = [&](const TensorRef& ref) { return tensors.at(ref.item).at(ref.result); };
  for (const TensorRef& ref : random_case.outputs)
    model.outputs.push_back({b.graph().tensor(id_of(ref)).name, id_of(ref)});
  for (const auto& [variable, value] : random_case.assignments)
    model.assignments.push_back({b.graph().tensor(tensors.at(variable)[0]).name, id_of(value), {}});
  if (random_case.loss) model.train = TrainSpec{id_of(*random_case.loss), "sgd", {{"lr", 0.1}}, {}};
  model.graph = std::move(b).build();
  return model;
}

std::string to_string(const RandomCase& random_case) {
  WholeTensors leaves;
  const Model model = model_of(random_case, leaves);
  std::string text = to_string(model.graph);
  for (const NamedTensor& output : model.outputs) text += fmt::format("output {}\n", output.name);
  for (const Assignment& assignment : model.assignments)
    text += fmt::format("assign {} = {}\n", assignment.variable, model.graph.tensor(assignment.value).name);
  if (model.train) text += fmt::format("train {}\n", model.graph.tensor(model.train->loss).name);
  return fmt::format("{}mesh {} layout {} (seed {})\n", text, to_string(random_case.layout.mesh),
                     to_string(random_case.layout), random_case.seed);
}

}  // namespace mtfc
