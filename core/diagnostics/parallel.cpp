#include "core/diagnostics/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/diagnostics/progress.h"
#include "core/diagnostics/stop.h"

namespace mtfc {
namespace {

thread_local size_t allowed_threads = 1;

}  // namespace

void each_in_parallel(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  std::vector<std::exception_ptr> failures(count);
  std::atomic<size_t> next = 0;
  const auto run = [&] {
    const ThreadScope alone(1);
    for (size_t i = next++; i < count; i = next++) try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
  };
  {
    std::vector<std::jthread> others;
    for (size_t t = 1; t < std::min(threads, count); ++t) others.emplace_back(run);
    run();
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

ThreadScope::ThreadScope(size_t threads) : outer_(std::exchange(allowed_threads, threads)) {}

ThreadScope::~ThreadScope() {
  allowed_threads = outer_;
}

void each_in_parallel(size_t count, const std::function<void(size_t)>& work) {
  const std::function<bool()>* const stops = stops_of_thread();
  const std::function<void(const WorkPart&)> tells = teller_of_thread();
  const std::thread::id caller = std::this_thread::get_id();
  each_in_parallel(count, allowed_threads, [&](size_t i) {
    if (std::this_thread::get_id() == caller) return work(i);
    const ProgressListener listener(tells);
    std::optional<StopScope> scope;
    if (stops) scope.emplace(*stops);
    work(i);
  });
}

}  // namespace mtfc
