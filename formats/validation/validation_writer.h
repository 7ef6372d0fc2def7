#pragma once
// Writes how predictions compare with published runs: as text for the terminal, as JSON, and as a page.

#include <optional>
#include <string>
#include <vector>

#include "formats/validation/validation_scores.h"

namespace mtfc {

/// An error that a source must not exceed.
struct ErrorBar {
  std::string source;
  std::string of;                    // time, median (of times), memory
  double limit = 0;                  // a share: 0.07 for 7 %
  std::optional<double> found = {};  // the error; nothing if no row tells
  bool is_missed() const { return !found || *found > limit; }
};
/// SOURCE=7, SOURCE.median=3 or SOURCE.memory=8, in percent. Throws UserError.
ErrorBar parse_error_bar(const std::string& text);
/// Sets what has been found. Throws UserError for a source that no row has.
void measure(ErrorBar& bar, const ValidationScores& scores);

/// A number of a profile that was fitted.
struct FittedKey {
  std::string key;
  double before = 0, after = 0;  // a factor of a curve has 1 before
};
struct FitSummary {
  std::vector<FittedKey> keys;
  std::vector<std::string> profiles;  // that they were written into
  std::string on;                     // COLUMN=VALUE
  std::vector<std::string> rows;      // that were fitted on: SOURCE/ID
  ErrorScore before_on, after_on, before_rest, after_rest;
  /// By source, the error of its rows with constants that were fitted on rows of other sources only.
  std::vector<std::pair<std::string, ErrorScore>> without_source = {};
};

struct ValidationReport {
  const std::vector<RowResult>& results;
  ValidationScores scores;
  std::vector<ErrorBar> bars = {};
  std::optional<FitSummary> fit = {};
  std::string command = {};  // that makes the page
};

std::string validation_text(const ValidationReport& report, size_t width);
std::string validation_json(const ValidationReport& report);
std::string validation_schema();
std::string validation_html(const ValidationReport& report);

}  // namespace mtfc
