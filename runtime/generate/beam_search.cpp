#include "runtime/generate/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/diagnostics/error.h"
#include "runtime/generate/sampling.h"

namespace mtfc {
namespace {

struct Candidate {
  double log_probability;
  int64_t beam, token;
};

bool is_better(const Candidate& a, const Candidate& b) {
  if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
  return std::pair(a.beam, a.token) < std::pair(b.beam, b.token);
}

// The `count` best continuations of the beams, in order. Those of probability 0 are none.
std::vector<Candidate> best_candidates(const std::vector<Hypothesis>& live, std::span<const double> logits,
                                       size_t vocabulary, size_t count) {
  std::vector<Candidate> all;
  for (size_t beam = 0; beam < live.size(); ++beam) {
    const std::vector<double> tokens = log_probabilities(logits.subspan(beam * vocabulary, vocabulary));
    for (size_t token = 0; token < vocabulary; ++token)
      if (tokens[token] > -std::numeric_limits<double>::infinity())
        all.push_back({live[beam].log_probability + tokens[token], static_cast<int64_t>(beam),
                       static_cast<int64_t>(token)});
  }
  count = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(), is_better);
  all.resize(count);
  return all;
}

}  // namespace

BeamSearch::BeamSearch(BeamOptions options) : options_(std::move(options)), live_(1) {}

std::vector<BeamStep> BeamSearch::advance(std::span<const double> logits) {
  const auto beams = static_cast<size_t>(options_.beams);
  check_invariant(!logits.empty() && logits.size() % beams == 0, "there are no logits for every beam");
  std::vector<BeamStep> steps;
  std::vector<Hypothesis> next;
  for (const Candidate& candidate : best_candidates(live_, logits, logits.size() / beams, 2 * beams)) {
    Hypothesis hypothesis = live_[static_cast<size_t>(candidate.beam)];
    hypothesis.tokens.push_back(candidate.token);
    hypothesis.log_probability = candidate.log_probability;
    hypothesis.score = score(candidate.log_probability, hypothesis.tokens.size());
    if (options_.has_ended && options_.has_ended(hypothesis.tokens)) {
      put_aside(std::move(hypothesis));
      continue;
    }
    if (next.size() == beams) continue;  // a worse continuation may still end
    next.push_back(std::move(hypothesis));
    steps.push_back({candidate.beam, candidate.token});
  }
  live_ = std::move(next);
  if (steps.empty()) steps.push_back({});
  while (steps.size() < beams) steps.push_back(steps.back());
  return steps;
}

bool BeamSearch::is_done() const {
  if (live_.empty() || live_[0].tokens.size() >= static_cast<size_t>(options_.length)) return true;
  if (ended_.size() < static_cast<size_t>(options_.beams)) return false;
  // Log probabilities only fall, and the normaliser only grows, so no beam can exceed this.
  const double reachable = score(live_[0].log_probability, static_cast<size_t>(options_.length));
  return reachable <= ended_.back().score;
}

std::vector<Hypothesis> BeamSearch::results() const {
  std::vector<Hypothesis> all = ended_;
  all.insert(all.end(), live_.begin(), live_.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  if (all.size() > static_cast<size_t>(options_.beams)) all.resize(static_cast<size_t>(options_.beams));
  return all;
}

double BeamSearch::score(double log_probability, size_t length) const {
  return log_probability / std::pow((5 + static_cast<double>(length)) / 6, options_.alpha);
}

void BeamSearch::put_aside(Hypothesis hypothesis) {
  const auto at =
      std::upper_bound(ended_.begin(), ended_.end(), hypothesis,
                       [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  ended_.insert(at, std::move(hypothesis));
  if (ended_.size() > static_cast<size_t>(options_.beams)) ended_.pop_back();
}

void BeamPast::step(int64_t position) {
  for (int64_t beam = 0; beam < beams_; ++beam)
    seen_[static_cast<size_t>(beam * places_ + position * beams_ + beam)] = 1;
}

void BeamPast::read_prompt(int64_t count) {
  for (int64_t beam = 0; beam < beams_; ++beam)
    for (int64_t position = 0; position < count; ++position)
      seen_[static_cast<size_t>(beam * places_ + position * beams_)] = 1;
}

void BeamPast::follow(std::span<const int64_t> parents) {
  if (beams_ == 1) return;
  const std::vector<uint8_t> before = seen_;
  for (int64_t beam = 0; beam < beams_; ++beam)
    std::copy_n(before.begin() + parents[static_cast<size_t>(beam)] * places_, places_,
                seen_.begin() + beam * places_);
}

}  // namespace mtfc
