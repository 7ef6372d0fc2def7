#include "cmd/validating/profile_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <functional>
#include <set>

#include "core/diagnostics/progress.h"
#include "formats/hardware/hardware_reader.h"
#include "formats/hardware/profile_numbers.h"

namespace mtfc {
namespace {

constexpr double kFirstStep = 0.4, kLastStep = 0.01;  // of logarithms
constexpr double kLeastGain = 1e-5;                   // of the mean, for another round of the same steps

using RowTest = std::function<bool(const PublishedRow&)>;

// The errors of the rows that are predicted and for which `wanted` holds.
ErrorScore score_of(const RowPredictions& predictions, const RowTest& wanted) {
  std::vector<double> errors;
  for (const RowResult& result : predictions.results())
    if (result.has_time() && result.row.kind != RowKind::kSimulated && wanted(result.row))
      errors.push_back(result.time_error());
  return error_score(std::move(errors));
}

class ProfileFit {
 public:
  ProfileFit(RowPredictions& predictions, RowProfiles& profiles, std::string hardware,
             std::vector<std::string> keys, std::string start)
      : predictions_(predictions),
        profiles_(profiles),
        hardware_(std::move(hardware)),
        keys_(std::move(keys)),
        start_(std::move(start)) {}

  /// Logarithms of factors, in the order of the keys.
  std::vector<double> best(const RowTest& on) {
    std::vector<double> factors(keys_.size(), 0);
    double least = loss(factors, on);
    for (double step = kFirstStep; step >= kLastStep;) {
      bool is_better = false;
      for (double& factor : factors)
        for (const double way : {step, -step}) {
          factor += way;
          tell_progress(
              {fmt::format("fitting {} numbers, {:.2f} % off", keys_.size(), 100 * least), ++tries_});
          const double found = loss(factors, on);
          is_better = is_better || found < least - kLeastGain;
          if (found < least)
            least = found;
          else
            factor -= way;
        }
      if (!is_better) step /= 2;
    }
    use(factors);
    predictions_.price([](const PublishedRow&) { return true; });
    return factors;
  }

  std::string text(const std::vector<double>& factors) const {
    std::string profile = start_;
    for (size_t i = 0; i < keys_.size(); ++i)
      if (factors[i] != 0) profile = scaled_profile(profile, keys_[i], std::exp(factors[i]));
    return profile;
  }

 private:
  void use(const std::vector<double>& factors) {
    profiles_.replace(hardware_, read_hardware(text(factors), "the fitted profile"));
  }

  double loss(const std::vector<double>& factors, const RowTest& on) {
    use(factors);
    predictions_.price(on);
    double sum = 0, count = 0;
    for (const RowResult& result : predictions_.results()) {
      if (!result.has_time() || !on(result.row)) continue;
      sum += std::abs(std::log1p(result.time_error()));
      ++count;
    }
    return count > 0 ? sum / count : 0;
  }

  RowPredictions& predictions_;
  RowProfiles& profiles_;
  const std::string hardware_;
  const std::vector<std::string> keys_;
  const std::string start_;
  int64_t tries_ = 0;
};

std::string fit_doc(const Hardware& hardware, const FitSummary& fit) {
  std::string numbers;
  for (const FittedKey& key : fit.keys)
    numbers += fmt::format("{}{} from {:.4g} to {:.4g}", numbers.empty() ? "" : ", ", key.key, key.before,
                           key.after);
  return fmt::format(
      "{}{}Fitted by mtfc validate --fit on {} rows with {}: {}. The mean error of their step times was "
      "{:.1f} % before "
      "and is {:.1f} % after; that of {} other rows was {:.1f} % and is {:.1f} %. Fitted on: {}.",
      hardware.doc, hardware.doc.empty() ? "" : " ", fit.rows.size(), fit.on, numbers,
      100 * fit.before_on.mean, 100 * fit.after_on.mean, fit.after_rest.count, 100 * fit.before_rest.mean,
      100 * fit.after_rest.mean, fmt::join(fit.rows, ", "));
}

}  // namespace

FittedProfile fit_profile(RowPredictions& predictions, RowProfiles& profiles,
                          const ProfileFitOptions& options) {
  if (options.keys.empty() || options.keys.size() > kMostFitted)
    throw UserError(
        fmt::format("--fit takes 1 to {} numbers of a profile, found {}", kMostFitted, options.keys.size()));
  const RowFilter filter = parse_row_filter(options.on, "--on");
  const RowTest all = [](const PublishedRow&) { return true; };
  predictions.compile();
  predictions.price(all);
  std::set<std::string> names, sources;
  FittedProfile fitted;
  for (const RowResult& result : predictions.results()) {
    if (!filter.matches(result.row) || !result.has_time()) continue;
    names.insert(profiles.key(result.row.hardware));
    sources.insert(result.row.source);
    fitted.summary.rows.push_back(result.row.source + "/" + result.row.id);
  }
  if (names.size() != 1)
    throw UserError(
        names.empty()
            ? fmt::format("--on: no row with {} has a time that is predicted", options.on)
            : fmt::format("--fit fits one profile, but the rows are for {}", fmt::join(names, ", ")),
        names.empty() ? "" : "as in --only hardware=" + *names.begin());
  const Hardware before = profiles.find(*names.begin());
  ProfileFit fit(predictions, profiles, *names.begin(), options.keys, hardware_json(before));
  const RowTest on = [&](const PublishedRow& row) { return filter.matches(row); };
  const RowTest rest = [&](const PublishedRow& row) { return !filter.matches(row); };
  FitSummary& summary = fitted.summary;
  summary.on = options.on;
  summary.before_on = score_of(predictions, on);
  summary.before_rest = score_of(predictions, rest);
  if (sources.size() > 1)
    for (const std::string& source : sources) {
      fit.best([&](const PublishedRow& row) { return on(row) && row.source != source; });
      summary.without_source.emplace_back(
          source, score_of(predictions, [&](const PublishedRow& row) { return row.source == source; }));
    }
  const std::vector<double> factors = fit.best(on);
  fitted.text = fit.text(factors);
  for (size_t i = 0; i < options.keys.size(); ++i) {
    const double number = profile_number(hardware_json(before), options.keys[i]);
    summary.keys.push_back({options.keys[i], number, number * std::exp(factors[i])});
  }
  summary.after_on = score_of(predictions, on);
  summary.after_rest = score_of(predictions, rest);
  fitted.text = documented_profile(fitted.text, fit_doc(before, summary));
  return fitted;
}

}  // namespace mtfc
