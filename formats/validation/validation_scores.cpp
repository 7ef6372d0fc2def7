#include "formats/validation/validation_scores.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace mtfc {
namespace {

constexpr double kNear = 0.05;  // of two times that count as equal

PickScore pick_score(const std::vector<const RowResult*>& rows) {
  std::map<std::tuple<std::string, std::string, int64_t>, std::vector<const RowResult*>> groups;
  for (const RowResult* result : rows)
    if (!result->row.group.empty() && result->has_time())
      groups[{result->row.source, result->row.group, result->row.devices}].push_back(result);
  PickScore score;
  double pairs = 0, right = 0;
  for (const auto& [unused, members] : groups) {
    if (members.size() < 2) continue;
    const auto measured = [](const RowResult* a, const RowResult* b) {
      return *a->row.seconds < *b->row.seconds;
    };
    const auto predicted = [](const RowResult* a, const RowResult* b) { return a->seconds < b->seconds; };
    const double fastest = *(*std::min_element(members.begin(), members.end(), measured))->row.seconds;
    const double picked = *(*std::min_element(members.begin(), members.end(), predicted))->row.seconds;
    ++score.groups;
    if (picked <= (1 + kNear) * fastest) ++score.good;
    score.worst = std::max(score.worst, picked / fastest - 1);
    for (size_t i = 0; i < members.size(); ++i)
      for (size_t k = 0; k < i; ++k) {
        const double ratio = std::log(*members[i]->row.seconds / *members[k]->row.seconds);
        if (std::abs(ratio) < std::log1p(kNear)) continue;
        ++pairs;
        if (ratio * std::log(members[i]->seconds / members[k]->seconds) > 0) ++right;
      }
  }
  score.rank = pairs > 0 ? right / pairs : 0;
  return score;
}

size_t band_of(double efficiency) {
  size_t band = 0;
  for (size_t i = 0; i < std::size(kEfficiencyBands); ++i)
    if (efficiency >= kEfficiencyBands[i]) band = i;
  return band;
}

SourceScore source_score(const std::string& source, const std::vector<const RowResult*>& rows) {
  SourceScore score;
  score.source = source;
  std::vector<double> times, memory;
  std::vector<std::vector<double>> bands(std::size(kEfficiencyBands));
  for (const RowResult* result : rows) {
    ++score.rows;
    if (!result->is_predicted()) {
      ++score.refused[result->refused_for];
      continue;
    }
    ++score.predicted;
    if (result->has_outside_stages) ++score.outside_stages;
    if (result->has_time()) {
      times.push_back(result->time_error());
      bands[band_of(result->efficiency())].push_back(result->time_error());
    }
    if (result->has_memory()) memory.push_back(result->memory_error());
    if (result->device_bytes <= 0) continue;
    const bool is_ok = result->row.status == RowStatus::kOk;
    ++(is_ok            ? result->fits() ? score.fit.ok_fits : score.fit.ok_exceeds
       : result->fits() ? score.fit.oom_fits
                        : score.fit.oom_exceeds);
  }
  score.time = error_score(std::move(times));
  for (std::vector<double>& band : bands) score.time_by_band.push_back(error_score(std::move(band)));
  score.memory = error_score(std::move(memory));
  score.picks = pick_score(rows);
  return score;
}

}  // namespace

ErrorScore error_score(std::vector<double> errors) {
  ErrorScore score;
  score.count = static_cast<int64_t>(errors.size());
  if (errors.empty()) return score;
  const auto count = static_cast<double>(errors.size());
  for (double& error : errors) {
    score.bias += error / count;
    error = std::abs(error);
    score.mean += error / count;
    score.within_tenth += error <= 0.1 ? 1 / count : 0;
  }
  std::sort(errors.begin(), errors.end());
  score.largest = errors.back();
  const size_t half = errors.size() / 2;
  score.median = errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
  return score;
}

ValidationScores validation_scores(const std::vector<RowResult>& results, size_t worst) {
  std::map<std::pair<std::string, bool>, std::vector<const RowResult*>> by_source;
  std::vector<std::pair<std::string, bool>> order;
  std::vector<const RowResult*> all;
  ValidationScores scores;
  for (const RowResult& result : results) {
    const bool is_simulated = result.row.kind == RowKind::kSimulated;
    std::vector<const RowResult*>& members = by_source[{result.row.source, is_simulated}];
    if (members.empty()) order.emplace_back(result.row.source, is_simulated);
    members.push_back(&result);
    if (is_simulated) continue;
    all.push_back(&result);
    if (result.has_time()) scores.worst.push_back(static_cast<size_t>(&result - results.data()));
  }
  for (const auto& key : order) {
    scores.sources.push_back(source_score(key.first, by_source[key]));
    scores.sources.back().is_simulated = key.second;
  }
  scores.all = source_score("all", all);
  // Steps of the lowest band are launches and small messages: they come behind the others.
  const auto errs_more = [&](size_t a, size_t b) {
    const bool is_small_a = band_of(results[a].efficiency()) == 0,
               is_small_b = band_of(results[b].efficiency()) == 0;
    if (is_small_a != is_small_b) return is_small_b;
    return std::abs(std::log1p(results[a].time_error())) > std::abs(std::log1p(results[b].time_error()));
  };
  std::stable_sort(scores.worst.begin(), scores.worst.end(), errs_more);
  if (scores.worst.size() > worst) scores.worst.resize(worst);
  return scores;
}

}  // namespace mtfc
