#pragma once
// Beam search for one sequence: at each step the likeliest continuations of the likeliest beginnings, with
// their length normalised as in GNMT (Wu et al. 2016, section 7): score = log p / ((5 + length) / 6)^alpha,
// where length counts generated tokens. alpha 0 compares plain log probabilities.
//
// The beams of a sequence share one cache, as in the flat beam search of GShard (Lepikhin et al. 2020,
// appendix A.1): beam b writes to place position * beams + b, and a mask says which places are a beam's own
// past. So no cache is ever reordered, whatever becomes of the beams; what it costs is that each beam looks
// at the places of the others and throws the result away, which is cheap where beams are few, since keys and
// values are read once for all of them.
//
//   position       0    1    2          beams 0 and 1 at position 2 both descend from beam 1 at position 1:
//   places        a b  c d  e f         seen by 0: b d e, seen by 1: b d f

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace mtfc {

struct BeamOptions {
  int64_t beams = 1;
  double alpha = 0;                                            // of length normalisation, 0 or above
  int64_t length = 1;                                          // of the longest result
  std::function<bool(const std::vector<int64_t>&)> has_ended;  // of the tokens generated so far
};

struct Hypothesis {
  std::vector<int64_t> tokens;  // generated ones
  double log_probability = 0;
  double score = 0;
};

/// What a beam becomes: the one it continues, and its next token.
struct BeamStep {
  int64_t parent = 0;
  int64_t token = 0;
};

class BeamSearch {
 public:
  explicit BeamSearch(BeamOptions options);

  /// One step, from the logits of every beam, [beams, vocabulary]: of the 2 * beams best continuations (equal
  /// ones by beam, then token) those that end are put aside, and the best others live on. In the first step
  /// only beam 0 counts, for all are equal. Where fewer live on than there are beams, the rest repeat the
  /// last of them and never count.
  std::vector<BeamStep> advance(std::span<const double> logits);
  /// No beam can become better than the results there are, or all are as long as they may be.
  bool is_done() const;
  /// At most `beams`, the best first.
  std::vector<Hypothesis> results() const;

 private:
  double score(double log_probability, size_t length) const;
  void put_aside(Hypothesis hypothesis);

  BeamOptions options_;
  std::vector<Hypothesis> live_;
  std::vector<Hypothesis> ended_;  // the best first
};

/// Which places of the shared cache each beam sees: [beams, places], 1 for its own past and present.
class BeamPast {
 public:
  BeamPast(int64_t beams, int64_t places) : beams_(beams), places_(places), seen_(bytes(), 0) {}
  /// Each beam sees its own place at `position`.
  void step(int64_t position);
  /// Beam b goes on from what `parents[b]` has seen.
  void follow(std::span<const int64_t> parents);
  std::span<const uint8_t> seen() const { return seen_; }

 private:
  size_t bytes() const { return static_cast<size_t>(beams_ * places_); }
  int64_t beams_, places_;
  std::vector<uint8_t> seen_;
};

}  // namespace mtfc
