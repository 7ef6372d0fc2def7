#include "core/diagnostics/suggest.h"

#include <algorithm>
#include <set>

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

// Takes the last part, without its slash, off a name.
std::string_view take_last_part(std::string_view& name) {
  const size_t slash = name.rfind('/');
  const std::string_view part = slash == std::string_view::npos ? name : name.substr(slash + 1);
  name = slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
  return part;
}

// True if `name` is left of `full` without some of the parts before its last: `layer_0/wq` and `wq` are, of
// `layer_0/attention/wq`.
bool shortens(std::string_view name, std::string_view full) {
  if (name.empty() || name.size() >= full.size()) return false;
  if (take_last_part(name) != take_last_part(full)) return false;
  while (!name.empty() && !full.empty()) {
    std::string_view rest = name;
    if (take_last_part(rest) == take_last_part(full)) name = rest;
  }
  return name.empty();
}

// `did you mean 'encoder/w', 'decoder/w' or one of 3 more?` for the candidates that `name` shortens; "" if there is
// none.
std::string shortened_names(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kMost = 3;
  std::vector<std::string_view> found;
  std::set<std::string_view> known;
  for (const std::string& candidate : candidates)
    if (shortens(name, candidate) && known.insert(candidate).second) found.push_back(candidate);
  if (found.empty()) return "";
  const size_t shown = found.size() <= kMost ? found.size() : kMost - 1;
  std::string text = "did you mean ";
  for (size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == found.size();
    text += (i == 0 ? "'" : is_last ? " or '" : ", '") + std::string(found[i]) + "'";
  }
  if (found.size() > shown) text += " or one of " + std::to_string(found.size() - shown) + " more";
  return text + "?";
}

}  // namespace

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 100;  // longer names aren't typing slips, and the distance takes quadratic time
  if (name.size() > kLongest) return "";
  if (std::string shortened = shortened_names(name, candidates); !shortened.empty()) return shortened;
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

std::string did_you_mean_word(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string near = did_you_mean(name, candidates);
  if (!near.empty() || name.size() < 2) return near;
  for (const std::string& candidate : candidates)
    if (candidate != name && candidate.starts_with(name)) return "did you mean '" + candidate + "'?";
  return "";
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
