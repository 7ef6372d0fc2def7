#pragma once
// Generation: the ranks' work between a prompt and its continuation.
//
// The rank that speaks has the prompts and chooses the tokens. At each position one message tells the others
// the next token of every sequence, and also agrees on whether a signal stops them. So ranks can't disagree on a
// token, even if their processors differ in the last bit of a logit.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/program/program.h"
#include "runtime/execute/executor.h"
#include "runtime/generate/beam_search.h"
#include "runtime/generate/sampling.h"

namespace mtfc {

struct GenerationOptions {
  SamplingOptions sampling;
  int64_t samples = 1;        // sequences per prompt
  int64_t beams = 0;          // 0: no beam search
  double alpha = 0;           // exponent of beam search's length normalisation
  int64_t length = 1;         // tokens to generate
  std::vector<int64_t> stop;  // a sequence ends with these tokens; empty: never
  uint64_t seed = 0;
};

/// The result of one sequence.
struct Generated {
  size_t prompt = 0;
  std::vector<int64_t> tokens;  // generated tokens only
  std::optional<double> score;  // from beam search
};

struct GenerationResult {
  std::vector<Generated>
      sequences;          // by prompt, then by sample or, best first, by beam; empty on ranks that do not
                          // speak
  int64_t positions = 0;  // steps taken
  double seconds = 0;
  int signal = 0;  // the one that has ended it early; 0: none
};

/// Called for every token of the first sequence as it is chosen; not with beam search, whose result is known
/// only at the end.
using TokenSink = std::function<void(int64_t token)>;

/// Runs `decode` from position 0 on. `prompts` is used on the rank that speaks; none may be empty, and the
/// program must have enough sequences and beams for them. All ranks call it.
GenerationResult generate(Executor& executor, const std::vector<std::vector<int64_t>>& prompts,
                          const GenerationOptions& options, const TokenSink& sink);

}  // namespace mtfc
