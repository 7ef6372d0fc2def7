#pragma once
// The option --entry of subcommands that report on one entry point.

#include <functional>
#include <string>
#include <string_view>

namespace mtfc {

/// `wanted`, or where that is "" train, else evaluate. `has`: whether the model has the entry point of a name.
/// Throws UserError where it hasn't the one that is chosen.
std::string chosen_entry(const std::string& wanted, const std::function<bool(std::string_view)>& has);

}  // namespace mtfc
