#include "runtime/generate/beam_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace mtfc::beam_search_test {
namespace {

// The probabilities of the next of three tokens after the given ones: a trap for greedy search.
std::vector<double> after(const std::vector<int64_t>& tokens) {
  std::vector<double> p = {0.4, 0.3, 0.3};
  if (!tokens.empty() && tokens[0] == 0) p = {0.34, 0.33, 0.33};
  if (!tokens.empty() && tokens[0] == 1) p = {0.1, 0.1, 0.8};
  if (!tokens.empty() && tokens[0] == 2) p = {0.2, 0.2, 0.6};
  for (double& x : p) x = std::log(x);
  return p;
}

// Runs a search over the tokens that the beams have chosen so far.
std::vector<Hypothesis> searched(const BeamOptions& options) {
  BeamSearch search(options);
  std::vector<std::vector<int64_t>> beams(static_cast<size_t>(options.beams));
  while (!search.is_done()) {
    std::vector<double> logits;
    for (const std::vector<int64_t>& beam : beams)
      for (const double logit : after(beam)) logits.push_back(logit + 3);
    const std::vector<std::vector<int64_t>> before = beams;
    const std::vector<BeamStep> steps = search.advance(logits);
    for (size_t b = 0; b < beams.size(); ++b) {
      beams[b] = before[static_cast<size_t>(steps[b].parent)];
      beams[b].push_back(steps[b].token);
    }
  }
  return search.results();
}

}  // namespace

TEST_CASE("one beam is greedy, and two find what greedy search misses") {
  const std::vector<Hypothesis> one = searched({1, 0, 2, {}}), two = searched({2, 0, 2, {}});
  REQUIRE(one.size() == 1);
  CHECK(one[0].tokens == std::vector<int64_t>{0, 0});
  REQUIRE(two.size() == 2);
  CHECK(two[0].tokens == std::vector<int64_t>{1, 2});
  CHECK(two[0].log_probability == doctest::Approx(std::log(0.3 * 0.8)));
  CHECK(two[1].tokens == std::vector<int64_t>{0, 0});
}

TEST_CASE("more beams than there are beginnings repeat the last, which never counts") {
  const std::vector<Hypothesis> all = searched({8, 0, 2, {}});
  REQUIRE(all.size() == 8);
  for (size_t i = 1; i < all.size(); ++i) {
    CHECK(all[i].score <= all[i - 1].score);
    for (size_t j = 0; j < i; ++j) CHECK(all[i].tokens != all[j].tokens);
  }
}

TEST_CASE("a short result wins by its probability, a long one once lengths are normalised") {
  const auto ends = [](const std::vector<int64_t>& tokens) { return tokens.back() == 2; };
  const std::vector<Hypothesis> plain = searched({3, 0, 4, ends}), long_ones = searched({3, 5, 4, ends});
  CHECK(plain[0].tokens == std::vector<int64_t>{2});
  CHECK(plain[0].score == doctest::Approx(std::log(0.3)));
  CHECK(long_ones[0].tokens.size() > 1);
  const double length = static_cast<double>(long_ones[0].tokens.size());
  CHECK(long_ones[0].score ==
        doctest::Approx(long_ones[0].log_probability / std::pow((5 + length) / 6, 5)).epsilon(1e-12));
}

TEST_CASE("beams see the places of their own past only") {
  BeamPast past(2, 6);
  past.step(0);
  past.follow(std::vector<int64_t>{0, 0});
  past.step(1);
  past.follow(std::vector<int64_t>{1, 1});
  past.step(2);
  const std::vector<uint8_t> expected = {1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1};
  CHECK(std::equal(expected.begin(), expected.end(), past.seen().begin(), past.seen().end()));
}

}  // namespace mtfc::beam_search_test
