#pragma once
// Ctrl-C reaches ranks at different steps; they stop after the same one.

#include <cstdint>

#include "runtime/processes/processes.h"

namespace mtfc {

/// Decides, alike on all ranks, whether an interrupt (cmd/terminal/interrupt.h) ends the run. Asking costs a
/// message, so the ranks ask each other about ten times a second.
class StopAgreement {
 public:
  explicit StopAgreement(Processes& processes) : processes_(processes) {}

  /// Every rank must call it after every step. `step_seconds`: how long this one took here.
  bool stops_after(int64_t step, double step_seconds);

 private:
  Processes& processes_;
  int64_t next_ = 0;
};

}  // namespace mtfc
