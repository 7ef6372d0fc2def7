#pragma once
// The values of a hardware profile, one by one, with their origins: for people, and to say which of them have none.
//
//   flops/bf16            312 TFLOP/s                            the data sheet
//   efficiency/einsum     20 % to 85 % over sizes 100 M to 10 G  assumed

#include <string>
#include <vector>

#include "core/cost/hardware.h"

namespace mtfc {

struct ProfileValue {
  std::string path;         // in the file, such as "axes/*/bytes_per_s"
  std::string text;         // with its unit; the range of a curve or a table
  std::string source;       // "" if the profile names none
  bool is_default = false;  // a file may leave it out
};

/// In the order of the keys of a profile.
std::vector<ProfileValue> profile_values(const Hardware& hardware);

}  // namespace mtfc
