#include "formats/report/html_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/program/repeated_names.h"
#include "core/tensors/shard_grid.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr int64_t kSide = 8;       // a side with at most this many shards is drawn in full
constexpr size_t kMostDrawn = 60;  // different tensors
constexpr size_t kMostNamed = 6;   // tensors named above a shared drawing, those of repeated blocks as one
constexpr int64_t kMostRanks = 4;  // named in a shard

class TensorDrawing {
 public:
  TensorDrawing(const TensorCost& tensor, const Mesh& mesh)
      : tensor_(tensor),
        mesh_(mesh),
        grid_(tensor.dims, tensor.sharding, mesh),
        rows_(drawn_shards(grid_.down().shards, kSide)),
        columns_(drawn_shards(grid_.across().shards, kSide)) {}

  std::string text() const {
    const ShardGrid::Side &down = grid_.down(), &across = grid_.across();
    const int64_t shards = down.shards * across.shards;
    std::string text = "<p class=scale>" + (shards > 1 ? grouped(shards) + " shards" : "not split");
    for (const ShardGrid::Side* side : {&down, &across})
      for (const size_t d : side->dims)
        text += fmt::format(", <b>{}</b> over {} {}", html_escaped(tensor_.dims[d].name),
                            html_escaped(mesh_.names(tensor_.sharding.dims[d])),
                            side == &down ? "(down)" : "(across)");
    text += fmt::format(
        "</p><div class=wide tabindex=0 role=group aria-label=\"shards of {}\"><table class=matrix>",
        html_escaped(tensor_.name));
    if (!across.dims.empty()) {
      text += "<tr>" + std::string(down.dims.empty() ? "" : "<td></td>");
      for (const int64_t column : columns_) text += "<th scope=col>" + ranges(across, column) + "</th>";
      text += "</tr>";
    }
    for (const int64_t row : rows_) {
      text += "<tr>" + (down.dims.empty() ? std::string() : "<th scope=row>" + ranges(down, row) + "</th>");
      for (const int64_t column : columns_) text += cell(row, column);
      text += "</tr>";
    }
    return text + "</table></div>";
  }

 private:
  std::string ranges(const ShardGrid::Side& side, int64_t index) const {
    if (index < 0) return "&#8943;";
    std::string text;
    for (const Interval& held : grid_.held(side, index))
      text += (text.empty() ? "" : " &middot; ") +
              (held.size() == 0   ? std::string("none")
               : held.size() == 1 ? fmt::format("{}", held.begin)
                                  : fmt::format("{}&ndash;{}", held.begin, held.end - 1));
    return text;
  }

  std::string cell(int64_t row, int64_t column) const {
    if (row < 0 || column < 0) return "<td class=gap>&#8943;</td>";
    const int64_t shard = row * grid_.across().shards + column;
    return fmt::format("<td style=\"background:hsl({} 70% 85%)\">{}</td>", (shard * 47) % 360,
                       ranks(row, column));
  }

  // The ranks that hold a shard: all of them, or the first ones and the last.
  std::string ranks(int64_t row, int64_t column) const {
    const int64_t count = grid_.holders();
    std::string text;
    for (const int64_t holder : drawn_shards(count, kMostRanks + 1))
      text += (text.empty() ? "" : " ") +
              (holder < 0 ? std::string("&#8230;") : fmt::format("{}", grid_.rank(row, column, holder)));
    return count > kMostRanks + 1 ? fmt::format("{} <small>({} ranks)</small>", text, grouped(count)) : text;
  }

  const TensorCost& tensor_;
  const Mesh& mesh_;
  const ShardGrid grid_;
  const std::vector<int64_t> rows_, columns_;
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
