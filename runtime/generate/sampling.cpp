#include "runtime/generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

// The k likeliest tokens in ascending order; all of them if k is 0 or at least their number.
std::vector<int64_t> candidates(std::span<const double> logits, int64_t k) {
  std::vector<int64_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), int64_t{0});
  if (k == 0 || k >= static_cast<int64_t>(tokens.size())) return tokens;
  const auto likelier = [&](int64_t a, int64_t b) {
    const double x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  std::nth_element(tokens.begin(), tokens.begin() + k, tokens.end(), likelier);
  tokens.resize(static_cast<size_t>(k));
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

double largest(std::span<const double> logits) {
  double most = logits[0];
#pragma omp simd reduction(max : most)
  for (size_t i = 0; i < logits.size(); ++i) most = logits[i] > most ? logits[i] : most;
  return most;
}

}  // namespace

int64_t likeliest(std::span<const double> logits) {
  // Two passes over vectors take a tenth of the time of one that notes the place as it goes.
  const double most = largest(logits);
  return std::find(logits.begin(), logits.end(), most) - logits.begin();
}

int64_t sample_token(std::span<const double> logits, const SamplingOptions& options, double uniform) {
  check_invariant(!logits.empty(), "a token is drawn from an empty vocabulary");
  if (options.greedy) return likeliest(logits);
  const double most = largest(logits);
  const std::vector<int64_t> tokens = candidates(logits, options.top_k);
  std::vector<double> weights;
  for (const int64_t token : tokens)
    weights.push_back(std::exp((logits[static_cast<size_t>(token)] - most) / options.temperature));
  const double wanted = uniform * std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  int64_t last = likeliest(logits);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (weights[i] == 0) continue;
    sum += weights[i];
    last = tokens[i];
    if (wanted < sum) break;
  }
  return last;
}

std::vector<double> log_probabilities(std::span<const double> logits) {
  const double most = largest(logits);
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - most);
  const double log_sum = most + std::log(sum);
  std::vector<double> found;
  for (const double logit : logits) found.push_back(logit - log_sum);
  return found;
}

}  // namespace mtfc
