#include "runtime/calibrate/table_fit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace mtfc {
namespace {

using Vector = std::vector<double>;

constexpr double kSmoothness = 0.03;  // the weight of a bend between sizes, relative to that of a measurement
constexpr double kPull = 1e-6;        // to the mean, so that there is one solution
constexpr double kLeastShare = 1e-6;
constexpr double kLeastRatio = 1.2;    // of neighbouring sizes
constexpr double kLeastGain = 0.004;   // of another size, relative to what is left
constexpr double kFactorPull = 2;      // of a factor to 1, relative to a measurement
constexpr int64_t kLeastOfFactor = 8;  // measurements at a size
constexpr double kUsualError = 0.05;
constexpr int kRoundsOfTrial = 40, kRoundsOfFit = 400, kRoundsOfWeights = 6;

// A sum of shares' logarithms, each with a weight, that should have a value.
struct Equation {
  std::vector<std::pair<size_t, double>> terms;
  double value = 0;
  double weight = 1;
};

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// The equation that a table's interpolation at `place` has the measured value.
Equation equation_of(const MeasuredShare& measured, const TableSizes& table) {
  Equation made{{{0, 1}}, std::log(measured.share), 1};
  for (size_t d = 0; d < table.sizes.size(); ++d) {
    const Vector& sizes = table.sizes[d];
    const double size = std::clamp(measured.place[d], sizes.front(), sizes.back());
    const auto after =
        static_cast<size_t>(std::upper_bound(sizes.begin(), sizes.end(), size) - sizes.begin());
    const size_t before = after - 1;
    const double part =
        after == sizes.size() ? 0 : std::log(size / sizes[before]) / std::log(sizes[after] / sizes[before]);
    std::vector<std::pair<size_t, double>> terms;
    for (const auto& [index, weight] : made.terms) {
      terms.emplace_back(index * sizes.size() + before, weight * (1 - part));
      if (part > 0) terms.emplace_back(index * sizes.size() + after, weight * part);
    }
    made.terms = std::move(terms);
  }
  return made;
}

// For each three neighbours along a dimension: the middle one lies on the line between the others.
void add_bends(const TableSizes& table, std::vector<Equation>& equations) {
  size_t stride = 1;
  for (size_t d = table.sizes.size(); d-- > 0;) {
    const Vector& sizes = table.sizes[d];
    for (size_t index = 0; index < table.shares(); ++index) {
      const size_t at = index / stride % sizes.size();
      if (at == 0 || at + 1 >= sizes.size()) continue;
      const double part = std::log(sizes[at] / sizes[at - 1]) / std::log(sizes[at + 1] / sizes[at - 1]);
      equations.push_back(
          {{{index, 1}, {index - stride, part - 1}, {index + stride, -part}}, 0, kSmoothness});
    }
    stride *= sizes.size();
  }
}

// Solves equations by least squares, with conjugate gradients.
class LeastSquares {
 public:
  LeastSquares(std::vector<Equation> equations, size_t unknowns)
      : equations_(std::move(equations)), unknowns_(unknowns) {}

  Vector solved(Vector from, int rounds) const {
    Vector rest = product(from, true), direction;
    for (double& r : rest) r = -r;
    direction = rest;
    double length = dot(rest, rest);
    const double enough = 1e-20 * length;
    for (int round = 0; round < rounds && length > enough && length > 0; ++round) {
      const Vector image = product(direction, false);
      const double step = length / dot(direction, image);
      for (size_t i = 0; i < unknowns_; ++i) {
        from[i] += step * direction[i];
        rest[i] -= step * image[i];
      }
      const double next = dot(rest, rest);
      for (size_t i = 0; i < unknowns_; ++i) direction[i] = rest[i] + next / length * direction[i];
      length = next;
    }
    return from;
  }

  // The sum of what the first `count` equations miss.
  double missed(const Vector& solution, size_t count) const {
    double sum = 0;
    for (size_t e = 0; e < count; ++e) sum += std::abs(of(equations_[e], solution) - equations_[e].value);
    return sum;
  }

 private:
  static double of(const Equation& equation, const Vector& x) {
    double sum = 0;
    for (const auto& [index, factor] : equation.terms) sum += factor * x[index];
    return sum;
  }

  // The gradient of the sum of squares at x, by half; without the values, its linear part.
  Vector product(const Vector& x, bool with_values) const {
    Vector result(unknowns_, 0);
    for (size_t i = 0; i < unknowns_; ++i) result[i] = kPull * x[i];
    for (const Equation& equation : equations_) {
      const double missed = equation.weight * (of(equation, x) - (with_values ? equation.value : 0));
      for (const auto& [index, factor] : equation.terms) result[index] += missed * factor;
    }
    return result;
  }

  std::vector<Equation> equations_;
  size_t unknowns_;
};

// The logarithms of the shares, and what they miss.
struct Fit {
  TableSizes sizes;
  Vector logarithms;
  double missed = 0;
};

// The sizes of each dimension that have factors, in the order of their unknowns, which follow the shares.
using FactorSizes = std::vector<Vector>;

FactorSizes factor_sizes(const std::vector<MeasuredShare>& measured) {
  FactorSizes sizes(measured.front().place.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::map<double, int64_t> counts;
    for (const MeasuredShare& one : measured) ++counts[one.place[d]];
    for (const auto& [size, count] : counts)
      if (count >= kLeastOfFactor && counts.size() > 1) sizes[d].push_back(size);
  }
  return sizes;
}

// Adds the factors of the measurements to their equations, and an equation for each factor: that it is 1. Returns how
// many there are.
size_t add_factors(const std::vector<MeasuredShare>& measured, const FactorSizes& sizes, size_t shares,
                   std::vector<Equation>& equations) {
  size_t first = shares;
  for (size_t d = 0; d < sizes.size(); ++d) {
    for (size_t m = 0; m < measured.size(); ++m) {
      const auto at = std::lower_bound(sizes[d].begin(), sizes[d].end(), measured[m].place[d]);
      if (at != sizes[d].end() && *at == measured[m].place[d])
        equations[m].terms.emplace_back(first + static_cast<size_t>(at - sizes[d].begin()), 1);
    }
    for (size_t i = 0; i < sizes[d].size(); ++i) equations.push_back({{{first + i, 1}}, 0, kFactorPull});
    first += sizes[d].size();
  }
  return first - shares;
}

struct FitOptions {
  FactorSizes factors = {};
  Vector weights = {};  // of the measurements; all 1 if there are none
};

// Begins with the logarithms that a coarser table has at the places of this one.
Fit fit(const std::vector<MeasuredShare>& measured, TableSizes sizes, const Fit* from, int rounds,
        const FitOptions& options = {}) {
  std::vector<Equation> equations;
  for (const MeasuredShare& one : measured) equations.push_back(equation_of(one, sizes));
  for (size_t e = 0; e < options.weights.size(); ++e) equations[e].weight = options.weights[e];
  const size_t unknowns = sizes.shares() + add_factors(measured, options.factors, sizes.shares(), equations);
  add_bends(sizes, equations);
  Fit made{std::move(sizes), Vector(), 0};
  const size_t shares = made.sizes.shares();
  made.logarithms.assign(unknowns, 0);
  if (from && from->logarithms.size() == unknowns)
    std::copy(from->logarithms.begin() + static_cast<std::ptrdiff_t>(shares), from->logarithms.end(),
              made.logarithms.begin() + static_cast<std::ptrdiff_t>(shares));
  if (from)
    for (size_t index = 0; index < shares; ++index) {
      std::vector<double> place(made.sizes.sizes.size());
      for (size_t d = place.size(), rest = index; d-- > 0; rest /= made.sizes.sizes[d].size())
        place[d] = made.sizes.sizes[d][rest % made.sizes.sizes[d].size()];
      for (const auto& [at, weight] : equation_of({place, 1}, from->sizes).terms)
        made.logarithms[index] += weight * from->logarithms[at];
    }
  const LeastSquares squares(std::move(equations), unknowns);
  made.logarithms = squares.solved(std::move(made.logarithms), rounds);
  made.missed = squares.missed(made.logarithms, measured.size());
  return made;
}

bool is_apart(double size, const Vector& sizes) {
  return std::all_of(sizes.begin(), sizes.end(),
                     [&](double other) { return std::max(size / other, other / size) >= kLeastRatio; });
}

}  // namespace

size_t TableSizes::shares() const {
  size_t product = 1;
  for (const Vector& of_dim : sizes) product *= of_dim.size();
  return product;
}

TableSizes chosen_sizes(const std::vector<MeasuredShare>& measured, size_t most) {
  std::vector<std::set<double>> known(measured.front().place.size());
  for (const MeasuredShare& one : measured)
    for (size_t d = 0; d < known.size(); ++d) known[d].insert(one.place[d]);
  TableSizes ends;
  for (const std::set<double>& sizes : known)
    ends.sizes.push_back(sizes.size() > 1 ? Vector{*sizes.begin(), *sizes.rbegin()} : Vector{*sizes.begin()});
  Fit best = fit(measured, ends, nullptr, kRoundsOfFit);
  for (;;) {
    std::optional<Fit> better;
    for (size_t d = 0; d < known.size(); ++d)
      for (const double size : known[d]) {
        if (!is_apart(size, best.sizes.sizes[d])) continue;
        TableSizes more = best.sizes;
        more.sizes[d].insert(std::upper_bound(more.sizes[d].begin(), more.sizes[d].end(), size), size);
        if (more.shares() > most) continue;
        Fit tried = fit(measured, std::move(more), &best, kRoundsOfTrial);
        if (!better || tried.missed < better->missed) better = std::move(tried);
      }
    if (!better || better->missed > (1 - kLeastGain) * best.missed) return best.sizes;
    best = std::move(*better);
  }
}

// Squares let a few measurements that lie far off pull at all others, so those are given less weight, in some rounds.
// The result has about the least mean of all errors.
ShareTable fitted_table(const std::vector<MeasuredShare>& measured, const TableSizes& sizes) {
  FitOptions options{factor_sizes(measured), {}};
  Fit made = fit(measured, sizes, nullptr, kRoundsOfFit, options);
  for (int round = 0; round < kRoundsOfWeights; ++round) {
    std::vector<Equation> equations;
    for (const MeasuredShare& one : measured) equations.push_back(equation_of(one, sizes));
    add_factors(measured, options.factors, sizes.shares(), equations);
    options.weights.clear();
    for (size_t m = 0; m < measured.size(); ++m) {
      double missed = -std::log(measured[m].share);
      for (const auto& [at, weight] : equations[m].terms) missed += weight * made.logarithms[at];
      options.weights.push_back(kUsualError / std::max(std::abs(missed), kUsualError / 4));
    }
    made = fit(measured, sizes, &made, kRoundsOfFit, options);
  }
  ShareTable table{sizes.sizes, {}};
  for (size_t i = 0; i < sizes.shares(); ++i)
    table.shares.push_back(std::clamp(std::exp(made.logarithms[i]), kLeastShare, 1.0));
  size_t next = sizes.shares();
  for (const Vector& of_dim : options.factors) {
    std::vector<std::pair<double, double>> points;
    for (const double size : of_dim) points.emplace_back(size, std::exp(made.logarithms[next++]));
    table.factors.push_back(points.empty() ? Curve(1) : Curve(std::move(points)));
  }
  if (next == sizes.shares()) table.factors.clear();
  return table;
}

size_t number_count(const ShareTable& table) {
  size_t count = table.shares.size();
  for (const Curve& factor : table.factors)
    if (factor != Curve(1)) count += factor.points().size();
  return count;
}

}  // namespace mtfc
