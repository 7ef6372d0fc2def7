#pragma once
// The next token of a sequence from the logits of all tokens.

#include <cstdint>
#include <span>
#include <vector>

namespace mtfc {

struct SamplingOptions {
  bool greedy = false;
  double temperature = 1;  // above 0; logits are divided by it
  int64_t top_k = 0;       // only the k likeliest tokens, of equal ones the lowest; 0: all
};

/// The likeliest token, of equal ones the lowest.
int64_t likeliest(std::span<const double> logits);

/// A token drawn with the probabilities softmax(logits / temperature) gives those that `options` allow:
/// `uniform`, a number of [0, 1), decides. Logits are finite, or -infinity for what must not come.
int64_t sample_token(std::span<const double> logits, const SamplingOptions& options, double uniform);

/// log(softmax(logits)).
std::vector<double> log_probabilities(std::span<const double> logits);

}  // namespace mtfc
