#include "runtime/processes/process_memory.h"

#include <fstream>
#include <string>

namespace mtfc {

int64_t proportional_memory() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("Pss:", 0) == 0) return std::stoll(line.substr(4)) * 1024;
  return 0;
}

}  // namespace mtfc
