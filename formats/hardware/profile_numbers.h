#pragma once
// Single numbers of a hardware profile in its JSON, by their paths, for whoever fits them to measurements.
//
//   step_overhead_s   flops/bf16   axes/*/latency_s   topology/inside/bytes_per_s   numbers
//   efficiency/einsum   memory_bandwidth                                           curves and tables, scaled as a whole

#include <string>
#include <string_view>

namespace mtfc {

/// The number at the path; 1 for a curve or a table. Throws UserError for a path that is not in the profile.
double profile_number(std::string_view profile, const std::string& path);

/// The profile with what is at the path multiplied by `factor`. Shares of the peak stay at most 1. A number that the
/// profile lacks, and one that is 0, is first made a small one. Throws UserError for a path that leads to no number.
std::string scaled_profile(std::string_view profile, const std::string& path, double factor);

/// The profile with another `doc`.
std::string documented_profile(std::string_view profile, const std::string& doc);

}  // namespace mtfc
