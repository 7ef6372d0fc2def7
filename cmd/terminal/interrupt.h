#pragma once
// Turns Ctrl-C and SIGTERM into a request to stop after the current step.

namespace mtfc {

/// Takes over SIGINT and SIGTERM during its lifetime; a second signal ends the process at once.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  static bool requested();
};

}  // namespace mtfc
