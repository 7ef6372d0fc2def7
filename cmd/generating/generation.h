#pragma once
// Generating: what the ranks do between a prompt and its continuation.
//
// The rank that speaks has the prompts and chooses the tokens; at each position it tells the others what
// every sequence goes on with, in one message that also agrees on whether to stop (Ctrl-C). So the ranks
// can't disagree on a token, whatever their processors make of the last bit of a logit.

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
  double alpha = 0;           // of its length normalisation
  int64_t length = 1;         // tokens to generate
  std::vector<int64_t> stop;  // a sequence ends with these tokens; empty: never
  uint64_t seed = 0;
};

/// What has become of one sequence.
struct Generated {
  size_t prompt = 0;
  std::vector<int64_t> tokens;  // generated ones
  std::optional<double> score;  // of beam search
};

struct GenerationResult {
  std::vector<Generated>
      sequences;          // by prompt, then by sample or, best first, by beam; none where others speak
  int64_t positions = 0;  // steps taken
  double seconds = 0;
  bool interrupted = false;
};

/// Called for every token of the first sequence as it is chosen; not with beam search, which knows at the
/// end.
using TokenSink = std::function<void(int64_t token)>;

/// Runs `decode` from position 0 on. `prompts` counts on the rank that speaks; none is empty, and the
/// program's sequences and beams suffice for them. All ranks call it.
GenerationResult generate(Executor& executor, const std::vector<std::vector<int64_t>>& prompts,
                          const GenerationOptions& options, const TokenSink& sink);

}  // namespace mtfc
