#include "cmd/terminal/interrupt.h"

#include <csignal>

namespace mtfc {
namespace {

volatile std::sig_atomic_t interrupted = 0;

extern "C" void interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupted = 0;
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptGuard::requested() {
  return interrupted != 0;
}

}  // namespace mtfc
