#pragma once
// Ctrl-C and SIGTERM as a request to stop after the current step.

namespace mtfc {

/// Takes over SIGINT and SIGTERM while it lives; a second signal ends the process at once.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  static bool requested();
};

}  // namespace mtfc
