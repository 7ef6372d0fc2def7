#include "runtime/generate/beam_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

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

using Tokens = std::vector<int64_t>;
// The logits of the next token after the given ones.
using Logits = std::function<std::vector<double>(const Tokens&)>;

// Runs a search over the tokens that the beams have chosen so far.
std::vector<Hypothesis> searched(const BeamOptions& options, const Logits& logits_after = after) {
  BeamSearch search(options);
  std::vector<std::vector<int64_t>> beams(static_cast<size_t>(options.beams));
  while (!search.is_done()) {
    std::vector<double> logits;
    for (const std::vector<int64_t>& beam : beams)
      for (const double logit : logits_after(beam)) logits.push_back(logit + 3);
    const std::vector<std::vector<int64_t>> before = beams;
    const std::vector<BeamStep> steps = search.advance(logits);
    for (size_t b = 0; b < beams.size(); ++b) {
      beams[b] = before[static_cast<size_t>(steps[b].parent)];
      beams[b].push_back(steps[b].token);
    }
  }
  return search.results();
}

// A model of at most four tokens whose logits depend on the last two, and how its sequences end.
struct SmallModel {
  explicit SmallModel(uint32_t seed) : random(seed) {
    vocabulary = 2 + static_cast<int64_t>(random() % 3);
    options.length = 1 + static_cast<int64_t>(random() % 4);
    options.alpha = std::vector<double>{0, 0.6, 1, 3}[random() % 4];
    stop = {drawn_token()};
    if (random() % 3 == 0) stop.push_back(drawn_token());
    options.has_ended = [this](const Tokens& tokens) {
      return tokens.size() >= stop.size() && std::equal(stop.rbegin(), stop.rend(), tokens.rbegin());
    };
    std::normal_distribution<double> normal;
    table.resize(static_cast<size_t>((vocabulary + 1) * (vocabulary + 1) * vocabulary));
    for (double& logit : table) logit = 2 * normal(random);
  }
  SmallModel(const SmallModel&) = delete;

  int64_t drawn_token() { return static_cast<int64_t>(random() % static_cast<uint32_t>(vocabulary)); }
  std::vector<double> logits(const Tokens& tokens) const {
    const auto back = [&](size_t n) { return tokens.size() < n ? vocabulary : tokens[tokens.size() - n]; };
    const auto row = table.begin() + (back(2) * (vocabulary + 1) + back(1)) * vocabulary;
    return {row, row + vocabulary};
  }

  // Adds every sequence that begins with `tokens` and then ends, or has the full length.
  void add_all(const Tokens& tokens, double log_probability, std::vector<Hypothesis>& all) const {
    if (!tokens.empty() &&
        (options.has_ended(tokens) || tokens.size() == static_cast<size_t>(options.length))) {
      const double norm = std::pow((5.0 + static_cast<double>(tokens.size())) / 6.0, options.alpha);
      return all.push_back({tokens, log_probability, log_probability / norm});
    }
    double sum = 0;
    for (const double logit : logits(tokens)) sum += std::exp(logit);
    for (int64_t token = 0; token < vocabulary; ++token) {
      Tokens longer = tokens;
      longer.push_back(token);
      add_all(longer, log_probability + logits(tokens)[static_cast<size_t>(token)] - std::log(sum), all);
    }
  }
  // All of them, the best first.
  std::vector<Hypothesis> all() const {
    std::vector<Hypothesis> found;
    add_all({}, 0, found);
    std::sort(found.begin(), found.end(),
              [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    return found;
  }

  std::mt19937 random;
  int64_t vocabulary;
  Tokens stop;
  BeamOptions options;
  std::vector<double> table;
};

// A table of probabilities: after 0, token 1 has 0.5 and the stop token 2 has 0.4; after 1 all are about equal.
std::vector<double> tempting(const Tokens& tokens) {
  const bool first = tokens.empty();
  return {std::log(first ? 0.1 : 0.34), std::log(first ? 0.5 : 0.33), std::log(first ? 0.4 : 0.33)};
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

TEST_CASE("with a beam for every result, the search is exhaustive on 200 random models") {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SmallModel model(seed);
    const std::vector<Hypothesis> all = model.all();
    const auto logits = [&](const Tokens& tokens) { return model.logits(tokens); };
    CAPTURE(seed);
    model.options.beams = static_cast<int64_t>(all.size());
    const std::vector<Hypothesis> found = searched(model.options, logits);
    REQUIRE(found.size() == all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      CHECK(found[i].tokens == all[i].tokens);
      CHECK(found[i].score == doctest::Approx(all[i].score).epsilon(1e-9));
    }
    // Fewer beams find some of the same results. One step sees everything that ends in it, whatever the beams.
    for (model.options.beams = 1; model.options.beams < 4; ++model.options.beams)
      for (const Hypothesis& hypothesis : searched(model.options, logits)) {
        const auto same = std::find_if(all.begin(), all.end(),
                                       [&](const Hypothesis& h) { return h.tokens == hypothesis.tokens; });
        REQUIRE(same != all.end());
        CHECK(hypothesis.score == doctest::Approx(same->score).epsilon(1e-9));
      }
  }
}

TEST_CASE("a result that ends counts even if every live beam is likelier at that position") {
  const auto ends = [](const Tokens& tokens) { return tokens.back() == 2; };
  const std::vector<Hypothesis> one = searched({1, 0, 4, ends}, tempting),
                                two = searched({2, 0, 4, ends}, tempting);
  REQUIRE(one.size() == 1);
  CHECK(one[0].tokens == Tokens{2});
  CHECK(one[0].score == doctest::Approx(std::log(0.4)));
  REQUIRE(two.size() == 2);
  CHECK(two[0].tokens == Tokens{2});
  CHECK(two[1].tokens == Tokens{1, 2});
  CHECK(two[1].score == doctest::Approx(std::log(0.5 * 0.33)));
}

TEST_CASE("sequences of probability 0 are no results") {
  const auto certain = [](const Tokens&) {
    return std::vector<double>{0, -std::numeric_limits<double>::infinity()};
  };
  const std::vector<Hypothesis> found = searched({3, 0, 2, {}}, certain);
  REQUIRE(found.size() == 1);
  CHECK(found[0].tokens == Tokens{0, 0});
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
