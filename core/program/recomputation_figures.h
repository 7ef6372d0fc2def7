#pragma once
// The figures of a program whose backward pass computes tensors again so that it fits into memory.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace mtfc {

/// The recomputation that makes a program fit. Bytes are those of a device, seconds those of the busiest one.
struct Recomputation {
  std::map<std::string, int64_t, std::less<>> tensors;  // that are computed again, and the bytes of each
  double seconds = 0;                                   // of the operations that run again
  double least_seconds = 0;                             // no choice that fits takes less
  bool is_best = false;                                 // none takes less than `seconds`
  double step_s = 0;                                    // the predicted step ...
  double step_before_s = 0;                             // ... and that of the program that does not fit
  int64_t memory = 0;                                   // the peak ...
  int64_t memory_before = 0;                            // ... and that of the program that does not fit
  int64_t least_memory = 0;                             // no choice needs less
};

}  // namespace mtfc
