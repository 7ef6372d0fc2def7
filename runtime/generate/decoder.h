#pragma once
// Runs the entry point `decode` position by position: tokens in, logits out, caches kept in between.
//
// There may be several entry points of that name, alike but for the places of their caches: it begins with
// the one of the fewest and moves on to larger ones as the sequence grows, so that early tokens do not look
// at all the places that late ones will need.
//
// Tokens are of [sequences, beams], either of which may be 1 for want of a dimension. All ranks call
// everything alike; each fills and reads what its devices hold.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/execute/executor.h"

namespace mtfc {

class Decoder {
 public:
  /// Caches are zero from here on, and hold until another entry point runs. The executor must outlive it.
  explicit Decoder(Executor& executor);

  int64_t sequences() const { return sequences_; }
  int64_t beams() const { return beams_; }
  int64_t vocabulary() const { return vocabulary_; }
  /// Of the caches, per sequence; 0 where decode has no input `seen`.
  int64_t places() const { return places_; }

  /// One position of all sequences. `seen`: [sequences, beams, places] where decode has that input.
  void step(int64_t position, std::span<const int64_t> tokens, std::span<const uint8_t> seen);
  /// Of the beams of a sequence at the position of the last step: [beams, vocabulary]. Throws RunError for
  /// NaN and +infinity.
  std::vector<double> logits(int64_t sequence) const;

 private:
  const EntryPoint& decode() const { return *entries_[current_]; }
  void move_on();
  template <typename Value>
  void fill(std::string_view input, std::span<const Value> values);

  Executor& executor_;
  std::vector<const EntryPoint*> entries_;  // by their places
  size_t current_ = 0;
  int64_t sequences_ = 1, beams_ = 1, vocabulary_ = 0, places_ = 0;
  int64_t position_ = 0;
};

}  // namespace mtfc
