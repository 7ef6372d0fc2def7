#pragma once
// Calls of MPI that return only when other ranks have made them too: starting MPI, making a communicator or shared
// memory. Nobody can test for their end, so a thread waits beside them.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/processes/watchdog.h"

namespace mtfc {

class BlockingCall {
 public:
  /// From here until the end of this object's life, the main thread may be inside of `call` (`MPI_Init`). If that
  /// takes longer than the watchdog's limit, this says which ranks of the node are missing, and ends all ranks with
  /// exit code 1. It does so within seconds if the launcher no longer answers.
  BlockingCall(Watchdog& watchdog, const char* call);
  ~BlockingCall();
  BlockingCall(const BlockingCall&) = delete;
  BlockingCall& operator=(const BlockingCall&) = delete;

 private:
  // The ranks of this node: their pages by rank, those that are missing as a text, and whether they are all ranks.
  struct Seen {
    std::vector<ProgressPage> pages;
    std::string missing;
    bool are_all;
  };
  void watch();
  Seen look() const;
  std::string reason(const Seen& seen) const;
  [[noreturn]] void give_up(const Seen& seen, const std::string& why) const;

  Watchdog& watchdog_;
  const char* call_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace mtfc
