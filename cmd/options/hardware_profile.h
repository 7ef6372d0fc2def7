#pragma once
// The profile that --hardware names: a bundled one, or a file.

#include <optional>
#include <string>
#include <vector>

#include "core/cost/hardware.h"
#include "core/diagnostics/error.h"
#include "core/tensors/layout.h"

namespace mtfc {

class CommandLine;

/// Adds --hardware. Its default is what `hardware` holds.
void add_hardware_option(CommandLine& line, std::string& hardware);

/// Adds --hardware for a command that predicts no times. Plans are chosen for this hardware, or by their cost if the
/// option is not given.
void add_plan_hardware_option(CommandLine& line, std::optional<std::string>& hardware);

/// Throws UserError if the hardware profile is to be read from standard input, and the model or a layout too.
void require_one_reader(const std::optional<std::string>& hardware, const std::string& model,
                        const std::optional<std::string>& layout);

/// Reads the bundled profile of that name, or a file: a name with a '/' or that ends in .json, or `-` for standard input.
/// Throws UserError.
Hardware hardware_profile(const std::string& name);
/// Returns the text of that profile. parsed_profile(name, profile_text(name)) is hardware_profile(name).
std::string profile_text(const std::string& name);
Hardware parsed_profile(const std::string& name, const std::string& text);
std::optional<Hardware> hardware_profile(const std::optional<std::string>& name);

/// A warning if a single rank has measured the profile, and the mesh has several devices; of several layouts, the first such.
std::optional<Diagnostic> unmeasured_links_warning(const Hardware& hardware, const Mesh& mesh);
std::optional<Diagnostic> unmeasured_links_warning(const Hardware& hardware,
                                                   const std::vector<Layout>& layouts);

}  // namespace mtfc
