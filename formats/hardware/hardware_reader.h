#pragma once
// Hardware profiles as JSON, in both directions. `mtfc schema hardware` describes the same format.
//
//   {"name": "slow-box", "base": "box", "axes": {"*": {"bytes_per_s": 1e9}}}
//
// is the profile `box`, read from a file of its own, with another name and other bytes_per_s.

#include <functional>
#include <string>
#include <string_view>

#include "core/cost/hardware.h"

namespace mtfc {

struct ProfileFile {
  std::string text;
  std::string file;  // for messages, and for the names in it
};

/// Finds the profile that is called `name` in `file`. Throws UserError if there is none.
using FindProfile = std::function<ProfileFile(const std::string& name, const std::string& file)>;
/// Finds none.
ProfileFile no_profile(const std::string& name, const std::string& file);

/// Throws UserError with all that is wrong. `file` is for messages, `find` for the profile that `base` names.
Hardware read_hardware(std::string_view text, const std::string& file, const FindProfile& find = no_profile);

/// Returns JSON that read_hardware reads back as the same profile, without a base. Numbers have four significant
/// digits.
std::string hardware_json(const Hardware& hardware);
/// The same with all digits.
std::string exact_hardware_json(const Hardware& hardware);

}  // namespace mtfc
