#include "core/search/layout_ranking.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace mtfc {
namespace {

constexpr double kSameTime = 1e-12;
// Reports are large. Some more than are shown are kept, as a layout may become one of the best when others turn out to
// be variants.
constexpr size_t kReportsKept = 4;

bool same_figures(const FoundLayout& a, const FoundLayout& b) {
  return std::abs(a.step_s - b.step_s) <= kSameTime * b.step_s && a.memory == b.memory && a.sent == b.sent &&
         a.flops == b.flops;
}

// Orders layouts by ease of reading: few rules, few axes, and axes in the order of the mesh.
bool is_simpler(const FoundLayout& a, const FoundLayout& b) {
  const auto key = [](const FoundLayout& found) {
    size_t axes = 0;
    std::vector<std::pair<std::string, AxisList>> rules;
    for (const Rule& rule : found.layout.rules) {
      axes += rule.axes.size();
      rules.emplace_back(rule.dim, rule.axes);
    }
    return std::tuple(rules.size(), axes, to_string(found.layout.mesh), rules);
  };
  return key(a) < key(b);
}

// True if `other` has all rules of `layout`, and splits something more.
bool splits_more(const Layout& other, const Layout& layout) {
  if (other.mesh.axes() != layout.mesh.axes()) return false;
  return std::all_of(layout.rules.begin(), layout.rules.end(), [&](const Rule& rule) {
    const Rule* same = find_rule(other, rule.dim);
    return same && same->axes.size() >= rule.axes.size() &&
           std::equal(rule.axes.begin(), rule.axes.end(), same->axes.begin());
  });
}

// The sizes of the axes of more than one device, in ascending order.
std::vector<int64_t> sorted_sizes(const Mesh& mesh) {
  std::vector<int64_t> sizes;
  for (const Axis& axis : mesh.axes())
    if (axis.size > 1) sizes.push_back(axis.size);
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

std::vector<Rule> sorted_rules(const Layout& layout) {
  std::vector<Rule> rules = layout.rules;
  std::sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) { return a.dim < b.dim; });
  return rules;
}

// True if the layouts are the same but for the names or the order of their axes: `rows:2,cols:4 batch:rows` and
// `rows:4,cols:2 batch:cols`.
bool only_swap_axes(const Layout& one, const Layout& other) {
  if (one.rules.size() != other.rules.size() || sorted_sizes(one.mesh) != sorted_sizes(other.mesh))
    return false;
  const std::vector<Rule> rules = sorted_rules(one), images = sorted_rules(other);
  std::map<int, int> to, from;  // axes of `one` and of `other`
  for (size_t r = 0; r < rules.size(); ++r) {
    if (rules[r].dim != images[r].dim || rules[r].axes.size() != images[r].axes.size()) return false;
    for (size_t i = 0; i < rules[r].axes.size(); ++i) {
      const int axis = rules[r].axes[i], image = images[r].axes[i];
      if (one.mesh.size(axis) != other.mesh.size(image)) return false;
      if (to.emplace(axis, image).first->second != image) return false;
      if (from.emplace(image, axis).first->second != axis) return false;
    }
  }
  return true;
}

}  // namespace

bool is_better(const FoundLayout& a, const FoundLayout& b) {
  if (a.step_s != b.step_s) return a.step_s < b.step_s;
  if (a.memory != b.memory) return a.memory < b.memory;
  return is_simpler(a, b);
}

void LayoutRanking::add(FoundLayout found) {
  all_.push_back(std::move(found));
}

double LayoutRanking::shortest() const {
  double shortest = all_.empty() ? 0 : all_.front().step_s;
  for (const FoundLayout& found : all_) shortest = std::min(shortest, found.step_s);
  return shortest;
}

void LayoutRanking::group() {
  std::sort(all_.begin(), all_.end(), is_better);
  best_.clear();
  std::vector<bool> known(all_.size()), is_best(all_.size());
  for (size_t first = 0; first < all_.size() && best_.size() < top_;) {
    if (known[first]) {
      ++first;
      continue;
    }
    limit_ = std::max(all_[first].step_s, all_.front().step_s * (1 + kEquallyFast));
    size_t chosen = first;
    const auto preference = [&](size_t i) { return std::tuple(all_[i].layout.rules.size(), i); };
    for (size_t i = first; i < all_.size() && all_[i].step_s <= all_[first].step_s * (1 + kEquallyFast); ++i)
      if (!known[i] && preference(i) < preference(chosen)) chosen = i;
    FoundLayout family = all_[chosen];
    // Layouts with the same figures stand side by side, and so the simplest of them was chosen.
    for (size_t i = first; i < all_.size() && all_[i].step_s <= family.step_s * (1 + kEquallyFast); ++i) {
      if (known[i] || i == chosen) continue;
      const bool is_same = same_figures(all_[i], family);
      const bool is_variant = splits_more(all_[i].layout, family.layout) ||
                              splits_more(family.layout, all_[i].layout) ||
                              only_swap_axes(all_[i].layout, family.layout);
      if (!is_same && !is_variant) continue;
      ++(is_same ? family.equals : family.variants);
      known[i] = true;
    }
    known[chosen] = is_best[chosen] = true;
    best_.push_back(std::move(family));
  }
  for (size_t i = 0; i < all_.size(); ++i)
    if (!is_best[i] && i >= kReportsKept * top_) all_[i].report.reset();
}

}  // namespace mtfc
