#include "cmd/terminal/lost_files.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "cmd/terminal/interrupt.h"
#include "core/diagnostics/error.h"
#include "formats/json/mapped_file.h"

namespace mtfc {
namespace {

struct sigaction action_before;  // UCX sets a handler that prints a stack

char last_words[4096];
size_t last_length = 0;

void add_words(const char* text) {
  // There is room for the end of the line.
  for (; *text != '\0' && last_length + 2 < sizeof last_words; ++text) last_words[last_length++] = *text;
}

// Any other SIGBUS: without a handler that was there before, the access is repeated, and ends the process.
void pass_on(int signal, siginfo_t* info, void* context) {
  if (action_before.sa_flags & SA_SIGINFO) return action_before.sa_sigaction(signal, info, context);
  if (action_before.sa_handler != SIG_DFL && action_before.sa_handler != SIG_IGN)
    return action_before.sa_handler(signal);
  sigaction(SIGBUS, &action_before, nullptr);
  if (info->si_code <= 0) raise(signal);  // a process has sent it, so that no access is repeated
}

// It calls nothing that a signal handler must not call.
void handle_bus_error(int signal, siginfo_t* info, void* context) {
  const LostFile lost = info->si_code > 0 ? lost_file_at(info->si_addr) : LostFile{};
  if (!lost.shown) return pass_on(signal, info, context);
  static std::atomic_flag is_told;
  while (is_told.test_and_set()) pause();  // another thread has come first
  add_words("mtfc: error: '");
  add_words(lost.shown);
  add_words(lost.is_shorter ? "' has become shorter while it was read"
                            : "' can't be read any more: Input/output error");
  end_from_handler(last_words, kExitRunFailed);
  last_words[last_length++] = '\n';
  if (write(STDERR_FILENO, last_words, last_length) < 0) _exit(kExitRunFailed);
  _exit(kExitRunFailed);
}

}  // namespace

void watch_mapped_files() {
  struct sigaction action = {};
  action.sa_sigaction = handle_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, &action_before);
}

}  // namespace mtfc
