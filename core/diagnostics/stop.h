#pragma once
// Ends long work of a thread early.

#include <functional>

namespace mtfc {

/// Thrown by check_stop(). No error: whoever has made the StopScope catches it.
struct Stopped {};

/// While it exists, check_stop() asks `stops` in this thread, which must outlive it. Scopes of a thread may be nested;
/// the innermost counts.
class StopScope {
 public:
  explicit StopScope(const std::function<bool()>& stops);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const std::function<bool()>* outer_;
};

/// The function that check_stop() asks in this thread, or nullptr.
const std::function<bool()>* stops_of_thread();

/// Called now and then by work that may take seconds. Throws Stopped if the scope of this thread says so; does nothing
/// without a scope.
void check_stop();

}  // namespace mtfc
