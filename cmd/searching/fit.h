#pragma once
// `mtfc search --fit`: what fits into the memory of a device.

#include <cstdint>
#include <optional>
#include <string>

#include "cmd/options/hardware_profile.h"
#include "cmd/options/model_options.h"

namespace mtfc {

/// The options that every search has.
struct SearchArguments {
  ModelOptions model;
  LayoutFlags layout;              // for --fit, a mesh with open sizes is tried on each number of devices
  std::optional<int64_t> devices;  // for --fit, the most; powers of two up to it are tried
  std::string format = "table";
  std::string hardware = kInventedProfile;  // a bundled profile or a file
  std::string file;                         // for the best layout; "" for none, - for standard output
  int64_t memory_limit = 0;                 // 0: the hardware's memory
  int64_t threads = 0;                      // 0: one per core
  std::optional<int64_t> time_limit;        // seconds
};
size_t thread_count(const SearchArguments& arguments);

/// Returns the exit code: 1 where nothing fits. Throws UserError for bad arguments.
int run_fit(const SearchArguments& arguments);

}  // namespace mtfc
