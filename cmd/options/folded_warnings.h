#pragma once
// Warnings that differ only in the numbers of layers, as one.
//
//   'layer_0/y' does not run in turns, 'layer_1/y' does not run in turns
//   ->  'layer_{0,1}/y' does not run in turns (2 warnings)

#include <vector>

#include "core/diagnostics/error.h"

namespace mtfc {

/// Warnings and notes whose messages and hints are the same but for the numbers of repetitions in quoted names become
/// one, in the place of the first, whose location it has. Errors stay as they are.
std::vector<Diagnostic> folded_warnings(const std::vector<Diagnostic>& warnings);

}  // namespace mtfc
