#pragma once
// Runs the entry point `decode` position by position: tokens in, logits out, with caches kept in between.
//
// There may be several entry points of that name, which differ only in the number of places of their caches.
// The decoder begins with the smallest and moves on to larger ones as the sequence grows, so that early
// tokens do not attend to all the places that late ones will need.
//
// Caches may hold tensors of the model, such as the keys and values that an encoder gives. The entry point `encode`
// computes these once for the sequences that begin. If there is an entry point `prompt`, it fills the caches for
// many positions at once.
//
// Tokens have the shape [sequences, beams]; a dimension that the model lacks counts as 1. All ranks make the
// same calls, and each fills and reads what its devices hold.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/compute/team.h"
#include "runtime/execute/executor.h"

namespace mtfc {

class Decoder {
 public:
  /// The executor must outlive it.
  explicit Decoder(Executor& executor);

  /// The entry point `encode`; nullptr if no cache holds a tensor of the model.
  const EntryPoint* encode() const { return encode_; }
  /// Prepares the entry points that a sequence begins with, so that begin() takes no longer for the first one.
  void prepare();
  /// Begins new sequences at position 0: zeroes the caches, and computes what caches hold, after `fill_inputs` has
  /// filled the inputs of `encode`, which is then loaded. The caches persist until another entry point runs.
  void begin(const std::function<void()>& fill_inputs = {});

  /// The number of positions that read_prompt() can read; 0 without the entry point `prompt`.
  int64_t prompt_positions() const { return prompt_positions_; }
  /// Fills the caches as `count` steps from position 0 would, in which all beams of a sequence have the same tokens.
  /// Each key and value stands in the place of beam 0. Called after begin(); `tokens`: [sequences, count], count at
  /// most prompt_positions().
  void read_prompt(std::span<const int64_t> tokens, int64_t count);

  int64_t sequences() const { return sequences_; }
  int64_t beams() const { return beams_; }
  int64_t vocabulary() const { return vocabulary_; }
  /// Places of the caches per sequence; 0 if decode has no input `seen`.
  int64_t places() const { return places_; }

  /// Runs one position of all sequences. `seen`: [sequences, beams, places] if decode has that input.
  void step(int64_t position, std::span<const int64_t> tokens, std::span<const uint8_t> seen);
  /// The logits of a sequence's beams at the position of the last step: [beams, vocabulary]. They are valid until the
  /// next call. Throws RunError for NaN and +infinity.
  std::span<const double> logits(int64_t sequence) const;

 private:
  const EntryPoint& decode() const { return *entries_[current_]; }
  // The caches of an entry point, each with the contents of its shards, device by device.
  struct SavedShard {
    LocalShard shard;  // its data may since have been overwritten
    std::vector<std::byte> bytes;
  };
  using SavedCaches = std::map<std::string, std::vector<SavedShard>>;
  SavedCaches saved(const EntryPoint& entry) const;
  template <typename Copy>
  void start_with(const SavedCaches& caches, Copy copy);
  void start(const SavedCaches& caches);
  void start_after_prompt(const SavedCaches& caches, int64_t count);
  void move_on();
  template <typename Value>
  void fill(std::string_view input, std::span<const Value> values);
  template <typename Value>
  void fill(const EntryPoint& entry, const Binding& input, std::span<const Value> values);

  Executor& executor_;
  std::unique_ptr<Team> team_;              // if a step computes so little that starting threads takes long
  std::vector<const EntryPoint*> entries_;  // in ascending order of their places
  const EntryPoint* encode_ = nullptr;      // if any cache holds a tensor of the model
  const EntryPoint* prompt_ = nullptr;
  int64_t prompt_positions_ = 0;
  size_t current_ = 0;
  int64_t sequences_ = 1, beams_ = 1, vocabulary_ = 0, places_ = 0;
  int64_t position_ = 0;
  mutable std::vector<double> logits_;
};

}  // namespace mtfc
