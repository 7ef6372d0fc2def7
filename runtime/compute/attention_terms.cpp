#include "runtime/compute/attention_terms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "runtime/compute/attention_plan.h"
#include "runtime/compute/attention_rows.h"

namespace mtfc {
namespace {

/// The vectors of an operand: their elements, and the magnitudes in the place of these.
struct Vectors {
  VectorPlaces places;
  const double* values = nullptr;
  const double* sizes = nullptr;
  double at(int64_t b, int64_t row, int64_t i) const { return values[places.at(b, row) + i * places.step]; }
  double size(int64_t b, int64_t row, int64_t i) const { return sizes[places.at(b, row) + i * places.step]; }
};

double dot(const Vectors& a, const Vectors& b, int64_t batch, int64_t row_a, int64_t row_b) {
  double sum = 0;
  for (int64_t i = 0; i < a.places.width; ++i) sum += a.at(batch, row_a, i) * b.at(batch, row_b, i);
  return sum;
}

double dot_of_sizes(const Vectors& a, const Vectors& b, int64_t batch, int64_t row_a, int64_t row_b) {
  double sum = 0;
  for (int64_t i = 0; i < a.places.width; ++i) sum += a.size(batch, row_a, i) * b.size(batch, row_b, i);
  return sum;
}

/// The operands of one call, and the scores of one query at a time.
class Terms {
 public:
  Terms(const KernelSite& site, const KernelRun& values, const KernelRun& sizes, size_t extras)
      : plan(site, extras), site_(site), values_(values), sizes_(sizes) {
    q = of_queries(0, {plan.dims().inner});
    k = of_memory(1, {plan.dims().inner});
    v = of_memory(2, {plan.dims().value});
    const auto count = static_cast<size_t>(plan.positions);
    scores.resize(count);
    score_sizes.resize(count);
    factors.assign(count, 1);
    std::vector<TensorType> types;
    for (const LocalTensor& operand : site.operands) types.push_back(operand.type);
    bias_ = attention_extras({site.attributes, types}, extras).bias;
    if (bias_) bias_places_ = plan.of_scores(site.operands[*bias_]);
  }

  Vectors of_queries(size_t operand, const Dims& last) const {
    return vectors(operand, plan.of_queries(site_.operands[operand], last));
  }

  void find_scores(int64_t b, int64_t query) {
    constexpr int64_t kTile = AttentionPlan::kTilePositions;
    double scores_of_tile[kTile], factors_of_tile[kTile];
    for (int64_t begin = 0; begin < plan.positions; begin += kTile) {
      const Interval columns = {begin, std::min(plan.positions, begin + kTile)};
      for (int64_t j = begin; j < columns.end; ++j) {
        scores_of_tile[j - begin] = dot(q, k, b, query, j) * plan.scale();
        score_sizes[static_cast<size_t>(j)] =
            dot_of_sizes(q, k, b, query, j) * std::abs(plan.scale()) + plan.cap() + size_of_bias(b, query, j);
      }
      if (plan.cap() > 0) cap_scores<double>({scores_of_tile, kTile, 1, columns.size()}, plan.cap(), nullptr);
      plan.finish_scores(values_, b, {query, query + 1}, columns, scores_of_tile);
      std::copy_n(scores_of_tile, columns.size(), scores.begin() + begin);
      if (!plan.has_dropout()) continue;
      plan.fill_dropout(values_, b, {query, query + 1}, columns, factors_of_tile);
      std::copy_n(factors_of_tile, columns.size(), factors.begin() + begin);
    }
  }

  template <typename Visit>
  void for_each_query(Visit visit) {
    for (int64_t b = 0; b < plan.batch; ++b)
      for (int64_t query = 0; query < plan.queries; ++query) {
        find_scores(b, query);
        visit(b, query);
      }
  }

  bool sees(size_t position) const { return scores[position] != -std::numeric_limits<double>::infinity(); }

  const AttentionPlan plan;
  Vectors q, k, v;
  std::vector<double> scores;       // of one query; -inf where it does not see the position
  std::vector<double> score_sizes;  // the magnitudes of their terms
  std::vector<double> factors;      // of dropout

 private:
  double size_of_bias(int64_t b, int64_t query, int64_t position) const {
    if (!bias_) return 0;
    return reinterpret_cast<const double*>(
        sizes_.operands[*bias_])[bias_places_.at(b, query) + position * bias_places_.step];
  }
  Vectors of_memory(size_t operand, const Dims& last) const {
    return vectors(operand, plan.of_memory(site_.operands[operand], last));
  }
  Vectors vectors(size_t operand, VectorPlaces places) const {
    return {std::move(places), reinterpret_cast<const double*>(values_.operands[operand]),
            reinterpret_cast<const double*>(sizes_.operands[operand])};
  }

  const KernelSite& site_;
  const KernelRun &values_, &sizes_;
  std::optional<size_t> bias_;
  VectorPlaces bias_places_;
};

/// The terms of a result, in which vectors lie at `places`.
struct Sums {
  Sums(const LocalTensor& result, VectorPlaces at, int64_t count)
      : places(std::move(at)),
        terms{std::vector<double>(static_cast<size_t>(result.elements())), static_cast<double>(count)} {}
  double& at(int64_t b, int64_t row, int64_t i) {
    return terms.magnitudes[static_cast<size_t>(places.at(b, row) + i * places.step)];
  }
  VectorPlaces places;
  AddedTerms terms;
};

/// The operands of a gradient, and what belongs to a query and a position at a time.
class GradientTerms : public Terms {
 public:
  using Operands = AttentionGradientOperands;
  GradientTerms(const KernelSite& site, const KernelRun& values, const KernelRun& sizes)
      : Terms(site, values, sizes, Operands::kExtras),
        given(of_queries(Operands::kGiven, {plan.dims().value})),
        total_(of_queries(Operands::kTotal, {})),
        delta_(of_queries(Operands::kDelta, {})) {}

  /// Calls `visit` with each position of the batch, query, and position of the memory that the query sees.
  template <typename Visit>
  void for_each_pair(Visit visit) {
    for_each_query([&](int64_t b, int64_t query) {
      for (int64_t j = 0; j < plan.positions; ++j) {
        const auto at = static_cast<size_t>(j);
        if (!sees(at)) continue;
        weight = std::exp(scores[at] - total_.at(b, query, 0));
        error = 1 + score_sizes[at] + total_.size(b, query, 0);
        factor = factors[at];
        const double difference = factor * dot(given, v, b, query, j) - delta_.at(b, query, 0);
        const double terms = factor * dot_of_sizes(given, v, b, query, j) + delta_.size(b, query, 0);
        of_score = weight * (error * std::abs(difference) + terms);
        visit(b, query, j);
      }
    });
  }

  const Vectors given;
  double weight = 0, factor = 0;  // of the pair, and of its dropout
  double error = 0;               // the terms of the weight, relative to it
  double of_score = 0;            // the terms of the gradient of its score

 private:
  const Vectors total_, delta_;
};

}  // namespace

std::vector<AddedTerms> attention_terms(const KernelSite& site, const KernelRun& values,
                                        const KernelRun& sizes) {
  constexpr size_t kExtras = 3;
  Terms of(site, values, sizes, kExtras);
  const AttentionPlan& plan = of.plan;
  const int64_t count = plan.dims().inner.size + plan.positions;
  Sums result(site.results[0], plan.of_queries(site.results[0], {plan.dims().value}), count);
  Sums totals(site.results[1], plan.of_queries(site.results[1], {}), count);
  std::vector<double> weights(of.scores.size()), errors(of.scores.size());
  of.for_each_query([&](int64_t b, int64_t query) {
    const double largest = *std::max_element(of.scores.begin(), of.scores.end());
    if (!std::isfinite(largest)) return;
    double sum = 0, error = 0;
    for (size_t j = 0; j < weights.size(); ++j) sum += weights[j] = std::exp(of.scores[j] - largest);
    for (size_t j = 0; j < weights.size(); ++j) {
      weights[j] /= sum;
      errors[j] = of.sees(j) ? 1 + of.score_sizes[j] + largest - of.scores[j] : 0;
      error += weights[j] * errors[j];
    }
    for (size_t j = 0; j < weights.size(); ++j)
      for (int64_t i = 0; i < of.v.places.width; ++i)
        result.at(b, query, i) +=
            of.factors[j] * weights[j] * (errors[j] + error) * of.v.size(b, static_cast<int64_t>(j), i);
    totals.at(b, query, 0) = std::abs(largest) + std::log(sum) + error;
  });
  return {std::move(result.terms), std::move(totals.terms)};
}

std::vector<AddedTerms> attention_gradient_terms(const KernelSite& site, const KernelRun& values,
                                                 const KernelRun& sizes) {
  GradientTerms of(site, values, sizes);
  const AttentionPlan& plan = of.plan;
  const int64_t inner = plan.dims().inner.size, value = plan.dims().value.size;
  const double scale = std::abs(plan.scale());
  const std::vector<int64_t> own_queries = plan.queries_in(site.results[0]);
  const Interval own_memory = plan.memory_in(site.results[1]);
  Sums of_q(site.results[0], plan.of_queries(site.results[0], {plan.dims().inner}),
            inner + value + plan.positions);
  Sums of_k(site.results[1], plan.of_memory(site.results[1], {plan.dims().inner}),
            inner + value + plan.queries);
  Sums of_v(site.results[2], plan.of_memory(site.results[2], {plan.dims().value}), inner + plan.queries);
  of.for_each_pair([&](int64_t b, int64_t query, int64_t j) {
    if (const int64_t own = own_queries[static_cast<size_t>(query)]; own >= 0)
      for (int64_t i = 0; i < inner; ++i) of_q.at(b, own, i) += scale * of.of_score * of.k.size(b, j, i);
    if (j < own_memory.begin || j >= own_memory.end) return;
    const int64_t own = j - own_memory.begin;
    for (int64_t i = 0; i < inner; ++i) of_k.at(b, own, i) += scale * of.of_score * of.q.size(b, query, i);
    for (int64_t i = 0; i < value; ++i)
      of_v.at(b, own, i) += of.factor * of.weight * (1 + of.error) * of.given.size(b, query, i);
  });
  return {std::move(of_q.terms), std::move(of_k.terms), std::move(of_v.terms)};
}

std::vector<AddedTerms> attention_bias_gradient_terms(const KernelSite& site, const KernelRun& values,
                                                      const KernelRun& sizes) {
  GradientTerms of(site, values, sizes);
  const AttentionPlan& plan = of.plan;
  const int64_t added_up =
      plan.batch * plan.queries * plan.positions / std::max<int64_t>(1, site.results[0].elements());
  Sums result(site.results[0], plan.of_scores(site.results[0]),
              plan.dims().inner.size + plan.dims().value.size + added_up);
  of.for_each_pair([&](int64_t b, int64_t query, int64_t j) { result.at(b, query, j) += of.of_score; });
  return {std::move(result.terms)};
}

}  // namespace mtfc
