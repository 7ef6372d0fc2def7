#include "runtime/compute/kernel.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/op_registry.h"
#include "core/op_rules/example.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/kernel_call.h"

namespace mtfc::kernel_test {
namespace {

// A second definition of operations, as plain as possible: values by named index, one element at a time. Other
// operations have worked examples in core/ops/, or are exempt (kExempt).

using Index = std::map<std::string, int64_t, std::less<>>;

int64_t offset(const Dims& dims, const Index& at) {
  int64_t result = 0;
  for (const Dim& dim : dims) result = result * dim.size + at.at(dim.name);
  return result;
}

double value(const HostTensor& tensor, const Index& at) {
  return element(tensor, offset(tensor.type.dims, at));
}

template <typename F>
void each_index(const Dims& dims, const Index& start, F f) {
  for (int64_t i = 0; i < elements(dims); ++i) {
    Index at = start;
    int64_t rest = i;
    for (size_t d = dims.size(); d-- > 0;) {
      at[dims[d].name] = rest % dims[d].size;
      rest /= dims[d].size;
    }
    f(at);
  }
}

struct Call {
  const std::vector<HostTensor>& operands;
  const Attributes& attributes;
  HostTensor& result;
  std::vector<HostTensor>& others;  // results after the first
  const Dims& dims() const { return result.type.dims; }
};
using Reference = std::function<void(const Call&)>;

Reference element_wise(std::function<double(const std::vector<double>&)> f) {
  return [f](const Call& call) {
    each_index(call.dims(), {}, [&](const Index& at) {
      std::vector<double> x;
      for (const HostTensor& operand : call.operands) x.push_back(value(operand, at));
      set_element(call.result, offset(call.dims(), at), f(x));
    });
  };
}

Reference reduction(double start, std::function<double(double, double)> f, bool mean = false) {
  return [=](const Call& call) {
    const Dims over = without(call.operands[0].type.dims, call.dims());
    each_index(call.dims(), {}, [&](const Index& kept) {
      double sum = start;
      each_index(over, kept, [&](const Index& at) { sum = f(sum, value(call.operands[0], at)); });
      const double count = mean ? static_cast<double>(elements(over)) : 1;
      set_element(call.result, offset(call.dims(), kept), sum / count);
    });
  };
}

void einsum(const Call& call) {
  Dims all;
  for (const HostTensor& operand : call.operands) all = unite(all, operand.type.dims);
  each_index(call.dims(), {}, [&](const Index& kept) {
    double sum = 0;
    each_index(without(all, call.dims()), kept, [&](const Index& at) {
      double product = 1;
      for (const HostTensor& operand : call.operands) product *= value(operand, at);
      sum += product;
    });
    set_element(call.result, offset(call.dims(), kept), sum);
  });
}

/// The index at `at`, or -1 if it lies outside of the indexed dimension.
int64_t index_at(const Call& call, const HostTensor& indices, const Index& at) {
  const int64_t index = static_cast<int64_t>(value(indices, at));
  return index >= 0 && index < call.attributes.get<Dim>("dim").size ? index : -1;
}

double weight_at(const Call& call, const Index& at) {
  return call.operands.size() > 2 ? value(call.operands[2], at) : 1;
}

void gather(const Call& call) {
  const std::string& indexed = call.attributes.get<Dim>("dim").name;
  const Dims over = call.attributes.get_or("over", Dims{});
  each_index(call.dims(), {}, [&](const Index& kept) {
    double sum = 0;
    each_index(over, kept, [&](const Index& at) {
      Index in_table = at;
      in_table[indexed] = index_at(call, call.operands[1], at);
      if (in_table[indexed] >= 0) sum += weight_at(call, at) * value(call.operands[0], in_table);
    });
    set_element(call.result, offset(call.dims(), kept), sum);
  });
}

void scatter_add(const Call& call) {
  const std::string& indexed = call.attributes.get<Dim>("dim").name;
  each_index(unite(call.operands[1].type.dims, call.operands[0].type.dims), {}, [&](const Index& at) {
    Index to = at;
    to[indexed] = index_at(call, call.operands[1], at);
    if (to[indexed] < 0) return;
    const int64_t place = offset(call.dims(), to);
    set_element(call.result, place,
                element(call.result, place) + weight_at(call, at) * value(call.operands[0], at));
  });
}

void gather_dot(const Call& call) {
  const Dim& indexed = call.attributes.get<Dim>("dim");
  const Dims slice = without(without(call.operands[0].type.dims, {indexed}), call.dims());
  each_index(call.dims(), {}, [&](const Index& kept) {
    double sum = 0;
    each_index(slice, kept, [&](const Index& at) {
      Index in_table = at;
      in_table[indexed.name] = index_at(call, call.operands[1], at);
      if (in_table[indexed.name] >= 0) sum += value(call.operands[0], in_table) * value(call.operands[2], at);
    });
    set_element(call.result, offset(call.dims(), kept), sum);
  });
}

void count_before(const Call& call) {
  const Dims& over = call.attributes.get<Dims>("over");
  each_index(call.dims(), {}, [&](const Index& kept) {
    const int64_t here = offset(over, kept), own = index_at(call, call.operands[0], kept);
    double count = 0;
    each_index(over, kept, [&](const Index& at) {
      if (own >= 0 && offset(over, at) < here && index_at(call, call.operands[0], at) == own) ++count;
    });
    set_element(call.result, offset(call.dims(), kept), count);
  });
}

void argmax(const Call& call) {
  const Dims over = without(call.operands[0].type.dims, call.dims());
  each_index(call.dims(), {}, [&](const Index& kept) {
    double largest = -std::numeric_limits<double>::infinity(), best = 0;
    each_index(over, kept, [&](const Index& at) {
      if (value(call.operands[0], at) <= largest) return;
      largest = value(call.operands[0], at);
      best = static_cast<double>(at.at(over[0].name));
    });
    set_element(call.result, offset(call.dims(), kept), best);
  });
}

void one_hot(const Call& call) {
  const std::string& dim = call.attributes.get<Dim>("dim").name;
  each_index(call.dims(), {}, [&](const Index& at) {
    const bool hit = value(call.operands[0], at) == static_cast<double>(at.at(dim));
    set_element(call.result, offset(call.dims(), at), hit);
  });
}

void cumsum(const Call& call) {
  const Dim& dim = call.attributes.get<Dim>("dim");
  const bool exclusive = call.attributes.get_or("exclusive", false);
  const bool reverse = call.attributes.get_or("reverse", false);
  each_index(call.dims(), {}, [&](const Index& at) {
    double sum = 0;
    const int64_t here = at.at(dim.name);
    each_index({dim}, at, [&](const Index& from) {
      const int64_t i = from.at(dim.name);
      if (reverse ? i > here : i < here) sum += value(call.operands[0], from);
      if (i == here && !exclusive) sum += value(call.operands[0], from);
    });
    set_element(call.result, offset(call.dims(), at), sum);
  });
}

void top_k(const Call& call) {
  const Dim &dim = call.attributes.get<Dim>("dim"), &to = call.attributes.get<Dim>("to");
  each_index(without(call.operands[0].type.dims, {dim}), {}, [&](const Index& row) {
    std::vector<std::pair<double, int64_t>> all;
    each_index({dim}, row,
               [&](const Index& at) { all.emplace_back(-value(call.operands[0], at), at.at(dim.name)); });
    std::sort(all.begin(), all.end());
    each_index({to}, row, [&](const Index& at) {
      const auto& [negative, index] = all[static_cast<size_t>(at.at(to.name))];
      set_element(call.result, offset(call.dims(), at), -negative);
      set_element(call.others.at(0), offset(call.dims(), at), static_cast<double>(index));
    });
  });
}

void update_slice(const Call& call) {
  const std::string& dim = call.attributes.get<Dim>("dim").name;
  const bool many = call.attributes.has("from");
  const int64_t first = static_cast<int64_t>(element(call.operands[2], 0));
  const int64_t rows = many ? call.attributes.get<Dim>("from").size : 1;
  each_index(call.dims(), {}, [&](const Index& at) {
    const int64_t row = at.at(dim) - first;
    Index in_piece = at;
    if (many) in_piece[call.attributes.get<Dim>("from").name] = row;
    const bool replaced = row >= 0 && row < rows;
    set_element(call.result, offset(call.dims(), at),
                replaced ? value(call.operands[1], in_piece) : value(call.operands[0], at));
  });
}

double cut(const std::vector<double>& x) {
  return std::trunc(x[0]);
}

// The source of the result's element `i` along the moved dimension: {operand, index}, or {-1, 0} for the
// fill.
using Source = std::function<std::pair<int, int64_t>(const Attributes&, int64_t i)>;

const Dim& moved_dim(const Attributes& attributes, size_t operand) {
  if (const auto* dims = attributes.find("dim"); std::holds_alternative<Dims>(*dims)) {
    const Dims& named = std::get<Dims>(*dims);
    return named[named.size() == 1 ? 0 : operand];
  }
  return attributes.get<Dim>("dim");
}

Reference moved(Source source) {
  return [source](const Call& call) {
    const std::string to = call.attributes.get_or("to", moved_dim(call.attributes, 0)).name;
    each_index(call.dims(), {}, [&](const Index& at) {
      const auto [operand, index] = source(call.attributes, at.at(to));
      double found = call.attributes.get_or("value", 0.0);
      if (operand >= 0) {
        Index from = at;
        from[moved_dim(call.attributes, static_cast<size_t>(operand)).name] = index;
        found = value(call.operands[static_cast<size_t>(operand)], from);
      }
      set_element(call.result, offset(call.dims(), at), found);
    });
  };
}

std::pair<int, int64_t> padded(const Attributes& a, int64_t i) {
  const int64_t step = a.get_or<int64_t>("interior", 0) + 1, from = i - a.get_or<int64_t>("low", 0);
  const bool inside = from >= 0 && from % step == 0 && from / step < a.get<Dim>("dim").size;
  return inside ? std::pair{0, from / step} : std::pair{-1, int64_t{0}};
}

std::pair<int, int64_t> shifted(const Attributes& a, int64_t i) {
  const int64_t n = a.get<Dim>("dim").size, from = i - a.get<int64_t>("by");
  if (a.get<bool>("wrap")) return {0, (from % n + n) % n};
  return from >= 0 && from < n ? std::pair{0, from} : std::pair{-1, int64_t{0}};
}

std::pair<int, int64_t> joined(const Attributes& a, int64_t i) {
  for (size_t operand = 0;; ++operand) {
    const int64_t size = moved_dim(a, operand).size;
    if (i < size) return {static_cast<int>(operand), i};
    i -= size;
  }
}

std::map<std::string, Reference, std::less<>> references() {
  using V = const std::vector<double>&;
  const Reference copy = element_wise([](V x) { return x[0]; });
  const Reference relabel = [](const Call& call) {
    for (int64_t i = 0; i < elements(call.dims()); ++i)
      set_element(call.result, i, element(call.operands[0], i));
  };
  const double inf = std::numeric_limits<double>::infinity();
  return {
      {"neg", element_wise([](V x) { return -x[0]; })},
      {"exp", element_wise([](V x) { return std::exp(x[0]); })},
      {"log", element_wise([](V x) { return std::log(x[0]); })},
      {"sqrt", element_wise([](V x) { return std::sqrt(x[0]); })},
      {"square", element_wise([](V x) { return x[0] * x[0]; })},
      {"tanh", element_wise([](V x) { return std::tanh(x[0]); })},
      {"relu", element_wise([](V x) { return std::max(x[0], 0.0); })},
      {"abs", element_wise([](V x) { return std::abs(x[0]); })},
      {"sign", element_wise([](V x) { return x[0] > 0   ? 1.0
                                             : x[0] < 0 ? -1.0
                                                        : 0.0; })},
      {"rsqrt", element_wise([](V x) { return std::pow(x[0], -0.5); })},
      {"reciprocal", element_wise([](V x) { return 1 / x[0]; })},
      {"gelu", element_wise([](V x) { return 0.5 * x[0] * (1 + std::erf(x[0] / std::sqrt(2))); })},
      {"sigmoid", element_wise([](V x) { return std::exp(x[0]) / (std::exp(x[0]) + 1); })},
      {"silu", element_wise([](V x) { return x[0] * std::exp(x[0]) / (std::exp(x[0]) + 1); })},
      {"softplus", element_wise([](V x) { return std::log(1 + std::exp(x[0])); })},
      {"sin", element_wise([](V x) { return std::sin(x[0]); })},
      {"cos", element_wise([](V x) { return std::cos(x[0]); })},
      {"floor", element_wise([](V x) { return std::floor(x[0]); })},
      {"ceil", element_wise([](V x) { return std::ceil(x[0]); })},
      {"round", element_wise([](V x) { return x[0] - std::remainder(x[0], 1); })},
      {"erf", element_wise([](V x) { return std::erf(x[0]); })},
      {"not", element_wise([](V x) { return x[0] == 0; })},
      {"add", element_wise([](V x) { return x[0] + x[1]; })},
      {"sub", element_wise([](V x) { return x[0] - x[1]; })},
      {"mul", element_wise([](V x) { return x[0] * x[1]; })},
      {"div", element_wise([](V x) { return x[0] / x[1]; })},
      {"maximum", element_wise([](V x) { return std::max(x[0], x[1]); })},
      {"minimum", element_wise([](V x) { return std::min(x[0], x[1]); })},
      {"pow", element_wise([](V x) { return std::pow(x[0], x[1]); })},
      {"floordiv", element_wise([](V x) { return std::floor(x[0] / x[1]); })},
      {"mod", element_wise([](V x) { return x[0] - std::floor(x[0] / x[1]) * x[1]; })},
      {"not_equal", element_wise([](V x) { return x[0] != x[1]; })},
      {"less", element_wise([](V x) { return x[0] < x[1]; })},
      {"less_equal", element_wise([](V x) { return x[0] <= x[1]; })},
      {"greater", element_wise([](V x) { return x[0] > x[1]; })},
      {"and", element_wise([](V x) { return x[0] != 0 && x[1] != 0; })},
      {"or", element_wise([](V x) { return x[0] != 0 || x[1] != 0; })},
      {"equal", element_wise([](V x) { return x[0] == x[1]; })},
      {"greater_equal", element_wise([](V x) { return x[0] >= x[1]; })},
      {"where", element_wise([](V x) { return x[0] != 0 ? x[1] : x[2]; })},
      {"cast",
       [copy](const Call& call) {
         is_integer(call.result.type.dtype) ? element_wise(cut)(call) : copy(call);
       }},
      {"identity", relabel},
      {"checked_index", relabel},  // index_check_test.cpp has the indices that it refuses
      {"stop_gradient", relabel},
      {"reshape", relabel},
      {"rename", relabel},
      {"transpose", copy},
      {"broadcast", copy},
      {"reduce_sum", reduction(0, [](double a, double b) { return a + b; })},
      {"reduce_mean", reduction(
                          0, [](double a, double b) { return a + b; }, true)},
      {"reduce_max", reduction(-inf, [](double a, double b) { return std::max(a, b); })},
      {"reduce_min", reduction(inf, [](double a, double b) { return std::min(a, b); })},
      {"reduce_prod", reduction(1, [](double a, double b) { return a * b; })},
      {"reduce_any", reduction(0, [](double a, double b) { return a != 0 || b != 0; })},
      {"reduce_all", reduction(1, [](double a, double b) { return a != 0 && b != 0; })},
      {"slice", moved([](const Attributes& a, int64_t i) {
         return std::pair{0, a.get_or<int64_t>("start", 0) + i * a.get_or<int64_t>("stride", 1)};
       })},
      {"pad", moved(padded)},
      {"concat", moved(joined)},
      {"shift", moved(shifted)},
      {"reverse", moved([](const Attributes& a, int64_t i) {
         return std::pair{0, a.get<Dim>("dim").size - 1 - i};
       })},
      {"einsum", einsum},
      {"gather", gather},
      {"scatter_add", scatter_add},
      {"gather_dot", gather_dot},
      {"count_before", count_before},
      {"argmax", argmax},
      {"one_hot", one_hot},
      {"cumsum", cumsum},
      {"top_k", top_k},
      {"update_slice", update_slice},
      {"range",
       [](const Call& call) {
         for (int64_t i = 0; i < elements(call.dims()); ++i)
           set_element(call.result, i, static_cast<double>(i));
       }},
      {"constant",
       [](const Call& call) { set_element(call.result, 0, call.attributes.get<double>("value")); }},
  };
}

/// An operation that has no reference, for a reason, and the file that tests it instead.
struct Exemption {
  std::string_view name;
  std::string_view reason;
  std::string_view tested_in;
};

constexpr std::string_view kGenerated = "a second definition would be the same generator once more";
const std::vector<Exemption> kExempt = {
    {"random_normal", kGenerated, "runtime/compute/random_test.cpp"},
    {"random_truncated_normal", kGenerated, "runtime/compute/random_test.cpp"},
    {"random_uniform", kGenerated, "runtime/compute/random_test.cpp"},
};

bool is_exempt(std::string_view name) {
  return std::any_of(kExempt.begin(), kExempt.end(), [&](const Exemption& one) { return one.name == name; });
}

void check_equal(const HostTensor& found, const HostTensor& expected) {
  const bool single = expected.type.dtype == DType::kF32;
  for (int64_t i = 0; i < elements(expected.type.dims); ++i) {
    CAPTURE(i);
    CHECK(element(found, i) == doctest::Approx(element(expected, i)).epsilon(single ? 1e-5 : 1e-13).scale(1));
  }
}

void check_example(const OpDef& op, const Example& example, const Reference& reference) {
  std::vector<HostTensor> operands;
  for (const ExampleOperand& operand : example.operands)
    operands.push_back(example_tensor(operand, operands.size()));
  const KernelAnswer evaluated =
      call_kernel({.op = op.signature.name, .attributes = example.attributes, .operands = operands});
  CHECK(evaluated.flops == evaluated.planned_flops);
  if (!reference) return;
  HostTensor expected(evaluated.result.type);
  std::vector<HostTensor> others;
  for (const HostTensor& other : evaluated.others) others.emplace_back(other.type);
  reference({operands, example.attributes, expected, others});
  check_equal(evaluated.result, expected);
  for (size_t i = 0; i < others.size(); ++i) check_equal(evaluated.others[i], others[i]);
}

// The same numbers as f64.
HostTensor widened(const HostTensor& tensor) {
  HostTensor wide({is_float(tensor.type.dtype) ? DType::kF64 : tensor.type.dtype, tensor.type.dims});
  for (int64_t i = 0; i < elements(tensor.type.dims); ++i) set_element(wide, i, element(tensor, i));
  return wide;
}

// A result in bf16 is that of the definition in f64, rounded once.
void check_rounded_once(const HostTensor& found, const HostTensor& exact) {
  double largest = 1;
  for (const double value : numbers_of(exact)) largest = std::max(largest, std::abs(value));
  for (int64_t i = 0; i < elements(exact.type.dims); ++i) {
    CAPTURE(i);
    const double expected = element(exact, i);
    const double allowed = is_float(found.type.dtype) ? 0x1.01p-8 * std::abs(expected) + 1e-5 * largest : 0;
    CHECK(element(found, i) - expected <= allowed);
    CHECK(expected - element(found, i) <= allowed);
  }
}

void check_example_in_bf16(const OpDef& op, const Example& example, const Reference& reference) {
  const Example narrow = with_floats(example, DType::kBF16), wide = with_floats(example, DType::kF64);
  std::vector<HostTensor> operands, exact;
  for (const ExampleOperand& operand : narrow.operands) {
    operands.push_back(example_tensor(operand, operands.size()));
    exact.push_back(widened(operands.back()));
  }
  const KernelAnswer evaluated =
      call_kernel({.op = op.signature.name, .attributes = narrow.attributes, .operands = operands});
  CHECK(evaluated.flops == evaluated.planned_flops);
  if (!reference) return;
  HostTensor expected = widened(evaluated.result);
  std::vector<HostTensor> others;
  for (const HostTensor& other : evaluated.others) others.push_back(widened(other));
  std::fill(expected.data.begin(), expected.data.end(), std::byte{0});
  for (HostTensor& other : others) std::fill(other.data.begin(), other.data.end(), std::byte{0});
  reference({exact, wide.attributes, expected, others});
  check_rounded_once(evaluated.result, expected);
  for (size_t i = 0; i < others.size(); ++i) check_rounded_once(evaluated.others[i], others[i]);
}

void check_worked(const OpDef& op, const WorkedExample& worked) {
  std::vector<HostTensor> operands;
  for (const KnownTensor& operand : worked.operands)
    operands.push_back(value_of(operand.type, operand.elements));
  const KernelAnswer answer =
      call_kernel({.op = op.signature.name, .attributes = worked.attributes, .operands = operands});
  check_equal(answer.result, value_of(answer.result.type, worked.results[0]));
  for (size_t i = 0; i < answer.others.size(); ++i)
    check_equal(answer.others[i], value_of(answer.others[i].type, worked.results[i + 1]));
}

// Repeats the elements of a worked example whose tensors all have the same dimensions, until there are more of them
// than a tile or a vector register holds.
void check_repeated(const OpDef& op, const WorkedExample& worked) {
  constexpr int64_t kCount = 5003;
  const auto repeated = [](DType dtype, const std::vector<double>& elements) {
    std::vector<double> many;
    for (int64_t i = 0; i < kCount; ++i) many.push_back(elements[static_cast<size_t>(i) % elements.size()]);
    return value_of({dtype, {{"repeated", kCount}}}, many);
  };
  std::vector<HostTensor> operands;
  for (const KnownTensor& operand : worked.operands)
    operands.push_back(repeated(operand.type.dtype, operand.elements));
  const KernelAnswer answer =
      call_kernel({.op = op.signature.name, .attributes = worked.attributes, .operands = operands});
  check_equal(answer.result, repeated(answer.result.type.dtype, worked.results[0]));
}

bool can_be_repeated(const OpDef& op, const WorkedExample& worked) {
  return is_elementwise(op) && worked.attributes.entries().empty() &&
         std::all_of(worked.operands.begin(), worked.operands.end(), [&](const KnownTensor& operand) {
           return operand.type.dims == worked.operands[0].type.dims;
         });
}

}  // namespace

// Other tests compare gradients with finite differences, and check the results under every layout.
TEST_CASE("every kernel agrees with its definition on every example") {
  const auto known = references();
  for (const OpDef* op : all_ops()) {
    const std::string_view name = op->signature.name;
    CAPTURE(name);
    const auto reference = known.find(name);
    if (reference == known.end() && op->signature.worked.empty() && !is_exempt(name))
      FAIL_CHECK("the operation has neither a worked example in its signature nor a second definition here");
    for (size_t i = 0; i < op->signature.examples.size(); ++i) {
      CAPTURE(i);
      const Reference definition = reference == known.end() ? Reference{} : reference->second;
      check_example(*op, op->signature.examples[i], definition);
      check_example_in_bf16(*op, op->signature.examples[i], definition);
    }
  }
}

TEST_CASE("every kernel gives the results of the worked examples") {
  for (const OpDef* op : all_ops()) {
    CAPTURE(op->signature.name);
    for (size_t i = 0; i < op->signature.worked.size(); ++i) {
      CAPTURE(i);
      check_worked(*op, op->signature.worked[i]);
      if (can_be_repeated(*op, op->signature.worked[i])) check_repeated(*op, op->signature.worked[i]);
    }
  }
}

TEST_CASE("a shift by no places gives its operand, and one by the whole length nothing of it or all of it") {
  const Dim length = dim_of("length=3");
  const auto check = [&](int64_t by, bool wrap, const std::vector<double>& result) {
    CAPTURE(by);
    CAPTURE(wrap);
    check_worked(op_named("shift"), worked({known("length=3", {1, 2, 3})},
                                           {{"dim", length}, {"by", by}, {"wrap", wrap}}, {result}));
  };
  for (const bool wrap : {false, true}) check(0, wrap, {1, 2, 3});
  for (const int64_t by : {-3, 3}) {
    check(by, false, {0, 0, 0});
    check(by, true, {1, 2, 3});
  }
}

TEST_CASE("definitions are of operations, and exempt is only what has none and is tested elsewhere") {
  const auto known = references();
  for (const auto& [name, reference] : known) CHECK_MESSAGE(find_op(name), name);
  for (const Exemption& exempt : kExempt) {
    CAPTURE(exempt.name);
    CHECK(find_op(exempt.name));
    CHECK(known.count(exempt.name) == 0);
    CHECK(!exempt.reason.empty());
    const std::string test = contents(fmt::format("{}/{}", kSourceFolder, exempt.tested_in));
    CHECK(test.find(fmt::format("\"{}\"", exempt.name)) != std::string::npos);
  }
}

TEST_CASE("an element-wise operation, which may be a member of a fused step, has a tile") {
  for (const OpDef* op : all_ops()) {
    INFO(op->signature.name);
    const bool has_tile = kernel_named(op->signature.name).tile != nullptr;
    CHECK((has_tile || op->family != Family::kElementwise));
  }
}

TEST_CASE("an unknown kernel is a bug") {
  CHECK_THROWS_AS(kernel_named("nothing"), InternalError);
}

}  // namespace mtfc::kernel_test
