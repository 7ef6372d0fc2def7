#pragma once
// The progress of a thread's long work, for whoever shows it to a user who waits.
//
//   trying change 3: choosing the plan of train: 1,200 of 5,400 operations

#include <cstdint>
#include <functional>
#include <string>

namespace mtfc {

/// One part of long work: `choosing the plan of train`. It has gone through `done` of `all` things, such as
/// operations.
struct WorkPart {
  std::string what;
  int64_t done = 0, all = 0;  // 0: not known
  const char* things = "";    // `operations`
};

/// While it exists, all that work of this thread tells goes to `hears`, which must outlive it. Listeners of a thread
/// may be nested; the innermost counts.
class ProgressListener {
 public:
  explicit ProgressListener(const std::function<void(const WorkPart&)>& hears);
  ~ProgressListener();
  ProgressListener(const ProgressListener&) = delete;
  ProgressListener& operator=(const ProgressListener&) = delete;

 private:
  const std::function<void(const WorkPart&)>* outer_;
};

/// Tells what it is given as this thread would now. Other threads may call it while what listens to this one is there.
std::function<void(const WorkPart&)> teller_of_thread();

/// Called by work that may take seconds, now and then. Does nothing if nobody listens.
void tell_progress(const WorkPart& part);

/// While it exists, what is told is a part of some larger work, which this names.
class LargerWork {
 public:
  explicit LargerWork(const std::string& what);
  ~LargerWork();
  LargerWork(const LargerWork&) = delete;
  LargerWork& operator=(const LargerWork&) = delete;

 private:
  size_t before_;
};

}  // namespace mtfc
