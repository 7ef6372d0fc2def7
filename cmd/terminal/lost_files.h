#pragma once
// Data files that become shorter while a command reads them, or that the disk fails to give. They are mapped into
// memory, so that reading raises SIGBUS, which would end the process without a word.

namespace mtfc {

/// From now on, SIGBUS in a mapped file ends the process, and all ranks, with one line that names the file, and exit
/// code 1. Any other SIGBUS has its effect as before. Called by main() after watch_interrupts().
void watch_mapped_files();

}  // namespace mtfc
