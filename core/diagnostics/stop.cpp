#include "core/diagnostics/stop.h"

#include <utility>

namespace mtfc {
namespace {

thread_local const std::function<bool()>* innermost = nullptr;

}  // namespace

StopScope::StopScope(const std::function<bool()>& stops) : outer_(std::exchange(innermost, &stops)) {}

StopScope::~StopScope() {
  innermost = outer_;
}

const std::function<bool()>* stops_of_thread() {
  return innermost;
}

void check_stop() {
  if (innermost && (*innermost)()) throw Stopped{};
}

}  // namespace mtfc
