#include "formats/report/html_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/program/repeated_names.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr int64_t kSide = 8;       // a side with at most this many shards is drawn in full
constexpr size_t kMostDrawn = 60;  // different tensors
constexpr size_t kMostNamed = 6;   // tensors named above a shared drawing, those of repeated blocks as one
constexpr int64_t kMostRanks = 4;  // named in a shard

// The shards along one side: all combinations of the pieces of some dimensions, major first.
struct Side {
  std::vector<size_t> dims;
  int64_t shards = 1;
  std::vector<int64_t> drawn;  // shard indices; -1 for the gap
};

class TensorDrawing {
 public:
  TensorDrawing(const TensorCost& tensor, const Mesh& mesh) : tensor_(tensor), mesh_(mesh) {
    std::vector<size_t> split;
    for (size_t d = 0; d < tensor.dims.size(); ++d)
      if (parts(d) > 1) split.push_back(d);
    // In the matrix, the first split dimension runs down, unless it is the tensor's last; the others run
    // across.
    for (const size_t d : split) {
      const bool down = d == split.front() && (split.size() > 1 || d + 1 < tensor.dims.size());
      (down ? down_ : across_).dims.push_back(d);
    }
    for (Side* side : {&down_, &across_}) {
      for (const size_t d : side->dims) side->shards *= parts(d);
      const bool all = side->shards <= kSide;
      for (int64_t i = 0; i < (all ? side->shards : kSide - 2); ++i) side->drawn.push_back(i);
      if (!all) side->drawn.insert(side->drawn.end(), {-1, side->shards - 1});
    }
  }

  std::string text() const {
    const int64_t shards = down_.shards * across_.shards;
    std::string text = "<p class=scale>" + (shards > 1 ? grouped(shards) + " shards" : "not split");
    for (const Side* side : {&down_, &across_})
      for (const size_t d : side->dims)
        text += fmt::format(", <b>{}</b> over {} {}", html_escaped(tensor_.dims[d].name),
                            html_escaped(mesh_.names(tensor_.sharding.dims[d])),
                            side == &down_ ? "(down)" : "(across)");
    text += fmt::format(
        "</p><div class=wide tabindex=0 role=group aria-label=\"shards of {}\"><table class=matrix>",
        html_escaped(tensor_.name));
    if (!across_.dims.empty()) {
      text += "<tr>" + std::string(down_.dims.empty() ? "" : "<td></td>");
      for (const int64_t column : across_.drawn) text += "<th scope=col>" + ranges(across_, column) + "</th>";
      text += "</tr>";
    }
    for (const int64_t row : down_.drawn) {
      text += "<tr>" + (down_.dims.empty() ? std::string() : "<th scope=row>" + ranges(down_, row) + "</th>");
      for (const int64_t column : across_.drawn) text += cell(row, column);
      text += "</tr>";
    }
    return text + "</table></div>";
  }

 private:
  int64_t parts(size_t dim) const { return mesh_.size(tensor_.sharding.dims[dim]); }

  // Calls `use` with each dimension of a side and the index of its piece in shard `index`.
  template <typename Use>
  void each_part(const Side& side, int64_t index, Use use) const {
    for (size_t i = side.dims.size(); i-- > 0;) {
      const int64_t count = parts(side.dims[i]);
      use(side.dims[i], index % count);
      index /= count;
    }
  }

  std::string ranges(const Side& side, int64_t index) const {
    if (index < 0) return "&#8943;";
    std::string text;
    each_part(side, index, [&](size_t dim, int64_t part) {
      const Interval held = shard_interval(tensor_.dims[dim].size, parts(dim), part);
      const std::string range = held.size() == 0   ? "none"
                                : held.size() == 1 ? fmt::format("{}", held.begin)
                                                   : fmt::format("{}&ndash;{}", held.begin, held.end - 1);
      text = range + (text.empty() ? "" : " &middot; ") + text;
    });
    return text;
  }

  std::string cell(int64_t row, int64_t column) const {
    if (row < 0 || column < 0) return "<td class=gap>&#8943;</td>";
    Coordinates at(mesh_.axes().size(), 0);
    for (const auto& [side, index] : {std::pair(&down_, row), std::pair(&across_, column)})
      each_part(*side, index, [&](size_t dim, int64_t part) {
        at = mesh_.moved(std::move(at), tensor_.sharding.dims[dim], part);
      });
    const int64_t shard = row * across_.shards + column;
    return fmt::format("<td style=\"background:hsl({} 70% 85%)\">{}</td>", (shard * 47) % 360, ranks(at));
  }

  // The ranks of the devices that differ from `at` only along axes that split nothing.
  std::string ranks(const Coordinates& at) const {
    AxisList free;
    const AxisList split = split_axes(tensor_.sharding);
    for (size_t axis = 0; axis < mesh_.axes().size(); ++axis)
      if (!contains(split, static_cast<int>(axis))) free.push_back(static_cast<int>(axis));
    const int64_t count = mesh_.size(free);
    std::string text;
    for (int64_t i = 0; i < count; ++i) {
      if (count > kMostRanks && i == kMostRanks - 1) {
        i = count - 1;
        text += " &#8230;";
      }
      text += fmt::format("{}{}", text.empty() ? "" : " ", mesh_.rank(mesh_.moved(at, free, i)));
    }
    return count > kMostRanks ? fmt::format("{} <small>({} ranks)</small>", text, grouped(count)) : text;
  }

  const TensorCost& tensor_;
  const Mesh& mesh_;
  Side down_, across_;
};

int64_t size_of_tensor(const TensorCost& tensor) {
  return elements(tensor.dims);
}

// The names of the tensors in their order, with those of repeated blocks folded into one.
std::vector<std::string> folded_names(const std::vector<const TensorCost*>& tensors) {
  std::map<std::string, size_t> places;
  std::vector<std::vector<std::string>> groups;
  for (const TensorCost* tensor : tensors) {
    const auto [at, is_new] = places.try_emplace(unnumbered(tensor->name), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(tensor->name);
  }
  std::vector<std::string> names;
  for (const std::vector<std::string>& group : groups) names.push_back(folded(group));
  return names;
}

std::string caption(const std::vector<const TensorCost*>& alike, const Mesh& mesh) {
  const std::vector<std::string> all = folded_names(alike);
  std::string names;
  for (size_t i = 0; i < std::min(all.size(), kMostNamed); ++i)
    names += (i == 0 ? "" : ", ") + html_escaped(all[i]);
  if (all.size() > kMostNamed) names += fmt::format(" and {} more", all.size() - kMostNamed);
  std::string dims;
  for (const Dim& dim : alike.front()->dims)
    dims +=
        fmt::format("{}{} {}", dims.empty() ? "" : " &times; ", html_escaped(dim.name), grouped(dim.size));
  std::string text = fmt::format("<h4>{}</h4><p>{}", names, dims.empty() ? "a scalar" : dims);
  for (const Partial& partial : alike.front()->sharding.partial)
    text += fmt::format("; unreduced over {}: each rank holds a part of its {}",
                        html_escaped(mesh.axes()[static_cast<size_t>(partial.axis)].name),
                        to_string(partial.kind));
  return text + "</p>";
}

}  // namespace

std::string tensor_drawings(const CostReport& report) {
  const Mesh& mesh = report.layout.mesh;
  std::map<std::string, std::vector<const TensorCost*>> groups;
  for (const TensorCost& tensor : report.tensors) {
    std::string key = to_string(tensor.dims, tensor.sharding, mesh);
    for (const Dim& dim : tensor.dims) key += fmt::format("|{}", dim.size);
    groups[key].push_back(&tensor);
  }
  std::vector<const std::vector<const TensorCost*>*> ordered;
  for (const auto& [key, alike] : groups) ordered.push_back(&alike);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) {
    return size_of_tensor(*a->front()) > size_of_tensor(*b->front());
  });
  std::string text;
  if (ordered.size() > kMostDrawn)
    text += fmt::format("<p>The {} largest of {} different ones.</p>", kMostDrawn, ordered.size());
  text += "<div class=tensors>";
  for (size_t i = 0; i < std::min(ordered.size(), kMostDrawn); ++i)
    text += "<figure>" + caption(*ordered[i], mesh) + TensorDrawing(*ordered[i]->front(), mesh).text() +
            "</figure>";
  return text + "</div>";
}

}  // namespace mtfc
