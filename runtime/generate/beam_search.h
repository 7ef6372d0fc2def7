#pragma once
// Beam search for one sequence. At each step it keeps the likeliest continuations of the likeliest
// beginnings, with their length normalised as in GNMT (Wu et al. 2016, section 7): score = log p / ((5 +
// length) / 6)^alpha, where length counts generated tokens. With alpha 0, plain log probabilities are
// compared. A continuation that ends is a result even where it is less likely than all beams that go on: the best
// result of one beam may therefore be shorter than the greedy sequence. If there are as many beams as results are
// possible, the search finds them all.
//
// The beams of a sequence share one cache, as in the flat beam search of GShard (Lepikhin et al. 2020,
// appendix A.1): beam b writes to place position * beams + b, and a mask says which places are a beam's own
// past. So no cache is ever reordered, whichever beams survive. The cost is that each beam also computes with
// the places of the others and discards the result, which is cheap for few beams, since keys and values are
// read once for all of them.
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
  double alpha = 0;                                            // exponent of length normalisation, >= 0
  int64_t length = 1;                                          // maximum length of a result
  std::function<bool(const std::vector<int64_t>&)> has_ended;  // called with the tokens generated so far
};

struct Hypothesis {
  std::vector<int64_t> tokens;  // generated tokens only
  double log_probability = 0;
  double score = 0;
};

/// The continuation of a beam: the beam that it extends, and its next token.
struct BeamStep {
  int64_t parent = 0;
  int64_t token = 0;
};

class BeamSearch {
 public:
  explicit BeamSearch(BeamOptions options);

  /// Advances one step, given the logits of every beam, [beams, vocabulary]. Among the 2 * beams best
  /// continuations (ties are ordered by beam, then token), all that end are put aside, and the best `beams` of the
  /// others live on. Continuations of probability 0 do not count. In the first step only beam 0 counts, because all
  /// beams are equal. If fewer live on than there are beams, the rest repeat the last of them and never count.
  std::vector<BeamStep> advance(std::span<const double> logits);
  /// True if no beam can become better than the results, or all beams have the maximum length.
  bool is_done() const;
  /// At most `beams` hypotheses, the best first.
  std::vector<Hypothesis> results() const;

 private:
  double score(double log_probability, size_t length) const;
  void put_aside(Hypothesis hypothesis);

  BeamOptions options_;
  std::vector<Hypothesis> live_;
  std::vector<Hypothesis> ended_;  // the best first
};

/// The places of the shared cache that each beam sees: [beams, places], 1 for its own past and present.
class BeamPast {
 public:
  BeamPast(int64_t beams, int64_t places) : beams_(beams), places_(places), seen_(bytes(), 0) {}
  /// Makes each beam see its own place at `position`.
  void step(int64_t position);
  /// Makes beam b continue from what `parents[b]` has seen.
  void follow(std::span<const int64_t> parents);
  /// Makes all beams see the first beam's places of `count` positions, in which a prompt stands.
  void read_prompt(int64_t count);
  std::span<const uint8_t> seen() const { return seen_; }

 private:
  size_t bytes() const { return static_cast<size_t>(beams_ * places_); }
  int64_t beams_, places_;
  std::vector<uint8_t> seen_;
};

}  // namespace mtfc
