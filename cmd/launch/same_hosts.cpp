#include "cmd/launch/same_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

#include "core/diagnostics/enum_names.h"
#include "core/tensors/random_bits.h"
#include "runtime/compute/vector_targets.h"
#include "runtime/processes/job.h"

namespace mtfc {
namespace {

uint64_t hash_of_program() {
  std::ostringstream bytes;
  bytes << std::ifstream("/proc/self/exe", std::ios::binary).rdbuf();
  return hash_bytes(bytes.view());
}

constexpr EnumName<VectorLevel> kInstructions[] = {
    {VectorLevel::kAvx512, "AVX-512"}, {VectorLevel::kAvx2, "AVX2"}, {VectorLevel::kPlain, "narrow vectors"}};

std::vector<HostFacts> facts_of(const std::vector<std::string>& lines) {
  std::vector<HostFacts> hosts;
  for (const std::string& line : lines) {
    if (line.empty()) continue;
    HostFacts facts;
    std::istringstream words(line);
    words >> facts.host >> facts.rank >> facts.program;
    std::getline(words >> std::ws, facts.instructions);
    hosts.push_back(std::move(facts));
  }
  return hosts;
}

}  // namespace

std::string program_fault(const std::vector<HostFacts>& hosts) {
  for (const HostFacts& one : hosts)
    if (one.program != hosts[0].program)
      return fmt::format(
          "host '{}' (rank {}) starts another mtfc than host '{}' (rank {}); install the same on all hosts",
          one.host, one.rank, hosts[0].host, hosts[0].rank);
  return "";
}

std::string instructions_text(const std::vector<HostFacts>& hosts) {
  std::vector<std::pair<const HostFacts*, int64_t>>
      kinds;  // the first host of each kind, and how many there are
  for (const HostFacts& one : hosts) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& other) {
      return other.first->instructions == one.instructions;
    });
    if (kind == kinds.end())
      kinds.emplace_back(&one, 1);
    else
      ++kind->second;
  }
  if (kinds.size() < 2) return "";
  std::string text;
  for (const auto& [first, count] : kinds)
    text += fmt::format("{}{} on host '{}'{}", text.empty() ? "" : ", ", first->instructions, first->host,
                        count == 1   ? ""
                        : count == 2 ? " and another"
                                     : fmt::format(" and {} others", count - 1));
  return text;
}

void require_same_program(Processes& processes, bool quiet) {
  if (!processes.has_several_nodes()) return;
  std::string own;
  if (processes.leads_node())
    own = fmt::format("{} {} {} {}", host_name(), processes.rank(), hash_of_program(),
                      name_in(kInstructions, vector_level()));
  const std::vector<HostFacts> hosts = facts_of(processes.gather(own));
  std::string fault = processes.is_root() ? program_fault(hosts) : "";
  processes.broadcast(fault);
  if (!fault.empty()) throw AgreedError(fault);
  const std::string differing = processes.is_root() && !quiet ? instructions_text(hosts) : "";
  if (!differing.empty())
    std::cerr << fmt::format(
        "mtfc: warning: the processors of the hosts differ ({}): results are those of equal hosts to "
        "rounding, and each step takes as long as on the slowest\n",
        differing);
}

}  // namespace mtfc
