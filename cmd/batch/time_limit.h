#pragma once
// Time limits as sbatch takes them.
//
//   seconds_of("90")         5400: minutes alone
//   seconds_of("12:00:00")   43200
//   seconds_of("2-12")       216000: days and hours
//   seconds_of("12h")        nothing

#include <cstdint>
#include <optional>
#include <string>

namespace mtfc {

/// Reads MINUTES, MINUTES:SECONDS, HOURS:MINUTES:SECONDS, DAYS-HOURS, DAYS-HOURS:MINUTES or
/// DAYS-HOURS:MINUTES:SECONDS. Returns nothing for other texts, and for a time of 0.
std::optional<int64_t> seconds_of(const std::string& time);

}  // namespace mtfc
