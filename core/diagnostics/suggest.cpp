#include "core/diagnostics/suggest.h"

#include <algorithm>

namespace mtfc {
namespace {

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// The most edits at which a candidate is still near. One edit would leave nothing of a name of one letter.
size_t most_edits(size_t length) {
  return length < 2 ? 0 : std::max<size_t>(1, length / 3);
}

// The Damerau-Levenshtein distance in its "optimal string alignment" form.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitution = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 100;  // longer names aren't typing slips, and the distance takes quadratic time
  if (name.size() > kLongest) return "";
  const std::string* nearest = nullptr;
  const std::string wanted = lowered(name);
  size_t best = most_edits(name.size()) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongest || candidate == name) continue;
    const size_t distance = edit_distance(wanted, lowered(candidate));
    if (distance < best) {
      best = distance;
      nearest = &candidate;
    }
  }
  return nearest ? "did you mean '" + *nearest + "'?" : "";
}

std::string nearest_listed(std::string_view name, const std::vector<std::string>& candidates, size_t most) {
  constexpr size_t kLongest = 200;
  const std::string wanted = lowered(name.substr(0, kLongest));
  std::vector<std::pair<size_t, const std::string*>> ordered;
  for (const std::string& candidate : candidates)
    ordered.emplace_back(edit_distance(wanted, lowered(std::string_view(candidate).substr(0, kLongest))),
                         &candidate);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const size_t shown = ordered.size() <= most + 1 ? ordered.size() : most;
  std::string text;
  for (size_t i = 0; i < shown; ++i)
    text += (i == 0 ? "'" : i + 1 == ordered.size() ? " and '" : ", '") + *ordered[i].second + "'";
  return shown == ordered.size() ? text : text + " and " + std::to_string(ordered.size() - shown) + " more";
}

}  // namespace mtfc
