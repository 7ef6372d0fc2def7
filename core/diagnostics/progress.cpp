#include "core/diagnostics/progress.h"

#include <utility>

namespace mtfc {
namespace {

thread_local const std::function<void(const WorkPart&)>* listener = nullptr;
thread_local std::string larger_work;  // each part of it is followed by a colon

}  // namespace

ProgressListener::ProgressListener(const std::function<void(const WorkPart&)>& hears)
    : outer_(std::exchange(listener, &hears)) {}

ProgressListener::~ProgressListener() {
  listener = outer_;
}

std::function<void(const WorkPart&)> teller_of_thread() {
  return [to = listener, larger = larger_work](const WorkPart& part) {
    if (to) (*to)({larger + part.what, part.done, part.all, part.things});
  };
}

void tell_progress(const WorkPart& part) {
  if (listener) (*listener)({larger_work + part.what, part.done, part.all, part.things});
}

LargerWork::LargerWork(const std::string& what) : before_(larger_work.size()) {
  larger_work += what + ": ";
}

LargerWork::~LargerWork() {
  larger_work.resize(before_);
}

}  // namespace mtfc
