#pragma once
// A signal reaches ranks at different steps; they stop, or save, after the same one.

#include <cstdint>

#include "runtime/processes/processes.h"

namespace mtfc {

/// The orders that all ranks follow after a step.
struct AgreedOrders {
  int signal = 0;        // the one that ends the run (cmd/terminal/interrupt.h); 0: none
  bool saves = false;    // a checkpoint was asked for
  bool is_late = false;  // there is little time left to end
};

/// Decides, alike on all ranks, what signals make the run do. Asking costs a message, so the ranks ask each other about
/// twenty times a second.
class StopAgreement {
 public:
  explicit StopAgreement(Processes& processes) : processes_(processes) {}

  /// Every rank must call it after every piece of work: a step, or a batch of an evaluation.
  AgreedOrders after_step();
  /// Returns the signal that ends the run, as AgreedOrders does, and always asks. Every rank must call it after work
  /// that may have taken long.
  int after_long_work();

 private:
  Processes& processes_;
  int64_t step_ = 0, next_ = 0;
  int64_t interval_ = 1;  // steps between questions
  double asked_ = 0;      // when, in seconds
  int saves_ = 0;         // done
  AgreedOrders orders_;
};

}  // namespace mtfc
