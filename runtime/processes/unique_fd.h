#pragma once
// A file descriptor that has one owner and is closed with it, also while an error unwinds.

#include <unistd.h>

#include <utility>

namespace mtfc {

class UniqueFd {
 public:
  /// Takes over `number`; negative: none, as a call of the system that failed returns it.
  explicit UniqueFd(int number = -1) : number_(number) {}
  ~UniqueFd() { reset(); }
  UniqueFd(UniqueFd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  /// Closes it before its owner goes.
  void reset() {
    if (number_ >= 0) close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

}  // namespace mtfc
