#pragma once
// Generation: the ranks' work between a prompt and its continuation.
//
// A program has room for so many sequences. If there are more, they are made in several rounds. A model that reads
// sources (cmd/generating/sources.h) makes one sequence for each row of these; several samples of a row come from
// rounds of their own, which read the same rows again.
//
// Rank 0 has the prompts and chooses the tokens. At each position one message tells the others
// the next token of every sequence, and also agrees on whether a signal stops them. So ranks can't disagree on a
// token, even if their processors differ in the last bit of a logit.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cmd/generating/sources.h"
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

/// The prompts and sources that sequences begin with.
struct Beginnings {
  std::vector<std::vector<int64_t>> prompts;  // used on rank 0; none is empty
  size_t prompt_count = 0;                    // known on every rank
  std::optional<EncodeData> sources = {};     // with one prompt for all rows, or one for each
};

/// The result of one sequence.
struct Generated {
  size_t beginning = 0;         // the number of its row, or else of its prompt
  std::vector<int64_t> tokens;  // generated tokens only
  std::optional<double> score;  // from beam search
};

struct GenerationResult {
  // By beginning, then by sample or, best first, by beam. Empty on ranks that do not speak. A generation that a signal
  // has ended early lacks sequences that it has not begun.
  std::vector<Generated> sequences;
  int64_t positions = 0;         // steps taken
  double seconds = 0;            // without those of prompts that are read at once
  int64_t prompt_positions = 0;  // read at once, in all rounds
  double prompt_seconds = 0;
  int signal = 0;  // the one that has ended it early; 0: none
};

/// All are called on rank 0, and may be empty.
struct GenerationObserver {
  /// Every token of the first sequence, as it is chosen. Beam search knows its result only at the end, and calls
  /// nothing.
  std::function<void(int64_t token)> token;
  /// After each round: how many of all sequences are complete.
  std::function<void(int64_t done, int64_t all)> round;
};

/// Runs `decode`, and `encode` before it if the program has that. All ranks call it. Throws UserError and RunError for
/// sources that do not fit.
GenerationResult generate(Executor& executor, const Beginnings& beginnings, const GenerationOptions& options,
                          const GenerationObserver& observer);

}  // namespace mtfc
