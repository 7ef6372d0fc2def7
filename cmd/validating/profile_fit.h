#pragma once
// Fits few numbers of a hardware profile to the step times of rows: the mean absolute logarithm of prediction over
// measurement is made small, one number after the other, by steps that are halved. Programs are compiled once.

#include <string>
#include <vector>

#include "cmd/validating/row_predictions.h"
#include "formats/validation/validation_writer.h"

namespace mtfc {

/// More numbers than this would fit anything.
inline constexpr size_t kMostFitted = 7;

struct ProfileFitOptions {
  std::vector<std::string> keys;  // paths (formats/hardware/profile_numbers.h)
  std::string on;                 // COLUMN=VALUE
};

struct FittedProfile {
  FitSummary summary;
  std::string text;  // of the profile
};

/// Fits the profile of the rows that match, which must be one, and leaves it in `profiles`. Afterwards, `predictions`
/// are those of the fitted profile. Throws UserError.
FittedProfile fit_profile(RowPredictions& predictions, RowProfiles& profiles,
                          const ProfileFitOptions& options);

}  // namespace mtfc
