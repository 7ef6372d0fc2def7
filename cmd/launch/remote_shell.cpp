#include "cmd/launch/remote_shell.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace mtfc {
namespace {

constexpr const char* kArguments = "HYDRA_LAUNCHER_EXTRA_ARGS";
// The launcher cuts the arguments at spaces. Questions are sent through ssh after each second of silence; the server's
// process for the connection must answer the fourth within a second.
constexpr std::string_view kLimits = "-oConnectTimeout=5 -oServerAliveInterval=1 -oServerAliveCountMax=4";
// A resource manager with one of these variables starts ranks its own way, if the user does not name the launcher.
constexpr std::array kManagers{"SLURM_JOBID",  "SLURM_JOB_ID",   "SLURM_NODELIST", "PBS_NODEFILE",
                               "PBS_JOBID",    "LSB_HOSTS",      "LSB_JOBID",      "LSB_MCPU_HOSTS",
                               "PE_HOSTFILE",  "JOB_ID",         "LOADL_STEP_ID",  "LOADL_HOSTFILE",
                               "COBALT_JOBID", "COBALT_NODEFILE"};

bool is_set(const char* name) {
  return std::getenv(name) != nullptr;
}

bool uses_ssh() {
  for (const char* name : {"HYDRA_LAUNCHER", "HYDRA_BOOTSTRAP"})
    if (const char* launcher = std::getenv(name)) return std::string_view(launcher) == "ssh";
  return std::none_of(kManagers.begin(), kManagers.end(), is_set);
}

}  // namespace

void limit_waits_of_ssh() {
  if (!uses_ssh()) return;
  const char* own = std::getenv(kArguments);
  std::string arguments = own ? own : "";
  if (arguments.find(kLimits) != std::string::npos) return;
  if (!arguments.empty()) arguments += ' ';
  setenv(kArguments, (arguments += kLimits).c_str(), 1);
}

}  // namespace mtfc
