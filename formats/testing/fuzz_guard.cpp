#include "formats/testing/fuzz_guard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>

#include "core/testing/sanitized.h"

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): a name of the sanitizers
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace mtfc {
namespace {

constexpr unsigned kLongest = 60;  // seconds until the process is ended
// Seconds of processor time. Compiling transformer_encdec takes 7 with sanitizers, and less than one without.
constexpr double kSlow = kSanitized ? 30 : 5;
constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM};
volatile uint64_t watched = 0;

void print_seed() {
  char text[64];
  const auto end = fmt::format_to_n(text, sizeof text, "\ncrashed or too slow: seed {}\n", uint64_t{watched});
  [[maybe_unused]] const ssize_t written = write(2, text, end.size);
}

void crash(int signal) {
  print_seed();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

FuzzGuard::FuzzGuard() {
  getrlimit(RLIMIT_AS, &memory_before_);
  if (__sanitizer_set_death_callback) {
    __sanitizer_set_death_callback(print_seed);
  } else {
    rlimit little = memory_before_;
    little.rlim_cur = rlim_t{2} << 30;
    setrlimit(RLIMIT_AS, &little);
    for (const int signal : kCrashes) std::signal(signal, crash);
  }
  std::signal(SIGALRM, crash);
}

FuzzGuard::~FuzzGuard() {
  alarm(0);
  setrlimit(RLIMIT_AS, &memory_before_);
  for (const int signal : kCrashes) std::signal(signal, SIG_DFL);
}

void FuzzGuard::watch(uint64_t seed) {
  watched = seed;
  begin_ = std::clock();
  alarm(kLongest);
}

std::string FuzzGuard::too_slow() const {
  const double seconds = static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC;
  return seconds > kSlow ? fmt::format(" took {:.1f} s of processor time", seconds) : "";
}

}  // namespace mtfc
