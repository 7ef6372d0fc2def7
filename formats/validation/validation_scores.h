#pragma once
// How predictions compare with rows of published runs: by source, by band of efficiency, and by group of rows that do
// the same work.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/validation/published_rows.h"

namespace mtfc {

/// A row and its prediction; or the feature that mtfc lacks for it.
struct RowResult {
  PublishedRow row;
  std::string refused_for;  // "": it is predicted
  std::string reason;
  double seconds = 0;
  std::map<std::string, double> parts_s;  // that `seconds` consist of; what overlaps is negative
  double bytes = 0;                       // of the stage whose memory the row states
  double most_bytes = 0;                  // of any stage
  double device_bytes = 0;                // that programs may use; 0: not known
  double useful_s = 0;                    // at the peak rate of all devices
  bool has_outside_stages = false;

  bool is_predicted() const { return refused_for.empty(); }
  bool has_time() const {
    return is_predicted() && row.status == RowStatus::kOk && row.seconds && *row.seconds > 0;
  }
  bool has_memory() const {
    return is_predicted() && row.status == RowStatus::kOk && row.memory_bytes && *row.memory_bytes > 0;
  }
  /// 0.1 if the prediction is 10 % above what was measured.
  double time_error() const { return seconds / *row.seconds - 1; }
  double memory_error() const { return bytes / *row.memory_bytes - 1; }
  bool fits() const { return device_bytes <= 0 || most_bytes <= device_bytes; }
  /// The share of the peak rate that the run has reached.
  double efficiency() const { return useful_s / *row.seconds; }
};

struct ErrorScore {
  int64_t count = 0;
  double median = 0, mean = 0, largest = 0;  // of absolute errors
  double bias = 0;                           // the mean error
  double within_tenth = 0;                   // the share whose error is at most 10 %
};
ErrorScore error_score(std::vector<double> errors);

/// Rows that fit or do not, as predicted, by how they ended.
struct FitScore {
  int64_t ok_fits = 0, ok_exceeds = 0;
  int64_t oom_fits = 0, oom_exceeds = 0;  // out of memory, or failed for a reason that is not known
};

/// Groups of rows with times.
struct PickScore {
  int64_t groups = 0;
  int64_t good = 0;  // the fastest by prediction took at most 5 % longer than the fastest
  double worst = 0;  // how much longer it took, at most
  double rank = 0;   // the mean share of pairs of rows, 5 % or more apart, that are in the right order
};

/// The bands of efficiency at whose lower ends rows change the band.
inline constexpr double kEfficiencyBands[] = {0, 0.05, 0.2, 0.35};

struct SourceScore {
  std::string source;
  int64_t rows = 0, predicted = 0, outside_stages = 0;
  bool is_simulated = false;
  std::map<std::string, int64_t> refused;  // by feature
  ErrorScore time;
  std::vector<ErrorScore> time_by_band;  // one for each of kEfficiencyBands
  PickScore picks;
  ErrorScore memory;
  FitScore fit;
};

struct ValidationScores {
  SourceScore all;  // without simulated rows
  std::vector<SourceScore> sources;
  std::vector<size_t> worst;  // the rows whose times err most, the worst first; those below 5 % come last
};
ValidationScores validation_scores(const std::vector<RowResult>& results, size_t worst);

}  // namespace mtfc
