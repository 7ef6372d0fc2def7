#pragma once
// For tests of what may be missing on a machine, such as a program or the rights of root.
//
//   if (!is_installed("fish")) return skip_without("fish", "its completion is not tested");

#include <string>

namespace mtfc {

/// Says that a test is skipped because `need` is missing, and what is not tested then. It fails instead if the environment
/// variable MTFC_REQUIRE_ALL is set, as scripts/test.sh sets it, unless MTFC_MAY_LACK names the need: `slurm,digits`.
void skip_without(const std::string& need, const std::string& consequence);

}  // namespace mtfc
