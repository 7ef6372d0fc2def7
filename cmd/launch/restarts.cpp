#include "cmd/launch/restarts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>

#include "cmd/launch/execution.h"
#include "cmd/launch/host_probe.h"
#include "cmd/launch/launch.h"
#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

// Between a failure and the next start, so that what has failed for a moment may recover.
constexpr std::chrono::seconds kPause{1};

// The hosts that answer after a failure, and the mesh that they have room for.
struct Remains {
  std::vector<Host> hosts;
  Mesh mesh;
  std::string what;  // tells the user what is missing; "" if nothing is
};

Remains remains_of(const Restarts& restarts, const std::vector<Host>& hosts, const std::vector<bool>& answers,
                   const Mesh& mesh) {
  Remains left{{}, mesh, ""};
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (answers[i])
      left.hosts.push_back(hosts[i]);
    else
      left.what += fmt::format("{}host '{}' does not answer", left.what.empty() ? "" : ", ", hosts[i].name);
  }
  if (left.hosts.size() == hosts.size()) return left;
  if (left.hosts.empty()) throw RunError("no host answers any more");
  const int64_t ranks = room(left.hosts);
  if (ranks >= mesh.devices()) return left;
  left.mesh = shortened(mesh, ranks);
  if (left.mesh.axes().empty())
    throw RunError(fmt::format("{}, and the mesh {} can't be shortened to {} {}", left.what, to_string(mesh),
                               ranks, ranks == 1 ? "rank" : "ranks"));
  left.what += fmt::format(", so the mesh is {} now", to_string(left.mesh));
  try {
    restarts.require_mesh(left.mesh);
  } catch (const UserError& error) {
    throw RunError(fmt::format("{}, which the model does not allow: {}", left.what, error.what()));
  }
  return left;
}

// Replaces --mesh, and continues from the last checkpoint.
std::vector<std::string> resuming(std::vector<std::string> arguments, const Mesh& mesh,
                                  const Mesh& first_mesh) {
  if (std::find(arguments.begin(), arguments.end(), "--resume") == arguments.end())
    arguments.emplace_back("--resume");
  if (mesh == first_mesh) return arguments;
  arguments = without_options(arguments, {"--mesh"});
  arguments.push_back("--mesh=" + to_string(mesh));
  return arguments;
}

}  // namespace

Mesh shortened(const Mesh& mesh, int64_t ranks) {
  Mesh best;
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
    std::vector<Axis> axes = mesh.axes();
    axes[axis].size = std::min(axes[axis].size, ranks / (mesh.devices() / axes[axis].size));
    if (axes[axis].size == 0) continue;
    const Mesh one(axes);
    if (best.axes().empty() || one.devices() > best.devices()) best = one;
  }
  return best;
}

int run_with_restarts(const Restarts& restarts) {
  Launch launch{restarts.arguments, restarts.mesh.devices(), {}, restarts.quiet};
  std::vector<Host> hosts = restarts.hosts;
  Mesh mesh = restarts.mesh;
  if (!hosts.empty()) launch.hosts = placed(hosts, launch.ranks);
  // A host has room for as many ranks as it has at first, if the user does not say more.
  if (room(hosts) < 0) hosts = launch.hosts;
  for (int64_t restart = 1;; ++restart) {
    lseek(STDIN_FILENO, 0, SEEK_SET);  // the ranks read again what a file has offered them there
    const int code = launch_ranks(launch);
    if (code != kExitRunFailed || restart > restarts.most) return code;
    std::this_thread::sleep_for(kPause);
    const std::vector<bool> answers = which_answer(hosts);
    if (const int signal = pending_interrupt(); signal != 0) return end_interrupted(signal);
    const Remains left = remains_of(restarts, hosts, answers, mesh);
    std::cerr << fmt::format("mtfc: restart {} of {}{}{}\n", restart, restarts.most,
                             left.what.empty() ? "" : ": ", left.what);
    hosts = left.hosts;
    mesh = left.mesh;
    launch.arguments = resuming(restarts.arguments, mesh, restarts.mesh);
    launch.ranks = mesh.devices();
    launch.quiet = true;  // the user has been warned
    if (!hosts.empty()) launch.hosts = placed(hosts, launch.ranks);
  }
}

}  // namespace mtfc
