#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/diagnostics/suggest.h"
#include "formats/expression/expression.h"
#include "formats/model/part_readers.h"

namespace mtfc {
namespace {

// The axes at `at`, a name or a list of names, that no other dimension of the tensor has.
std::vector<NamedAxis> read_axes(const Cursor& at, const std::vector<NamedSplit>& before) {
  std::vector<Cursor> items = {at};
  if (at.is(JsonKind::kArray)) {
    items = at.items();
    if (items.empty()) at.error("the list names no axis", "leave out a dimension that is not split");
  }
  std::vector<NamedAxis> axes;
  for (const Cursor& item : items) {
    const std::optional<std::string> name = item.string("the name of an axis, or a list of them");
    if (!name) continue;
    const auto is_same = [&](const NamedAxis& axis) { return axis.name == *name; };
    const bool used = std::any_of(axes.begin(), axes.end(), is_same) ||
                      std::any_of(before.begin(), before.end(), [&](const NamedSplit& split) {
                        return std::any_of(split.axes.begin(), split.axes.end(), is_same);
                      });
    if (!is_expression_name(*name))
      item.error(fmt::format("'{}' can't name an axis", *name),
                 "names are letters, digits and '_', and start with a letter or '_'");
    else if (used)
      item.error(fmt::format("the axis '{}' appears twice in one sharding", *name),
                 "an axis can split one dimension of a tensor");
    else
      axes.push_back({*name, item.location()});
  }
  return axes;
}

std::vector<std::string> names_in(const std::vector<Dims>& dims) {
  std::vector<std::string> names;
  for (const Dims& list : dims)
    for (const Dim& dim : list) names.push_back(dim.name);
  return names;
}

}  // namespace

void read_sharding(const Cursor& at, const std::vector<std::string>& names, const std::vector<Dims>& dims,
                   ModelDraft& draft) {
  const std::optional<Cursor> sharding = at.find("sharding");
  if (!sharding) return;
  ModelAnnotation annotation{{}, {}, sharding->location()};
  const size_t before = at.sink().error_count();
  for (const NamedCursor& member : sharding->members("an object {dimension: axis or list of axes}")) {
    // In a block, the key is a formal dimension.
    const Dim* dim = draft.names().dim(member.key);
    const auto has = [&](const Dims& list) { return dim && contains(list, dim->name); };
    if (std::none_of(dims.begin(), dims.end(), has)) {
      at.sink().error(member.key_location,
                      fmt::format("'{}' has no dimension '{}'", names.front(), member.key),
                      did_you_mean(member.key, names_in(dims)));
      continue;
    }
    annotation.splits.push_back({dim->name, read_axes(member.value, annotation.splits)});
  }
  if (at.sink().error_count() > before) return;
  for (const std::string& name : names) {
    annotation.tensor = name;
    draft.model.annotations.push_back(annotation);
  }
}

}  // namespace mtfc
