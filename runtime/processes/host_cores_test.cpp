#include "runtime/processes/host_cores.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace mtfc::host_cores_test {
namespace {

cpu_set_t threads_from(int first, int end) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int thread = first; thread < end; ++thread) CPU_SET(thread, &set);
  return set;
}

// As in `0 1 4`.
std::string text_of(const cpu_set_t& set) {
  std::string text;
  for (int thread = 0; thread < CPU_SETSIZE; ++thread)
    if (CPU_ISSET(thread, &set)) text += (text.empty() ? "" : " ") + std::to_string(thread);
  return text;
}

std::vector<std::string> shares(const HostCores& host, int parts) {
  std::vector<std::string> all;
  for (int part = 0; part < parts; ++part) all.push_back(text_of(host.share(part, parts)));
  return all;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("the hardware threads of a core count as one core") {
  const HostCores host(threads_from(0, 16), "numa:2 core:4 pu:2");
  CHECK(host.cores() == 8);
  CHECK(host.hardware_threads() == 16);
  CHECK(host.memories() == 2);
}

TEST_CASE("only cores count that ranks may use, as in a control group or under taskset") {
  const HostCores half(threads_from(8, 16), "numa:2 core:4 pu:2");
  CHECK(half.cores() == 4);
  CHECK(half.memories() == 1);
  CHECK(shares(half, 2) == Texts{"8 9 10 11", "12 13 14 15"});
  const HostCores one_thread(threads_from(5, 6), "numa:2 core:4 pu:2");
  CHECK(one_thread.cores() == 1);
  CHECK(shares(one_thread, 1) == Texts{"5"});
}

TEST_CASE("shares are whole cores of one part of the memory where the numbers allow it") {
  const HostCores host(threads_from(0, 16), "numa:2 core:4 pu:2");
  CHECK(shares(host, 2) == Texts{"0 1 2 3 4 5 6 7", "8 9 10 11 12 13 14 15"});
  CHECK(shares(host, 4) == Texts{"0 1 2 3", "4 5 6 7", "8 9 10 11", "12 13 14 15"});
  CHECK(shares(host, 8) == Texts{"0 1", "2 3", "4 5", "6 7", "8 9", "10 11", "12 13", "14 15"});
  // Each of three shares has two or three of the eight cores.
  CHECK(shares(host, 3) == Texts{"0 1 2 3", "4 5 6 7 8 9", "10 11 12 13 14 15"});
}

TEST_CASE("shares have no core in common where some hardware threads of a core may not be used") {
  const HostCores host(threads_from(0, 3), "core:2 pu:2");
  CHECK(host.cores() == 2);
  CHECK(host.hardware_threads() == 3);
  CHECK(shares(host, 2) == Texts{"0 1", "2"});
}

TEST_CASE("a host that hwloc cannot describe has a core for each hardware thread") {
  const HostCores host(threads_from(2, 8), "no description");
  CHECK(host.cores() == 6);
  CHECK(shares(host, 3) == Texts{"2 3", "4 5", "6 7"});
}

TEST_CASE("this host has cores, and all of them are in its shares") {
  cpu_set_t usable;
  REQUIRE(sched_getaffinity(0, sizeof usable, &usable) == 0);
  const HostCores host(usable);
  REQUIRE(host.cores() >= 1);
  CHECK(host.hardware_threads() == CPU_COUNT(&usable));
  cpu_set_t seen;
  CPU_ZERO(&seen);
  for (int core = 0; core < host.cores(); ++core) {
    const cpu_set_t share = host.share(core, host.cores());
    cpu_set_t both;
    CPU_AND(&both, &seen, &share);
    CHECK(CPU_COUNT(&both) == 0);
    CPU_OR(&seen, &seen, &share);
  }
  CHECK(CPU_EQUAL(&seen, &usable));
}

}  // namespace mtfc::host_cores_test
