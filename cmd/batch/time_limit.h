#pragma once
// Time limits as sbatch takes them.
//
//   seconds_of("90")         5400: minutes alone
//   seconds_of("12:00:00")   43200
//   seconds_of("2-12")       216000: days and hours
//   seconds_of("12h")        nothing
//   slurm_time("2h30m")      "02:30:00"

#include <cstdint>
#include <optional>
#include <string>

namespace mtfc {

/// Reads MINUTES, MINUTES:SECONDS, HOURS:MINUTES:SECONDS, DAYS-HOURS, DAYS-HOURS:MINUTES or
/// DAYS-HOURS:MINUTES:SECONDS. Returns nothing for other texts, and for a time of 0.
std::optional<int64_t> seconds_of(const std::string& time);

/// Returns the time as sbatch takes it: texts that seconds_of() reads as they are, and 1d, 2h30m or 90m, days to
/// seconds in this order, converted. Returns nothing for other texts, and for a time of 0.
std::optional<std::string> slurm_time(const std::string& time);

}  // namespace mtfc
