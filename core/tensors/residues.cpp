#include "core/tensors/residues.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "core/tensors/division.h"

namespace mtfc {
namespace {

thread_local int64_t ranges = 0;

// More windows than this are added up in closed form where there is one.
constexpr int64_t kWindowsLookedAt = 8;

// Sums of numbers below 2^63 times such numbers.
using Wide = __int128;

// The sums over k in [0, count) of floor(k), of k * floor(k) and of floor(k)^2, where floor(k) is that of (a*k + b) /
// m.
struct FloorSums {
  Wide plain = 0, weighted = 0, squares = 0;
};

// `last` is the last k. Each call exchanges a and m, as Euclid's algorithm does.
FloorSums floor_sums_up_to(Wide last, Wide a, Wide b, Wide m) {
  if (last < 0) return {};
  const Wide count = last + 1, numbers = last * count / 2, squares = numbers * (2 * last + 1) / 3;
  if (a >= m || b >= m) {
    const Wide slope = a / m, offset = b / m;
    const FloorSums rest = floor_sums_up_to(last, a % m, b % m, m);
    return {numbers * slope + count * offset + rest.plain, squares * slope + numbers * offset + rest.weighted,
            squares * slope * slope + count * offset * offset + 2 * numbers * slope * offset + rest.squares +
                2 * offset * rest.plain + 2 * slope * rest.weighted};
  }
  const Wide highest = (a * last + b) / m;
  if (highest == 0) return {};
  // Counts the lattice points below the line from the other side.
  const FloorSums turned = floor_sums_up_to(highest - 1, m, m - b - 1, a);
  const Wide plain = last * highest - turned.plain;
  return {plain, (highest * last * count - turned.squares - turned.plain) / 2,
          last * highest * (highest + 1) - 2 * turned.weighted - 2 * turned.plain - plain};
}

// The sum of floor(v / m) over all v below `end`.
Wide sum_of_quotients(Wide end, Wide m) {
  const Wide quotient = end / m;
  return quotient * end - m * quotient * (quotient + 1) / 2;
}

// The sum of sum_of_quotients(a*k + b, m) over k in [0, count).
Wide sum_along(Wide count, Wide a, Wide b, Wide m) {
  const FloorSums sums = floor_sums_up_to(count - 1, a, b, m);
  return a * sums.weighted + b * sums.plain - m * (sums.squares + sums.plain) / 2;
}

// The numbers v below `end` with v mod m < limit. Each has floor(v / m) = floor((v + m - limit) / m), and any other v
// has one less.
Wide count_below(Wide end, Wide m, Wide limit) {
  return end + sum_of_quotients(end, m) - sum_of_quotients(end + m - limit, m) +
         sum_of_quotients(m - limit, m);
}

// The numbers v below `end` with v mod a < of_a and v mod m < of_m.
Wide count_below(Wide end, Wide a, Wide of_a, Wide m, Wide of_m) {
  const Wide full = end / a, shift = m - of_m;
  const Wide begin = full * a, rest = std::min(of_a, end - begin);
  return full * of_a + sum_along(full, a, of_a, m) - sum_along(full, a, of_a + shift, m) -
         sum_along(full, a, 0, m) + sum_along(full, a, shift, m) + count_below(begin + rest, m, of_m) -
         count_below(begin, m, of_m);
}

int64_t count_one(Interval range, const Residues& only) {
  const auto below = [&](int64_t end) {
    return end / only.period * only.held.size() +
           std::clamp<int64_t>(end % only.period - only.held.begin, 0, only.held.size());
  };
  return below(range.end) - below(range.begin);
}

int64_t count_pair(Interval range, const Residues& a, const Residues& b) {
  // Beyond their common period, both repeat. This keeps the sums small.
  const int64_t common = a.period / std::gcd(a.period, b.period) * b.period;
  const auto below = [&](int64_t end) {
    return count_below(end, a.period, a.held.end, b.period, b.held.end) -
           count_below(end, a.period, a.held.begin, b.period, b.held.end) -
           count_below(end, a.period, a.held.end, b.period, b.held.begin) +
           count_below(end, a.period, a.held.begin, b.period, b.held.begin);
  };
  const int64_t begin = range.begin % common;
  const int64_t whole = range.end / common - range.begin / common;
  Wide count = below(range.end % common) - below(begin);
  if (whole > 0) count += whole * below(common);
  return static_cast<int64_t>(count);
}

using Residue = std::span<const Residues>;

int64_t count_in(Interval range, Residue first, Residue second) {
  if (range.size() <= 0) return 0;
  ++ranges;
  if (first.empty() || (!second.empty() && second[0].period > first[0].period)) std::swap(first, second);
  if (first.empty()) return range.size();
  const auto [period, held] = first[0];
  if (first.size() == 1 && second.empty()) return count_one(range, first[0]);
  const auto window = [&](int64_t k) {
    const Interval part{std::max(range.begin, k * period + held.begin),
                        std::min(range.end, k * period + held.end)};
    return count_in(part, first.subspan(1), second);
  };
  // The windows in [begin, end) are whole. What the second list keeps of them repeats after `phases` windows.
  const int64_t begin = ceil_div(range.begin, period), end = range.end / period;
  if (begin > end) return window(end);
  const int64_t phases = second.empty() ? 1 : second[0].period / std::gcd(period, second[0].period);
  const int64_t looked_at = std::min(end - begin, phases);
  if (looked_at > kWindowsLookedAt && first.size() == 1 && second.size() == 1)
    return count_pair(range, first[0], second[0]);
  int64_t count = 0;
  if (begin * period > range.begin) count += window(begin - 1);
  if (end * period < range.end) count += window(end);
  for (int64_t k = 0; k < looked_at; ++k)
    count += window(begin + k) * ((end - begin) / phases + (k < (end - begin) % phases ? 1 : 0));
  return count;
}

}  // namespace

ResidueList residues_of(const Dims& dims, const Box& box, size_t begin, size_t end) {
  ResidueList residues;
  int64_t inner = 1;
  for (size_t i = end; i-- > begin;) {
    const int64_t period = dims[i].size * inner;
    if (box[i].size() != dims[i].size)
      residues.insert(residues.begin(), {period, {box[i].begin * inner, box[i].end * inner}});
    inner = period;
  }
  return residues;
}

int64_t count_common(Interval range, const ResidueList& first, const ResidueList& second) {
  const auto is_empty = [](const Residues& residues) { return residues.held.size() <= 0; };
  if (std::any_of(first.begin(), first.end(), is_empty) ||
      std::any_of(second.begin(), second.end(), is_empty))
    return 0;
  return count_in(range, first, second);
}

int64_t ranges_counted() {
  return ranges;
}

}  // namespace mtfc
