#pragma once
// The profile that --hardware names: a bundled one, or a file.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/hardware.h"
#include "core/diagnostics/error.h"
#include "core/tensors/layout.h"

namespace mtfc {

class CommandLine;

/// The profile where none is given: it is like no machine, so that the models that it can't hold say nothing of a
/// cluster.
inline constexpr const char* kInventedProfile = "local";

/// The names of the bundled profiles, in ascending order.
std::vector<std::string> bundled_profiles();

/// Adds --hardware. Its default is what `hardware` holds.
void add_hardware_option(CommandLine& line, std::string& hardware);

/// Adds --hardware for a command that predicts no times. Plans are chosen for this hardware, or by their cost if the
/// option is not given.
void add_plan_hardware_option(CommandLine& line, std::optional<std::string>& hardware);
/// Adds --hardware without a default, and with the help of the command.
void add_optional_hardware(CommandLine& line, std::optional<std::string>& hardware, const std::string& help);

/// Throws UserError if the hardware profile is to be read from standard input, and the model or a layout too.
void require_one_reader(const std::optional<std::string>& hardware, const std::string& model,
                        const std::optional<std::string>& layout);

/// Reads the bundled profile of that name, or a file: a name with a '/' or that ends in .json, or `-` for standard
/// input. Throws UserError.
Hardware hardware_profile(const std::string& name);
/// Returns a text that read_hardware() reads as that profile, without any other file.
std::string profile_text(const std::string& name);
std::optional<Hardware> hardware_profile(const std::optional<std::string>& name);

/// `'local' is an invented core; ...` and which profiles have more, if the profile is the invented one, and `available`
/// is the memory of its devices; otherwise "".
std::string larger_profiles(int64_t needed, int64_t available, const Hardware& hardware);

/// A warning if a layout that needs `needed` bytes on a device does not fit into `available`, 0 for no limit.
std::optional<Diagnostic> too_large_warning(int64_t needed, int64_t available, const Hardware& hardware);

/// A warning if a single rank has measured the profile, and the mesh has several devices; of several layouts, the first
/// such.
std::optional<Diagnostic> unmeasured_links_warning(const Hardware& hardware, const Mesh& mesh);
std::optional<Diagnostic> unmeasured_links_warning(const Hardware& hardware,
                                                   const std::vector<Layout>& layouts);

}  // namespace mtfc
