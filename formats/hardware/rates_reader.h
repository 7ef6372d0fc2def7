#pragma once
// Reads measured rates from the tables that people have. The contents of a file tell which it is:
//
//   nccl-tests     the text that all_reduce_perf and its like print
//   OSU            the text of osu_allreduce, osu_latency, osu_bw and their like
//   products       CSV with the columns m, n, k and a time or a share
//   attention      CSV with the columns batch, seq, heads and a time; kv_heads and head_dim if it has them
//   collectives    CSV with the columns collective, gpus, bytes and a time; `bytes` as nccl-tests count them
//
// A time is a column us, ms or seconds; of several, such as us_a and us_b, the shortest counts. A first line that
// begins with # says where the numbers come from.

#include <map>
#include <string>

#include "core/cost/measured_rates.h"

namespace mtfc {

struct RatesOptions {
  std::map<std::string, std::string> only;  // the value that a column of a CSV file must have
  int64_t devices = 0;                      // of a text that does not say it; 0: not known
};

/// Appends the rows of a file. Throws UserError with the line of what it can't read.
void read_rates(const std::string& text, const std::string& file, const RatesOptions& options,
                MeasuredRates& rates);

}  // namespace mtfc
