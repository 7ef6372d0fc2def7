#include <fmt/format.h>

#include <algorithm>

#include "formats/report/html_parts.h"
#include "formats/report/html_sections.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr int64_t kMostDown = 8, kMostAcross = 12;  // devices of a side that is drawn in full
constexpr int64_t kMostJudged = 1 << 20;            // devices for which axes are compared with nodes
constexpr size_t kMostDims = 6;                     // named for an axis
constexpr int64_t kGapIndex = -1;

// The indices of a side of `size` devices that are drawn; kGapIndex for the gap in a long one.
std::vector<int64_t> drawn_indices(int64_t size, int64_t most) {
  std::vector<int64_t> drawn;
  for (int64_t i = 0; i < (size <= most ? size : most - 2); ++i) drawn.push_back(i);
  if (size > most) drawn.insert(drawn.end(), {kGapIndex, size - 1});
  return drawn;
}

// The devices of a mesh: the last axis runs across, all others down.
class MeshDrawing {
 public:
  MeshDrawing(const Mesh& mesh, int64_t ranks_per_node) : mesh_(mesh), per_node_(ranks_per_node) {
    for (size_t axis = 0; axis < mesh.axes().size(); ++axis)
      (axis + 1 < mesh.axes().size() ? down_ : across_).push_back(static_cast<int>(axis));
    rows_ = mesh.size(down_);
    columns_ = mesh.size(across_);
  }

  std::string html() const {
    const std::vector<int64_t> rows = drawn_indices(rows_, kMostDown),
                               columns = drawn_indices(columns_, kMostAcross);
    std::string text =
        "<div class=wide tabindex=0 role=group aria-label=\"ranks of the mesh\"><table class=mesh>";
    text += "<caption>";
    if (!down_.empty()) text += html_escaped(mesh_.names(down_)) + " down, ";
    text += html_escaped(mesh_.names(across_)) + " across</caption><tr>";
    if (!down_.empty()) text += "<td></td>";
    for (const int64_t column : columns)
      text += column == kGapIndex ? "<td>&#8943;</td>" : fmt::format("<th scope=col>{}</th>", column);
    text += "</tr>\n";
    for (const int64_t row : rows) {
      text += "<tr>";
      if (!down_.empty())
        text += row == kGapIndex ? "<td>&#8942;</td>" : "<th scope=row>" + row_name(row) + "</th>";
      for (const int64_t column : columns) text += cell(row, column);
      text += "</tr>\n";
    }
    return text + "</table></div>";
  }

 private:
  // The position along each axis that runs down: `3`, or `1 &middot; 0`.
  std::string row_name(int64_t row) const {
    const Coordinates at = mesh_.moved(Coordinates(mesh_.axes().size(), 0), down_, row);
    std::string name;
    for (const int axis : down_)
      name += (name.empty() ? "" : " &middot; ") + fmt::format("{}", at[static_cast<size_t>(axis)]);
    return name;
  }

  int64_t rank(int64_t row, int64_t column) const {
    const Coordinates origin(mesh_.axes().size(), 0);
    return mesh_.rank(mesh_.moved(mesh_.moved(origin, down_, row), across_, column));
  }

  // A device outside the mesh has no node.
  int64_t node(int64_t row, int64_t column) const {
    const bool is_inside = row >= 0 && row < rows_ && column >= 0 && column < columns_;
    return is_inside ? rank(row, column) / per_node_ : -1;
  }

  // A node is outlined where the next device belongs to another one.
  std::string cell(int64_t row, int64_t column) const {
    if (row == kGapIndex || column == kGapIndex) return "<td class=gap>&#8943;</td>";
    const int64_t own_rank = rank(row, column);
    if (per_node_ == 0) return fmt::format("<td class=device>{}</td>", own_rank);
    const int64_t own = node(row, column);
    std::string sides;
    if (node(row - 1, column) != own) sides += " top";
    if (node(row, column + 1) != own) sides += " right";
    if (node(row + 1, column) != own) sides += " low";
    if (node(row, column - 1) != own) sides += " left";
    return fmt::format("<td class=\"device{}\" style=\"background:hsl({} 70% 85%)\">{}</td>", sides,
                       own * 47 % 360, own_rank);
  }

  const Mesh& mesh_;
  int64_t per_node_;
  AxisList down_, across_;
  int64_t rows_ = 1, columns_ = 1;
};

// The dimensions that rules split over the axis, also in a part of the model only.
std::string split_dims(const Layout& layout, int axis) {
  std::vector<std::string> dims;
  const auto add = [&](const Rule& rule) {
    if (contains(rule.axes, axis) && std::find(dims.begin(), dims.end(), rule.dim) == dims.end())
      dims.push_back(rule.dim);
  };
  for (const Rule& rule : layout.rules) add(rule);
  for (const LimitedRule& limited : layout.limited_rules) add(limited.rule);
  std::string text;
  for (size_t i = 0; i < std::min(dims.size(), kMostDims); ++i)
    text += (i == 0 ? "" : ", ") + html_escaped(dims[i]);
  if (dims.size() > kMostDims) text += fmt::format(" and {} more", dims.size() - kMostDims);
  return text;
}

// Says whether devices along the axis share a node.
std::string place_of_axis(const Mesh& mesh, int axis, int64_t ranks_per_node) {
  const int64_t devices = mesh.devices();
  if (devices > kMostJudged || mesh.size(axis) == 1) return "";
  bool some_within = false, some_between = false;
  for (int64_t rank = 0; rank < devices; ++rank) {
    const Coordinates at = mesh.coordinates(rank);
    const int64_t index = at[static_cast<size_t>(axis)];
    if (index == 0) continue;
    const int64_t before = mesh.rank(mesh.moved(at, {axis}, index - 1));
    (before / ranks_per_node == rank / ranks_per_node ? some_within : some_between) = true;
  }
  return !some_between ? "inside a node" : some_within ? "inside nodes and between them" : "between nodes";
}

std::string axes_table(const Layout& layout, int64_t ranks_per_node) {
  std::vector<HtmlColumn> columns = {{"axis"}, {"devices"}, {"splits", true}};
  if (ranks_per_node > 0) columns.push_back({"joins devices", true});
  std::string html = html_table("axes of the mesh", columns);
  for (size_t i = 0; i < layout.mesh.axes().size(); ++i) {
    const Axis& axis = layout.mesh.axes()[i];
    html += "<tr>" + html_row_head(html_escaped(axis.name)) + html_number(axis.size, grouped(axis.size)) +
            html_words(split_dims(layout, static_cast<int>(i)));
    if (ranks_per_node > 0)
      html += html_words(place_of_axis(layout.mesh, static_cast<int>(i), ranks_per_node));
    html += "</tr>\n";
  }
  return html + std::string(html_table_end());
}

std::string nodes_text(int64_t devices, int64_t ranks_per_node) {
  if (ranks_per_node == 0)
    return "Each cell is a device with its rank. The hardware does not say which devices share a node; "
           "<code>--ranks-per-node N</code> does.";
  const int64_t nodes = (devices + ranks_per_node - 1) / ranks_per_node;
  return fmt::format(
      "Each cell is a device with its rank. Lines and colours mark {}: {} {} of {} consecutive ranks.",
      nodes == 1 ? "the node" : "nodes", grouped(nodes), nodes == 1 ? "node" : "nodes",
      grouped(std::min(ranks_per_node, devices)));
}

}  // namespace

std::string mesh_drawing(const Layout& layout, int64_t ranks_per_node) {
  const Mesh& mesh = layout.mesh;
  if (mesh.axes().empty()) return "<p class=dim>One device, without a mesh.</p>";
  return fmt::format("<p class=dim>{}</p><div class=pair><div>{}</div><div>{}</div></div>",
                     nodes_text(mesh.devices(), ranks_per_node), MeshDrawing(mesh, ranks_per_node).html(),
                     axes_table(layout, ranks_per_node));
}

}  // namespace mtfc
