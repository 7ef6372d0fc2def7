#pragma once
// Says how far a long command is: in one line that is rewritten on a terminal, in a line now and then elsewhere.

#include <chrono>
#include <ostream>
#include <string>

namespace mtfc {

class StatusLine {
 public:
  enum class Place { kNowhere, kTerminal, kFile };
  /// In a file, each line comes `patience` or more after the one before it, and the first one as long after the start.
  StatusLine(std::ostream& out, Place place, std::chrono::milliseconds patience = std::chrono::seconds(20))
      : out_(out), place_(place), patience_(patience) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Not by several threads at a time.
  void show(const std::string& text);
  /// Removes the line from a terminal, so that something else can be printed.
  void clear();

 private:
  std::ostream& out_;
  Place place_;
  std::chrono::milliseconds patience_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool is_shown_ = false;
};

}  // namespace mtfc
