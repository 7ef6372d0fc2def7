#pragma once
// Compares the hosts of a run. All of them must start the same mtfc; their processors may differ.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/processes/processes.h"

namespace mtfc {

/// The lowest rank of each node tells rank 0 these facts.
struct HostFacts {
  std::string host;
  int rank = 0;
  uint64_t program = 0;      // hash of the bytes of mtfc
  std::string instructions;  // of vectors, that kernels use: `AVX-512`
};

/// `host 'b' (rank 2) starts another mtfc than host 'a' (rank 0)`, for the first host that differs from the first of
/// all; "" if none does.
std::string program_fault(const std::vector<HostFacts>& hosts);
/// `AVX-512 on host 'a', AVX2 on host 'b' and 2 others`; "" if all are alike.
std::string instructions_text(const std::vector<HostFacts>& hosts);

/// All ranks call it. Throws AgreedError if hosts start different programs, whose ranks might wait for each other
/// forever. Says once, unless `quiet`, that processors differ.
void require_same_program(Processes& processes, bool quiet);

}  // namespace mtfc
