#include "core/op_rules/mixed_dims.h"

#include <algorithm>

#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

// A dimension of size 1 has no elements that could be mixed.
Dims longer_than_one(Dims dims) {
  std::erase_if(dims, [](const Dim& dim) { return dim.size == 1; });
  return dims;
}

std::vector<std::string> mixed_names(const Dims& from, const Dims& to) {
  std::vector<std::string> names;
  for (const ReshapeGroup& group : reshape_groups(from, to)) {
    const bool is_single = group.from_end - group.from_begin == 1 && group.to_end - group.to_begin == 1;
    for (size_t d = group.from_begin; d < group.from_end; ++d)
      if (contains(to, from[d].name) && !(is_single && to[group.to_begin].name == from[d].name))
        names.push_back(from[d].name);
  }
  return names;
}

// The dimensions of `to`, with those of `from` that `to` lacks in place of those that only `to` has, in their order;
// nothing if their sizes don't allow it.
Dims ordered_like(const Dims& from, const Dims& to) {
  Dims order, left = without(from, to);
  const auto fits = [&](int64_t size) {
    while (size > 1 && !left.empty() && size % left.front().size == 0) {
      size /= left.front().size;
      order.push_back(left.front());
      left.erase(left.begin());
    }
    return size == 1;
  };
  int64_t size = 1;  // of the dimensions that only `to` has, since the last one that both have
  for (const Dim& dim : to) {
    if (!contains(from, dim.name)) {
      size *= dim.size;
      continue;
    }
    if (!fits(size)) return {};
    size = 1;
    order.push_back(dim);
  }
  return fits(size) && left.empty() ? order : Dims{};
}

}  // namespace

MixedDims mixed_dims(const Dims& from, const Dims& to) {
  const Dims source = longer_than_one(from), target = longer_than_one(to);
  MixedDims mixed{mixed_names(source, target), {}};
  if (mixed.names.empty()) return mixed;
  Dims order = ordered_like(source, target);
  if (order.empty() || !mixed_names(order, target).empty()) return mixed;
  for (const Dim& dim : unite(order, from)) mixed.order.push_back(dim.name);
  return mixed;
}

}  // namespace mtfc
