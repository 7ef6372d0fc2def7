#pragma once
// The ssh by which MPICH's launcher starts ranks on other hosts.

namespace mtfc {

/// Makes ssh, where the launcher uses it, give up a host that does not answer for five to six seconds, from its first
/// attempt to connect on. By itself, ssh waits for minutes, and the launcher for ssh. What the user's
/// HYDRA_LAUNCHER_EXTRA_ARGS say comes first, which decides in ssh. It changes the environment, and may be called
/// again.
void limit_waits_of_ssh();

}  // namespace mtfc
