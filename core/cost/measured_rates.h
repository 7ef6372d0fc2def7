#pragma once
// Rates of hardware as somebody has measured them, row by row. formats/hardware/rates_reader.h reads them from the
// tables that benchmarks write, and runtime/calibrate/rate_import.h makes a profile from them.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/cost/hardware.h"
#include "core/program/collective_kinds.h"

namespace mtfc {

/// A kernel at one place of a table of its class. Either `seconds` or `share` is known, and the other is 0.
struct MeasuredKernel {
  std::vector<double> place;  // sizes of table_dims()
  double flops = 0;           // of attention, those of pairs that are seen
  double bytes = 0;           // of operands and result
  double seconds = 0;
  double share = 0;  // of the peak
};

struct MeasuredCollective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int64_t devices = 2;
  double bytes = 0;  // that a device sends
  double seconds = 0;
};

struct MeasuredRates {
  std::map<std::string, std::vector<MeasuredKernel>> kernels;  // by class
  std::vector<MeasuredCollective> collectives;
  std::map<std::string, std::string>
      sources;  // of each class, and of the collectives as "": what their files say
};

}  // namespace mtfc
