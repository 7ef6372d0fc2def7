#include "cmd/running/stop_agreement.h"

#include <algorithm>

#include "cmd/terminal/interrupt.h"

namespace mtfc {

bool StopAgreement::stops_after(int64_t step, double step_seconds) {
  if (processes_.size() == 1) return InterruptGuard::requested();
  if (step < next_) return false;
  const auto interval = static_cast<int64_t>(std::clamp(0.1 / std::max(step_seconds, 1e-9), 1.0, 1000.0));
  int64_t agreed[2] = {InterruptGuard::requested(), interval};
  processes_.maximum(agreed);
  next_ = step + agreed[1];
  return agreed[0] != 0;
}

}  // namespace mtfc
