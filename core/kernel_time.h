#pragma once
// What one run of a kernel step takes on the busiest device, and what of it the hardware's peaks explain.

#include <cstdint>

#include "core/hardware.h"
#include "core/program.h"

namespace mtfc {

struct KernelTime {
  double overhead_s = 0;
  double compute_s = 0;  // operations at the rates of their classes
  double memory_s = 0;   // bytes touched
  double peak_s = 0;     // operations at peak
  int64_t bytes = 0;     // touched

  double seconds() const { return overhead_s + (compute_s > memory_s ? compute_s : memory_s); }
};

/// Of a step of kind kKernel, kFused or kSlice.
KernelTime kernel_time(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Hardware& hardware);

}  // namespace mtfc
