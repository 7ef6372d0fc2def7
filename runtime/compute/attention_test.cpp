// Attention and its gradient beside plain loops, with more queries and positions than one tile has.

#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "core/op_rules/example.h"
#include "runtime/compute/dropout_draws.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/kernel_call.h"

namespace mtfc::attention_test {
namespace {

struct Case {
  int64_t batch, queries, positions, inner, value;
  bool causal = false;
  int64_t window = 0;
  bool masked = false;
  double dropout = 0, scale = 1;
  bool vectors_last = true;    // the elements of each vector lie side by side, as BLAS needs them
  std::string_view bias = "";  // its dimensions, of b, l and m
};

const Case kCases[] = {
    {.batch = 2, .queries = 150, .positions = 600, .inner = 5, .value = 3},
    {.batch = 3, .queries = 600, .positions = 600, .inner = 8, .value = 8, .causal = true},
    {.batch = 1, .queries = 300, .positions = 600, .inner = 4, .value = 6, .causal = true, .masked = true},
    {.batch = 2, .queries = 600, .positions = 300, .inner = 4, .value = 1, .causal = true, .window = 70},
    {.batch = 1, .queries = 70, .positions = 530, .inner = 1, .value = 4, .window = 30, .masked = true},
    {.batch = 2,
     .queries = 130,
     .positions = 270,
     .inner = 3,
     .value = 5,
     .causal = true,
     .vectors_last = false},
    {.batch = 5, .queries = 1, .positions = 257, .inner = 6, .value = 6, .masked = true},
    {.batch = 1, .queries = 1, .positions = 290, .inner = 19, .value = 21, .window = 280},
    {.batch = 2,
     .queries = 1,
     .positions = 270,
     .inner = 4,
     .value = 3,
     .masked = true,
     .vectors_last = false},
    {.batch = 2, .queries = 130, .positions = 330, .inner = 4, .value = 5, .dropout = 0.3},
    {.batch = 1,
     .queries = 330,
     .positions = 330,
     .inner = 3,
     .value = 3,
     .causal = true,
     .masked = true,
     .dropout = 0.6,
     .scale = 0.5},
    {.batch = 2, .queries = 150, .positions = 300, .inner = 5, .value = 3, .causal = true, .bias = "lm"},
    {.batch = 3, .queries = 130, .positions = 290, .inner = 4, .value = 3, .scale = 0.5, .bias = "bml"},
    {.batch = 2, .queries = 90, .positions = 270, .inner = 3, .value = 4, .window = 60, .bias = "m"},
    {.batch = 2, .queries = 1, .positions = 270, .inner = 4, .value = 3, .masked = true, .bias = "mb"},
    {.batch = 2,
     .queries = 100,
     .positions = 260,
     .inner = 3,
     .value = 3,
     .masked = true,
     .dropout = 0.3,
     .vectors_last = false,
     .bias = "lb"},
};

/// A tensor with one vector for each row at each position of the batch.
struct Vectors {
  HostTensor tensor;
  double at(int64_t b, int64_t row, int64_t i) const { return element(tensor, offset(b, row, i)); }
  int64_t offset(int64_t b, int64_t row, int64_t i) const {
    const Dims& dims = tensor.type.dims;  // [b, rows, elements] or [elements, b, rows]
    return dims[0].name == "b" ? (b * dims[1].size + row) * dims[2].size + i
                               : (i * dims[1].size + b) * dims[2].size + row;
  }
};

double dot(const Vectors& a, int64_t row_a, const Vectors& b, int64_t row_b, int64_t batch, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += a.at(batch, row_a, i) * b.at(batch, row_b, i);
  return sum;
}

/// One case with its operands, and with the results that plain loops give.
struct Trial {
  Trial(const Case& chosen, DType type)
      : c(chosen),
        dtype(type),
        q(vectors("l", c.queries, "k", c.inner, 1)),
        k(vectors("m", c.positions, "k", c.inner, 2)),
        v(vectors("m", c.positions, "s", c.value, 3)),
        given(vectors("l", c.queries, "s", c.value, 4)) {
    Dims along;
    for (const char dim : c.bias)
      along.push_back(dim == 'b'   ? Dim{"b", c.batch}
                      : dim == 'l' ? Dim{"l", c.queries}
                                   : Dim{"m", c.positions});
    if (!along.empty()) bias = example_tensor({{dtype, along}}, 7);
    if (c.masked)
      mask = example_tensor({{DType::kBool, {{"m", c.positions}, {"b", c.batch}}}, Fill::kBool}, 5);
    if (c.dropout > 0)
      draws = example_tensor({{DType::kI64, {{"l", c.queries}, {"b", c.batch}}}, Fill::kIndex, 1 << 20}, 6);
  }

  Vectors vectors(const char* rows, int64_t count, const char* last, int64_t size, uint64_t seed) const {
    const Dim b{"b", c.batch}, row{rows, count}, element_dim{last, size};
    const Dims dims = c.vectors_last ? Dims{b, row, element_dim} : Dims{element_dim, b, row};
    return {example_tensor({{dtype, dims}}, seed)};
  }

  bool sees(int64_t b, int64_t query, int64_t position) const {
    if (c.causal && position > query) return false;
    if (c.window > 0 && std::abs(query - position) >= c.window) return false;
    return !mask || element(*mask, position * c.batch + b) != 0;
  }

  /// The element of the bias for a score.
  int64_t in_bias(int64_t b, int64_t query, int64_t position) const {
    int64_t offset = 0;
    for (const Dim& dim : bias->type.dims)
      offset = offset * dim.size + (dim.name == "b" ? b : dim.name == "l" ? query : position);
    return offset;
  }
  double score(int64_t b, int64_t query, int64_t p) const {
    const double more = bias ? element(*bias, in_bias(b, query, p)) : 0;
    return c.scale * dot(q, query, k, p, b, c.inner) + more;
  }

  /// The weight of each position, and the logarithm of the sum of the exponentials of the scores.
  std::vector<double> weights(int64_t b, int64_t query, double& total) const {
    std::vector<double> found(static_cast<size_t>(c.positions), 0);
    double sum = 0;
    for (int64_t p = 0; p < c.positions; ++p)
      if (sees(b, query, p)) sum += found[static_cast<size_t>(p)] = std::exp(score(b, query, p));
    for (double& weight : found) weight = sum == 0 ? 0 : weight / sum;
    total = std::log(sum);
    return found;
  }

  /// The factors by which dropout multiplies the weights of a query.
  std::vector<double> factors(int64_t b, int64_t query) const {
    std::vector<double> found(static_cast<size_t>(c.positions), 1);
    if (draws)
      dropout_factors(static_cast<int64_t>(element(*draws, query * c.batch + b)), c.dropout, {0, c.positions},
                      found.data());
    return found;
  }

  KernelCall call(std::string_view op, std::vector<HostTensor> operands) const {
    if (bias) operands.push_back(*bias);
    if (mask) operands.push_back(*mask);
    if (draws) operands.push_back(*draws);
    return {.op = op,
            .attributes = {{"over", Dim{"m", c.positions}},
                           {"dim", Dim{"k", c.inner}},
                           {"positions", Dim{"l", c.queries}},
                           {"causal", c.causal},
                           {"window", c.window},
                           {"dropout", c.dropout},
                           {"scale", c.scale}},
            .operands = std::move(operands)};
  }

  Case c;
  DType dtype;
  Vectors q, k, v, given;
  std::optional<HostTensor> bias, mask, draws;
};

void check_close(double found, double expected, DType dtype) {
  const double tolerance = dtype == DType::kF64 ? 1e-11 : 2e-4;
  if (std::isinf(expected))
    CHECK(found == expected);
  else
    CHECK(std::abs(found - expected) <= tolerance * (1 + std::abs(expected)));
}

void check(const Trial& t) {
  const Case& c = t.c;
  const KernelAnswer forward = call_kernel(t.call("attention", {t.q.tensor, t.k.tensor, t.v.tensor}));
  CHECK(forward.flops == forward.planned_flops);
  const Vectors result{forward.result};
  HostTensor delta(forward.others[0].type);
  std::vector<double> of_q(static_cast<size_t>(c.batch * c.queries * c.inner)),
      of_k(static_cast<size_t>(c.batch * c.positions * c.inner)),
      of_v(static_cast<size_t>(c.batch * c.positions * c.value)),
      of_bias(t.bias ? static_cast<size_t>(elements(t.bias->type.dims)) : 0);
  const auto at = [](int64_t b, int64_t rows, int64_t row, int64_t width, int64_t i) {
    return static_cast<size_t>((b * rows + row) * width + i);
  };
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t query = 0; query < c.queries; ++query) {
      double total = 0, sum_of_gradients = 0;
      const std::vector<double> weights = t.weights(b, query, total), factors = t.factors(b, query);
      check_close(element(forward.others[0], b * c.queries + query), total, t.dtype);
      for (int64_t i = 0; i < c.value; ++i) {
        double expected = 0;
        for (int64_t p = 0; p < c.positions; ++p)
          expected += factors[static_cast<size_t>(p)] * weights[static_cast<size_t>(p)] * t.v.at(b, p, i);
        check_close(result.at(b, query, i), expected, t.dtype);
        sum_of_gradients += expected * t.given.at(b, query, i);
      }
      set_element(delta, b * c.queries + query, sum_of_gradients);
      for (int64_t p = 0; p < c.positions; ++p) {
        const double weight = weights[static_cast<size_t>(p)], factor = factors[static_cast<size_t>(p)];
        if (weight == 0) continue;
        const double of_score =
            weight * (factor * dot(t.given, query, t.v, p, b, c.value) - sum_of_gradients);
        if (t.bias) of_bias[static_cast<size_t>(t.in_bias(b, query, p))] += of_score;
        for (int64_t i = 0; i < c.inner; ++i) {
          of_q[at(b, c.queries, query, c.inner, i)] += c.scale * of_score * t.k.at(b, p, i);
          of_k[at(b, c.positions, p, c.inner, i)] += c.scale * of_score * t.q.at(b, query, i);
        }
        for (int64_t i = 0; i < c.value; ++i)
          of_v[at(b, c.positions, p, c.value, i)] += factor * weight * t.given.at(b, query, i);
      }
    }
  const std::vector<HostTensor> known = {t.q.tensor,        t.k.tensor, t.v.tensor,
                                         forward.others[0], delta,      t.given.tensor};
  const KernelAnswer backward = call_kernel(t.call("attention_gradient", known));
  CHECK(backward.flops == backward.planned_flops);
  const auto compare = [&](const HostTensor& found, const std::vector<double>& expected, int64_t rows,
                           int64_t width) {
    for (int64_t b = 0; b < c.batch; ++b)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < width; ++i)
          check_close(Vectors{found}.at(b, row, i), expected[at(b, rows, row, width, i)], t.dtype);
  };
  compare(backward.result, of_q, c.queries, c.inner);
  compare(backward.others[0], of_k, c.positions, c.inner);
  compare(backward.others[1], of_v, c.positions, c.value);
  if (!t.bias) return;
  const KernelAnswer bias = call_kernel(t.call("attention_bias_gradient", known));
  CHECK(bias.flops == bias.planned_flops);
  for (size_t i = 0; i < of_bias.size(); ++i)
    check_close(element(bias.result, static_cast<int64_t>(i)), of_bias[i], t.dtype);
}

}  // namespace

TEST_CASE("attention and its gradient over many tiles equal plain loops, for any number of threads") {
  const int before = omp_get_max_threads();
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    for (const Case& c : kCases)
      for (const DType dtype : {DType::kF32, DType::kF64}) {
        CAPTURE(threads);
        CAPTURE(&c - kCases);
        CAPTURE(to_string(dtype));
        check(Trial(c, dtype));
      }
  }
  omp_set_num_threads(before);
}

TEST_CASE("scores that are large, and a query that sees nothing") {
  // exp(1000) has no number, and the second query sees no position.
  const HostTensor q = value_of({DType::kF32, dims_of("l=2 k=1")}, {1000, 1});
  const HostTensor k = value_of({DType::kF32, dims_of("m=2 k=1")}, {1, 0});
  const HostTensor v = value_of({DType::kF32, dims_of("m=2 s=1")}, {3, 5});
  const HostTensor mask = value_of({DType::kBool, dims_of("l=2 m=2")}, {1, 1, 0, 0});
  const Attributes attributes = {{"over", Dim{"m", 2}}, {"dim", Dim{"k", 1}}};
  const KernelAnswer found =
      call_kernel({.op = "attention", .attributes = attributes, .operands = {q, k, v, mask}});
  CHECK(numbers_of(found.result) == std::vector<double>{3, 0});
  CHECK(numbers_of(found.others[0]) == std::vector<double>{1000, -std::numeric_limits<double>::infinity()});
  const HostTensor delta = value_of({DType::kF32, dims_of("l=2")}, {3, 0}),
                   given = value_of({DType::kF32, dims_of("l=2 s=1")}, {1, 1});
  const KernelAnswer gradients = call_kernel({.op = "attention_gradient",
                                              .attributes = attributes,
                                              .operands = {q, k, v, found.others[0], delta, given, mask}});
  CHECK(numbers_of(gradients.result) == std::vector<double>{0, 0});
  CHECK(numbers_of(gradients.others[0]) == std::vector<double>{0, 0});
  CHECK(numbers_of(gradients.others[1]) == std::vector<double>{1, 0});
}

}  // namespace mtfc::attention_test
