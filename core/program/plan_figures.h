#pragma once
// The cost by which plans are compared without a hardware profile. It depends on nothing but the program, so plans are
// the same on every machine:
//
//   bytes sent per device + 32 KiB per collective + einsum flops per device / 16
//
// With a profile, the cost is the predicted time of all kernels and collectives, one after the other.

#include <cstdint>
#include <string>

namespace mtfc {

inline constexpr int64_t kPlanBytesPerCollective = 32 * 1024;
inline constexpr int64_t kPlanFlopsPerByte = 16;

/// The quality of a chosen plan (core/plan/choose_plan.h), in bytes, rounded down; in nanoseconds, if it was chosen
/// for some hardware.
struct PlanFigures {
  int64_t cost = 0;
  int64_t bound = 0;          // no plan of the same candidates costs less
  std::string hardware = "";  // the name of the profile, or ""
  bool operator==(const PlanFigures&) const = default;
};

}  // namespace mtfc
