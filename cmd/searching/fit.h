#pragma once
// `mtfc search --fit`: what fits into the memory of a device.

#include <cstdint>
#include <optional>
#include <string>

#include "cmd/options/model_options.h"

namespace mtfc {

struct FitArguments {
  ModelOptions model;
  LayoutFlags layout;              // a mesh with open sizes is tried on each number of devices
  std::optional<int64_t> devices;  // the most; powers of two up to it are tried
  std::string hardware;            // a bundled profile or a file
  std::string format;              // table, json or csv
  std::string file;                // for the first layout that fits; "" for none, - for standard output
  int64_t memory_limit = 0;        // 0: the hardware's memory
  size_t threads = 1;
  std::optional<int64_t> time_limit;  // seconds
};

/// Returns the exit code: 1 where nothing fits. Throws UserError for bad arguments.
int run_fit(const FitArguments& arguments);

}  // namespace mtfc
