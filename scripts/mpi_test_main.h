#pragma once
// The processes of a test program that runs under the launcher: MPI is started once for all its tests.

#include "runtime/processes.h"

namespace mtfc {

Processes& test_processes();

}  // namespace mtfc
