#include "core/search/search_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

using Pairs = std::set<std::pair<std::string, std::string>>;

// Adds the pairs of dimensions that share a tensor. The pair of a dimension with itself says that a tensor
// has it.
void add_pairs(const Graph& graph, Pairs& pairs) {
  for (const Tensor& tensor : graph.tensors())
    for (const Dim& one : tensor.type.dims)
      for (const Dim& other : tensor.type.dims) pairs.emplace(one.name, other.name);
  for (const Node& node : graph.nodes())
    if (node.loop)
      for (const LoopPart* part : {&node.loop->condition, &node.loop->body}) add_pairs(part->graph, pairs);
}

AxisList usable_axes(const Mesh& mesh) {
  AxisList axes;
  for (size_t i = 0; i < mesh.axes().size(); ++i)
    if (mesh.axes()[i].size > 1) axes.push_back(static_cast<int>(i));
  return axes;
}

// All lists of at most `most_axes` of the usable axes, shorter lists first.
std::vector<AxisList> lists_of(const AxisList& usable, int64_t most_axes) {
  constexpr size_t kMost = std::numeric_limits<uint16_t>::max();
  std::vector<AxisList> lists = {{}};
  size_t from = 0;
  for (int64_t length = 1; length <= most_axes && from < lists.size(); ++length) {
    const size_t end = lists.size();
    for (; from < end; ++from)
      for (const int axis : usable) {
        if (std::find(lists[from].begin(), lists[from].end(), axis) != lists[from].end()) continue;
        if (lists.size() == kMost)
          throw UserError(fmt::format("a dimension could be split in more than {} ways", kMost),
                          "give --max-axes-per-dim a smaller number, or the mesh fewer axes");
        lists.push_back(lists[from]);
        lists.back().push_back(axis);
      }
  }
  return lists;
}

// A bit for each usable axis. Axes of size 1 split nothing and have no bit.
uint64_t mask_of(const AxisList& axes, const AxisList& usable) {
  uint64_t mask = 0;
  for (const int axis : axes)
    if (const auto at = std::find(usable.begin(), usable.end(), axis); at != usable.end())
      mask |= uint64_t{1} << (at - usable.begin());
  return mask;
}

}  // namespace

SearchSpace::SearchSpace(const Model& model, Layout fixed, const Hardware& hardware,
                         const SpaceLimits& limits)
    : fixed_(std::move(fixed)) {
  Pairs& pairs = pairs_;
  add_pairs(model.graph, pairs);
  if (limits.decodes && model.decode) add_pairs(model.decode->graph, pairs);
  for (const Dim& dim : model.dims) {
    const bool may = limits.dims.empty() ||
                     std::find(limits.dims.begin(), limits.dims.end(), dim.name) != limits.dims.end();
    if (may && dim.size > 1 && pairs.count({dim.name, dim.name}) > 0 && !find_rule(fixed_, dim.name))
      add_dim(dim, pairs, limits);
  }
  for (const AxisList& kind : alike_axes(model, fixed_, hardware))
    for (const int one : kind)
      for (const int other : kind)
        if (one < other && fixed_.mesh.size(one) > 1 && fixed_.mesh.size(one) == fixed_.mesh.size(other))
          add_mirror(one, other);
}

void SearchSpace::add_dim(const Dim& dim, const Pairs& pairs, const SpaceLimits& limits) {
  const AxisList usable = usable_axes(fixed_.mesh);
  SearchedDim searched{dim, lists_of(usable, limits.most_axes)};
  if (!limits.allow_uneven)
    std::erase_if(searched.options,
                  [&](const AxisList& axes) { return dim.size % fixed_.mesh.size(axes) != 0; });
  std::vector<uint64_t> masks;
  for (const AxisList& axes : searched.options) masks.push_back(mask_of(axes, usable));
  std::vector<size_t> neighbours;
  for (size_t d = 0; d < dims_.size(); ++d)
    if (pairs.count({dim.name, dims_[d].dim.name}) > 0) neighbours.push_back(d);
  uint64_t taken = 0;
  for (const Rule& rule : fixed_.rules)
    if (pairs.count({dim.name, rule.dim}) > 0) taken |= mask_of(rule.axes, usable);
  dims_.push_back(std::move(searched));
  masks_.push_back(std::move(masks));
  neighbours_.push_back(std::move(neighbours));
  taken_.push_back(taken);
}

void SearchSpace::add_mirror(int one, int other) {
  Mirror mirror;
  for (const SearchedDim& searched : dims_) {
    std::vector<uint16_t> goes;
    for (AxisList axes : searched.options) {
      for (int& axis : axes) axis = axis == one ? other : axis == other ? one : axis;
      const auto at = std::find(searched.options.begin(), searched.options.end(), axes);
      goes.push_back(static_cast<uint16_t>(at - searched.options.begin()));
    }
    mirror.push_back(std::move(goes));
  }
  mirrors_.push_back(std::move(mirror));
}

bool SearchSpace::comes_earlier(const Mirror& mirror, RuleChoice choice, const std::vector<size_t>& order) {
  for (const size_t d : order) {
    if (choice[d] == kUndecided) return false;
    const uint16_t image = mirror[d][choice[d]];
    if (image != choice[d]) return image < choice[d];
  }
  return false;
}

// Single swaps suffice: of all images under any number of swaps, each but the first has an earlier image
// under a single one.
bool SearchSpace::has_earlier_mirror(RuleChoice choice, const std::vector<size_t>& order) const {
  return std::any_of(mirrors_.begin(), mirrors_.end(),
                     [&](const Mirror& mirror) { return comes_earlier(mirror, choice, order); });
}

std::vector<uint16_t> SearchSpace::first_mirror(RuleChoice choice, const std::vector<size_t>& order) const {
  std::vector<uint16_t> first(choice.begin(), choice.end());
  while (has_earlier_mirror(first, order))
    for (const Mirror& mirror : mirrors_)
      if (comes_earlier(mirror, first, order))
        for (size_t d = 0; d < first.size(); ++d) first[d] = mirror[d][first[d]];
  return first;
}

class SearchSpace::Walk {
 public:
  Walk(const SearchSpace& space, const Visit& visit)
      : space_(space), visit_(visit), choice_(space.dims_.size()), order_(space.dims_.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
  }

  bool from(size_t dim) {
    if (dim == choice_.size()) return visit_(choice_, space_.has_earlier_mirror(choice_, order_));
    uint64_t taken = space_.taken_[dim];
    for (const size_t neighbour : space_.neighbours_[dim])
      taken |= space_.masks_[neighbour][choice_[neighbour]];
    for (size_t option = 0; option < space_.masks_[dim].size(); ++option) {
      if (space_.masks_[dim][option] & taken) continue;
      choice_[dim] = static_cast<uint16_t>(option);
      if (!from(dim + 1)) return false;
    }
    return true;
  }

 private:
  const SearchSpace& space_;
  const Visit& visit_;
  std::vector<uint16_t> choice_;
  std::vector<size_t> order_;
};

bool SearchSpace::agree(size_t dim, uint16_t option, size_t other, uint16_t other_option) const {
  if (!is_possible(dim, option) || !is_possible(other, other_option)) return false;
  if ((masks_[dim][option] & masks_[other][other_option]) == 0 || dim == other) return true;
  const std::vector<size_t>& later = neighbours_[std::max(dim, other)];
  return std::find(later.begin(), later.end(), std::min(dim, other)) == later.end();
}

double SearchSpace::rule_sets() const {
  double count = 1;
  for (const SearchedDim& dim : dims_) count *= static_cast<double>(dim.options.size());
  return count;
}

void SearchSpace::each(const Visit& visit) const {
  Walk(*this, visit).from(0);
}

Layout SearchSpace::layout(RuleChoice choice) const {
  Layout layout = fixed_;
  for (size_t d = 0; d < choice.size(); ++d)
    if (choice[d] > 0) layout.rules.push_back({dims_[d].dim.name, dims_[d].options[choice[d]], {}});
  return layout;
}

std::vector<AxisList> alike_axes(const Model& model, const Layout& fixed, const Hardware& hardware) {
  const Mesh& mesh = fixed.mesh;
  if (hardware.topology != Topology::kFullyConnected && hardware.topology != Topology::kTorus) return {};
  const auto is_named = [&](int axis) {
    const std::string& name = mesh.axes()[static_cast<size_t>(axis)].name;
    for (const Rule& rule : fixed.rules)
      if (std::find(rule.axes.begin(), rule.axes.end(), axis) != rule.axes.end()) return true;
    // The link of a group, such as `rows+cols`, depends on the order of its axes, so these are not alike.
    for (const auto& [key, unused] : hardware.axes)
      if (fmt::format("+{}+", key).find(fmt::format("+{}+", name)) != std::string::npos && key != name)
        return true;
    return model.train &&
           std::find(model.train->shard_state_over.begin(), model.train->shard_state_over.end(), name) !=
               model.train->shard_state_over.end();
  };
  const auto link_of = [&](int axis) -> std::optional<Link> {
    for (const std::string& key : {mesh.axes()[static_cast<size_t>(axis)].name, std::string("*")})
      if (const auto at = hardware.axes.find(key); at != hardware.axes.end()) return at->second;
    return std::nullopt;
  };
  std::vector<AxisList> kinds;
  for (int axis = 0; axis < static_cast<int>(mesh.axes().size()); ++axis) {
    if (is_named(axis)) continue;
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const AxisList& axes) {
      return link_of(axes.front()) == link_of(axis);
    });
    if (kind == kinds.end())
      kinds.push_back({axis});
    else
      kind->push_back(axis);
  }
  return kinds;
}

}  // namespace mtfc
