#pragma once
// Chooses the next token of a sequence from the logits of all tokens.

#include <cstdint>
#include <span>
#include <vector>

namespace mtfc {

struct SamplingOptions {
  bool greedy = false;
  double temperature = 1;  // above 0; logits are divided by it
  int64_t top_k = 0;       // consider only the k likeliest tokens, the lowest first among equals; 0: all
};

/// The likeliest token, the lowest among equals.
int64_t likeliest(std::span<const double> logits);

/// Draws a token with the probabilities softmax(logits / temperature) over the tokens that `options` allow.
/// `uniform`, a number in [0, 1), decides. Logits are finite, or -infinity for tokens that must not come.
int64_t sample_token(std::span<const double> logits, const SamplingOptions& options, double uniform);

/// log(softmax(logits)).
std::vector<double> log_probabilities(std::span<const double> logits);

}  // namespace mtfc
