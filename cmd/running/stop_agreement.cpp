#include "cmd/running/stop_agreement.h"

#include <algorithm>
#include <chrono>

#include "cmd/terminal/interrupt.h"

namespace mtfc {
namespace {

constexpr double kAsking = 0.05;  // seconds between questions
constexpr int64_t kLongest = 100;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

// The interval grows slowly and shrinks at once, since a step may take far longer than those before it.
AgreedOrders StopAgreement::after_step() {
  InterruptGuard::get_on();
  orders_.saves = false;
  if (processes_.size() > 1 && step_++ < next_) return orders_;
  const double time = now(), each = (time - asked_) / static_cast<double>(interval_);
  const auto fitting =
      static_cast<int64_t>(std::clamp(kAsking / std::max(each, 1e-9), 1.0, static_cast<double>(kLongest)));
  int64_t agreed[4] = {InterruptGuard::signal(), InterruptGuard::saves_requested(), InterruptGuard::is_late(),
                       -std::min(fitting, 2 * interval_)};
  processes_.maximum(agreed);
  asked_ = now();
  interval_ = -agreed[3];
  next_ = step_ + interval_ - 1;
  orders_ = {static_cast<int>(agreed[0]), agreed[1] > saves_, agreed[2] != 0};
  saves_ = static_cast<int>(agreed[1]);
  return orders_;
}

int StopAgreement::after_long_work() {
  return static_cast<int>(processes_.maximum(InterruptGuard::signal()));
}

}  // namespace mtfc
