#include "core/search/plain_layouts.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>

namespace mtfc {
namespace {

using Choice = std::vector<uint16_t>;

bool has_dim(const std::set<std::string>& names, const SearchedDim& searched) {
  return names.count(searched.dim.name) > 0;
}

class PlainChoices {
 public:
  PlainChoices(const Model& model, const SearchSpace& space) : space_(space) {
    std::set<std::string> first, of_inputs, of_variables;
    for (const InputDecl& input : model.inputs) {
      if (!input.type.dims.empty()) first.insert(input.type.dims[0].name);
      for (const Dim& dim : input.type.dims) of_inputs.insert(dim.name);
    }
    for (const VariableDecl& variable : model.variables)
      for (const Dim& dim : variable.type.dims) of_variables.insert(dim.name);
    for (size_t d = 0; d < dims().size(); ++d) {
      if (has_dim(first, dims()[d]) && (!batch_ || dims()[d].dim.size > dims()[*batch_].dim.size)) batch_ = d;
      if (has_dim(of_variables, dims()[d]) && !has_dim(of_inputs, dims()[d])) weights_.push_back(d);
    }
  }

  std::vector<Choice> all() {
    const Mesh& mesh = space_.fixed().mesh;
    AxisList axes;
    for (int axis = 0; axis < static_cast<int>(mesh.axes().size()); ++axis)
      if (mesh.size(axis) > 1) axes.push_back(axis);
    add(axes, {});
    for (size_t i = axes.size(); i-- > 0;) {
      AxisList others = axes;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      add(others, {axes[i]});
    }
    add({}, axes);
    for (const int axis : axes) add({axis}, {});
    if (choices_.empty()) choices_.emplace_back(dims().size(), 0);
    return std::move(choices_);
  }

 private:
  const std::vector<SearchedDim>& dims() const { return space_.dims(); }
  int64_t parts(const AxisList& axes) const { return space_.fixed().mesh.size(axes); }

  void add(const AxisList& of_batch, const AxisList& of_weights) {
    Choice choice(dims().size(), 0);
    if (batch_) choice[*batch_] = longest_option(*batch_, of_batch, choice);
    split_weights(of_weights, choice);
    std::vector<size_t> order(choice.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const bool is_whole =
        std::all_of(choice.begin(), choice.end(), [](uint16_t option) { return option == 0; });
    if (is_whole || space_.has_earlier_mirror(choice, order)) return;
    if (std::find(choices_.begin(), choices_.end(), choice) == choices_.end()) choices_.push_back(choice);
  }

  // Dimensions that exclude few others come first, and of those the ones that divide evenly.
  void split_weights(const AxisList& axes, Choice& choice) const {
    const auto key = [&](size_t d) {
      const auto excluded = std::count_if(weights_.begin(), weights_.end(), [&](size_t other) {
        return space_.pairs().count({dims()[d].dim.name, dims()[other].dim.name}) > 0;
      });
      return std::tuple(excluded, dims()[d].dim.size % parts(axes) != 0, d);
    };
    std::vector<size_t> order = weights_;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
    for (const size_t d : order)
      if (dims()[d].dim.size >= parts(axes)) choice[d] = longest_option(d, axes, choice);
  }

  // The option that splits the dimension over those of the axes that are free, without the smallest ones if it may not
  // be split over so many.
  uint16_t longest_option(size_t dim, AxisList axes, const Choice& choice) const {
    std::erase_if(axes, [&](int axis) { return !legal_option(dim, {axis}, choice); });
    while (!axes.empty()) {
      if (const std::optional<uint16_t> option = legal_option(dim, axes, choice)) return *option;
      axes.erase(
          std::min_element(axes.begin(), axes.end(), [&](int a, int b) { return parts({a}) < parts({b}); }));
    }
    return 0;
  }

  std::optional<uint16_t> legal_option(size_t dim, const AxisList& axes, const Choice& choice) const {
    const std::vector<AxisList>& options = dims()[dim].options;
    const auto at = std::find(options.begin(), options.end(), axes);
    if (at == options.end()) return std::nullopt;
    const auto option = static_cast<uint16_t>(at - options.begin());
    for (size_t other = 0; other < choice.size(); ++other)
      if (!space_.agree(dim, option, other, choice[other])) return std::nullopt;
    return option;
  }

  const SearchSpace& space_;
  std::optional<size_t> batch_;  // positions in the space
  std::vector<size_t> weights_;
  std::vector<Choice> choices_;
};

}  // namespace

std::vector<std::vector<uint16_t>> plain_choices(const Model& model, const SearchSpace& space) {
  return PlainChoices(model, space).all();
}

}  // namespace mtfc
