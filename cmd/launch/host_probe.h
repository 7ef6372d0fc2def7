#pragma once
// Asks hosts whether ranks can be started on them.

#include <vector>

#include "cmd/launch/host_list.h"

namespace mtfc {

/// Returns for each host whether MPICH's launcher can start a process there within ten seconds. Hosts are asked again,
/// for at most 40 seconds in all, while none answers. It ends early, with any answers, if a signal asks this command to end.
std::vector<bool> which_answer(const std::vector<Host>& hosts);

}  // namespace mtfc
