#include "cmd/terminal/work_watch.h"

#include <fmt/format.h>

#include <atomic>
#include <ctime>

#include "formats/text/quantity.h"

namespace mtfc {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<WorkWatch*> current = nullptr;

// How long this process has computed, on all cores.
std::chrono::nanoseconds computed() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

std::string work_text(const WorkPart& part, int64_t seconds) {
  const std::string count =
      part.all > 0 ? fmt::format(": {} of {} {}", grouped(part.done), grouped(part.all), part.things) : "";
  return fmt::format("{}{}, {} s", part.what, count, seconds);
}

WorkWatch::WorkWatch(std::ostream& out, StatusLine::Place place, const Times& times)
    : times_(times),
      place_(place),
      start_(Clock::now()),
      line_(out, place, std::chrono::milliseconds(0)),
      hears_([this](const WorkPart& part) { hear(part); }),
      listener_(hears_) {
  if (place_ == StatusLine::Place::kNowhere) return;
  thread_ = std::thread([this] { show_lines(); });
  current = this;
}

WorkWatch::~WorkWatch() {
  if (!thread_.joinable()) return;
  current = nullptr;
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
  }
  ends_.notify_all();
  thread_.join();
}

void WorkWatch::make_way() {
  WorkWatch* const watch = current;
  if (!watch) return;
  const std::lock_guard lock(watch->mutex_);
  watch->line_.clear();
  watch->has_way_ = false;
}

void WorkWatch::hear(const WorkPart& part) {
  const std::lock_guard lock(mutex_);
  part_ = part;
  has_way_ = true;
}

bool WorkWatch::is_due(Clock::time_point now) const {
  if (place_ == StatusLine::Place::kTerminal) return now - start_ >= times_.first;
  if (was_shown_) return now - shown_ >= times_.between;
  return now - start_ >= times_.first && (computed() >= times_.first || now - start_ >= times_.between);
}

void WorkWatch::show_lines() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, times_.look, [this] { return is_done_; })) {
    const Clock::time_point now = Clock::now();
    if (!has_way_ || !is_due(now)) continue;
    line_.show(work_text(part_, std::chrono::duration_cast<std::chrono::seconds>(now - start_).count()));
    shown_ = now;
    was_shown_ = true;
  }
}

}  // namespace mtfc
