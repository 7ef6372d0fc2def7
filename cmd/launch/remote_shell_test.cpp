#include "cmd/launch/remote_shell.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

namespace mtfc::remote_shell_test {
namespace {

constexpr const char* kArguments = "HYDRA_LAUNCHER_EXTRA_ARGS";

// Returns the arguments that the launcher would pass to its remote shell.
std::string arguments_with(const char* launcher, const char* slurm_job, const char* own) {
  for (const auto& [name, value] :
       {std::pair("HYDRA_LAUNCHER", launcher), {"SLURM_JOB_ID", slurm_job}, {kArguments, own}}) {
    if (value)
      setenv(name, value, 1);
    else
      unsetenv(name);
  }
  limit_waits_of_ssh();
  limit_waits_of_ssh();
  const char* arguments = std::getenv(kArguments);
  const std::string text = arguments ? arguments : "";
  for (const char* name : {"HYDRA_LAUNCHER", "SLURM_JOB_ID", kArguments}) unsetenv(name);
  return text;
}

TEST_CASE("ssh is told not to wait for hosts that do not answer, and other remote shells are not") {
  const std::string limits = "-oConnectTimeout=5 -oServerAliveInterval=1 -oServerAliveCountMax=4";
  CHECK(arguments_with(nullptr, nullptr, nullptr) == limits);
  CHECK(arguments_with(nullptr, nullptr, "-oServerAliveInterval=60 -4") ==
        "-oServerAliveInterval=60 -4 " + limits);
  CHECK(arguments_with(nullptr, "7", nullptr) == "");
  CHECK(arguments_with("ssh", "7", nullptr) == limits);
  CHECK(arguments_with("rsh", nullptr, "-n") == "-n");
}

}  // namespace
}  // namespace mtfc::remote_shell_test
