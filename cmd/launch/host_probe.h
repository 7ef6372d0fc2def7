#pragma once
// Asks hosts whether ranks can be started on them.

#include <vector>

#include "cmd/launch/host_list.h"

namespace mtfc {

/// Returns for each host whether MPICH's launcher can start a process there within ten seconds. While none answers,
/// they are asked again, until 40 seconds have passed. It ends early, with any answers, if a signal asks this command
/// to end.
std::vector<bool> which_answer(const std::vector<Host>& hosts);

}  // namespace mtfc
