#pragma once
// Compares the logits that `decode` gives position by position, with its caches, with those that the model's own
// operations give for all positions at once: they are two descriptions of the same model.
//
//   forward   tokens [batch, length]    logits [batch, length, vocab], those of position t from tokens 0, …, t
//   decode    token [batch] at t        logits [batch, vocab]
//
// Other inputs of the model, such as the sentence to translate, are those of `encode`; both are given the same.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "runtime/execute/executor.h"

namespace mtfc {

/// The model's own way to its logits, the only output of `evaluate`.
struct ForwardLogits {
  std::string tokens;      // the input that decode is given token by token; all others are inputs of `encode`
  std::string position;    // the dimension of the tokens that counts positions
  std::string vocabulary;  // the dimension of the logits that the tokens lack
  std::map<std::string, int64_t> ids =
      {};  // how many ids an input of `encode` has; by default as many as tokens
};

struct LogitDifference {
  int64_t position = 0, sequence = 0, beam = 0, token = 0;
  double decoded = 0, expected = 0, allowed = 0;
};

struct DecodeComparison {
  int64_t positions = 0;
  std::optional<LogitDifference> first;
  double largest = 0;  // difference, relative to the largest logit
};

/// Draws new values for all float variables of `executor`, near those that they have. Afterwards, no variable is
/// without effect because it is 0 or 1, as biases and scales are at first.
void disturb_variables(Executor& executor, uint64_t seed);
/// Copies the variables of one executor to those of the same name of another one, which may divide them in another
/// way.
void copy_variables(Executor& from, Executor& to);

/// Compares `decode` with `evaluate` of `forward` at the first `positions` positions of random tokens, up to a
/// difference of `tolerance` relative to the largest logit. If the program has the entry point `prompt`, it compares
/// them once more after half of the positions have been read at once. The variables are left as they are.
DecodeComparison compare_decode(Executor& forward, Executor& decode, const ForwardLogits& names,
                                int64_t positions, double tolerance);

}  // namespace mtfc
