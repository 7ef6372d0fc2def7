#include "cmd/terminal/status_line.h"

namespace mtfc {

void StatusLine::show(const std::string& text) {
  if (place_ == Place::kTerminal) {
    out_ << "\r\033[K" << text << std::flush;
    is_shown_ = true;
  }
  const auto now = std::chrono::steady_clock::now();
  if (place_ != Place::kFile || now - last_ < patience_) return;
  out_ << text << std::endl;
  last_ = now;
}

void StatusLine::clear() {
  if (is_shown_) out_ << "\r\033[K" << std::flush;
  is_shown_ = false;
}

}  // namespace mtfc
