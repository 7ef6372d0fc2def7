// mtfc: the process, and the place that catches errors. Ranks catch theirs in cmd/launch/ranks.h, since
// they show them before MPI ends.

#include <exception>

#include "cmd/command.h"
#include "cmd/launch/launch.h"
#include "cmd/launch/rank_channel.h"
#include "cmd/terminal/error_text.h"
#include "cmd/terminal/interrupt.h"
#include "cmd/terminal/lost_files.h"
#include "cmd/terminal/standard_output.h"
#include "core/diagnostics/error.h"

/// Read by jemalloc before main(), unless the environment has MALLOC_CONF. With huge pages, a compilation takes two
/// thirds of the time on a virtual machine, where page faults are expensive. With an arena for each processor, the
/// threads of a search, which come and go, use memory again that is there.
const char* malloc_conf = "thp:always,percpu_arena:percpu";

int main(int argc, char** argv) {
  using namespace mtfc;
  try {
    hold_standard_streams();
    use_rank_channel();
    watch_interrupts(is_terminal(2));
    watch_mapped_files();
    watch_standard_output();
    const int code = run_command_line({argv + 1, argv + argc});
    flush_standard_output();
    return code;
  } catch (const std::exception& error) {
    show_error(error);
    return exit_code(error);
  }
}
