#include "formats/report/placement_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "core/diagnostics/printable.h"
#include "core/program/repeated_names.h"
#include "core/program/reshard_list.h"
#include "core/tensors/shard_grid.h"
#include "formats/json/output_object.h"
#include "formats/text/quantity.h"
#include "formats/text/wrapped_text.h"

namespace mtfc {
namespace {

constexpr int64_t kRowsOfDrawing = 8;  // of a drawing
constexpr int64_t kRanksOfCell = 4;    // in a cell

std::string device_count_text(int64_t count) {
  return count == 1 ? "one device" : grouped(count) + " devices";
}

// `0-511`: the indices of an interval, the last included.
std::string indices_text(const Interval& held) {
  if (held.size() == 0) return "none";
  return held.size() == 1 ? fmt::format("{}", held.begin) : fmt::format("{}-{}", held.begin, held.end - 1);
}

std::string partial_text(const Sharding& sharding, const Mesh& mesh) {
  std::string text;
  for (const Partial& partial : sharding.partial)
    text += fmt::format("{}{} over {}", text.empty() ? "" : ", ", to_string(partial.kind),
                        printable(mesh.names({partial.axis})));
  return text;
}

// `[batch 16/rows, length 64], sum over cols`.
std::string split_text(const PlacedTensor& tensor, const Mesh& mesh) {
  std::string text;
  for (size_t d = 0; d < tensor.type.dims.size(); ++d) {
    const Dim& dim = tensor.type.dims[d];
    text += fmt::format("{}{} {}", d == 0 ? "" : ", ", printable(dim.name), dim.size);
    const AxisList& axes = tensor.sharding.dims[d];
    if (!axes.empty())
      text += fmt::format("/{}{}", printable(mesh.names(axes)), tensor.sharding.window(d) ? "~" : "");
  }
  const std::string partial = partial_text(tensor.sharding, mesh);
  return "[" + text + "]" + (partial.empty() ? "" : ", " + partial);
}

// `[batch 8-15 of 16, length 64]`: the region of one device.
std::string region_text(const PlacedTensor& tensor, const Mesh& mesh, const Coordinates& at) {
  const Box box = local_box(tensor.type.dims, tensor.sharding, mesh, at);
  std::string text;
  for (size_t d = 0; d < box.size(); ++d) {
    const Dim& dim = tensor.type.dims[d];
    text += fmt::format("{}{} ", d == 0 ? "" : ", ", printable(dim.name));
    text += box[d].size() == dim.size ? fmt::format("{}", dim.size)
                                      : fmt::format("{} of {}", indices_text(box[d]), dim.size);
  }
  const std::string partial = partial_text(tensor.sharding, mesh);
  return "[" + text + "]" + (partial.empty() ? "" : ", part of the " + partial);
}

int64_t bytes_on(const PlacedTensor& tensor, const Mesh& mesh, const PlacementStyle& style) {
  if (!style.rank) return largest_bytes(tensor.type, tensor.sharding, mesh);
  const Box box = local_box(tensor.type.dims, tensor.sharding, mesh, mesh.coordinates(*style.rank));
  return elements(box) * size_of(tensor.type.dtype);
}

int64_t holders(const PlacedTensor& tensor, const Mesh& mesh) {
  return mesh.devices() / mesh.size(split_axes(tensor.sharding));
}

// `2 copies`, `2 parts` of a sum, or "" if each shard is on one device.
std::string copies_text(const PlacedTensor& tensor, const Mesh& mesh) {
  const int64_t count = holders(tensor, mesh);
  if (count == 1) return "";
  const int64_t parts = mesh.size(partial_axes(tensor.sharding));
  if (parts == 1) return fmt::format("{} copies", grouped(count));
  return count == parts ? fmt::format("{} parts", grouped(parts))
                        : fmt::format("{} copies of {} parts", grouped(count / parts), grouped(parts));
}

// -- the list --

constexpr EnumName<TensorRole> kTitles[] = {
    {TensorRole::kInput, "inputs"},          {TensorRole::kVariable, "variables"},
    {TensorRole::kState, "optimizer state"}, {TensorRole::kCache, "caches"},
    {TensorRole::kOutput, "outputs"},        {TensorRole::kComputed, "computed"}};

// Tensors that differ in the number of a repetition only.
struct AlikeTensors {
  std::vector<std::string> names;
  const PlacedTensor* first = nullptr;
  int64_t bytes = 0;  // on a device, all of them together
};

std::vector<AlikeTensors> alike_tensors(const std::vector<PlacedTensor>& tensors, const Mesh& mesh,
                                        const PlacementStyle& style) {
  std::vector<AlikeTensors> groups;
  std::map<std::string, size_t> known;
  for (const PlacedTensor& tensor : tensors) {
    const std::string key = fmt::format("{}|{}|{}|{}", static_cast<int>(tensor.role), unnumbered(tensor.name),
                                        to_string(tensor.type), split_text(tensor, mesh));
    const auto [at, is_new] = known.emplace(key, groups.size());
    if (is_new) groups.push_back({{}, &tensor, 0});
    groups[at->second].names.push_back(tensor.name);
    groups[at->second].bytes += bytes_on(tensor, mesh, style);
  }
  return groups;
}

// The mesh with its ranks: its last axis runs across, the others down. A single axis in the order of its ranks needs
// none.
std::string mesh_drawing(const Mesh& mesh, size_t width) {
  if (mesh.devices() == 1 || (mesh.axes().size() == 1 && mesh.device_order().empty())) return "";
  const size_t last = mesh.axes().size() - 1;
  const int64_t across = mesh.axes()[last].size, down = mesh.devices() / across;
  const size_t widest = std::to_string(mesh.devices() - 1).size();
  std::vector<std::vector<std::string>> rows;
  const auto label = [&](int64_t row) {
    std::string text;
    for (size_t axis = last; axis-- > 0;) {
      const int64_t size = mesh.axes()[axis].size;
      text = fmt::format("{} {}{}{}", printable(mesh.axes()[axis].name), row % size, text.empty() ? "" : ", ",
                         text);
      row /= size;
    }
    return text;
  };
  const size_t margin = label(down - 1).size() + printable(mesh.axes()[last].name).size() + 6;
  const size_t room = width > margin ? (width - margin) / (widest + 2) : 0;
  const std::vector<int64_t> drawn = drawn_shards(across, std::max<int64_t>(static_cast<int64_t>(room), 3));
  rows.push_back({"", printable(mesh.axes()[last].name)});
  for (const int64_t column : drawn) rows.front().push_back(column < 0 ? ".." : std::to_string(column));
  for (const int64_t row : drawn_shards(down, kRowsOfDrawing)) {
    rows.push_back({row < 0 ? ".." : label(row), ""});
    for (const int64_t column : drawn) {
      if (row < 0 || column < 0) {
        rows.back().push_back("..");
        continue;
      }
      Coordinates at;
      int64_t rest = row * across + column;
      for (size_t axis = mesh.axes().size(); axis-- > 0; rest /= mesh.axes()[axis].size)
        at.insert(at.begin(), rest % mesh.axes()[axis].size);
      rows.back().push_back(std::to_string(mesh.rank(at)));
    }
  }
  return columns(rows, 2) + "\n";
}

// `x, train, on rows:2,cols:2: 4 devices, batch:rows`.
std::string head_text(const Program& program, const EntryPoint& entry, const PlacementStyle& style) {
  const Mesh& mesh = program.mesh();
  std::string text = fmt::format("{}, {}, on ", printable(program.model), entry.name);
  text += mesh.devices() == 1
              ? "one device"
              : fmt::format("{} ({}), {}", printable(to_string(mesh)), device_count_text(mesh.devices()),
                            printable(described(program.layout)));
  std::string lines = wrapped("", text, ", ", style.width) + "\n";
  if (!style.rank) return lines + mesh_drawing(mesh, style.width);
  std::string at;
  const Coordinates coordinates = mesh.coordinates(*style.rank);
  for (size_t axis = 0; axis < coordinates.size(); ++axis)
    at += fmt::format("{}{} {}", axis == 0 ? " is at " : ", ", printable(mesh.axes()[axis].name),
                      coordinates[axis]);
  return lines + fmt::format("rank {}{}\n\n", *style.rank, at.empty() ? " is the only device" : at);
}

// The lines of one role. A form that leaves no room for the name is on a line of its own.
std::string role_text(const std::vector<AlikeTensors>& groups, const Mesh& mesh,
                      const PlacementStyle& style) {
  int64_t bytes = 0;
  size_t name_width = 0;
  for (const AlikeTensors& group : groups) {
    bytes += group.bytes;
    name_width = std::max(name_width, printable(folded(group.names)).size());
  }
  name_width = std::min(name_width, style.width * 2 / 5);
  std::string text = fmt::format("{}: {} {}\n", name_in(kTitles, groups.front().first->role),
                                 bytes_text(bytes), style.rank ? "on this device" : "per device");
  for (const AlikeTensors& group : groups) {
    const PlacedTensor& tensor = *group.first;
    std::string after = to_string(tensor.type.dtype) + " ";
    after += style.rank ? region_text(tensor, mesh, mesh.coordinates(*style.rank)) : split_text(tensor, mesh);
    after += ", " + bytes_text(group.bytes);
    const std::string copies = copies_text(tensor, mesh);
    if (!copies.empty()) after += ", " + copies;
    const std::string name = printable(folded(group.names));
    if (name.size() > name_width)
      text += "  " + name + "\n" + wrapped(std::string(name_width + 4, ' '), after, ", ", style.width);
    else
      text += wrapped(fmt::format("  {:<{}}  ", name, name_width), after, ", ", style.width);
  }
  return text + "\n";
}

std::vector<PlacedTensor> listed(const Program& program, const EntryPoint& entry,
                                 const PlacementStyle& style) {
  std::vector<PlacedTensor> tensors = placed_tensors(program, entry);
  std::erase_if(tensors, [&](const PlacedTensor& tensor) {
    return style.is_listed ? !style.is_listed(tensor.name)
                           : !style.all && tensor.role == TensorRole::kComputed;
  });
  return tensors;
}

// Removes the optimizer state that is split like its variable, and returns the bytes of it that a device holds.
int64_t take_alike_state(std::vector<PlacedTensor>& tensors, const Mesh& mesh, const PlacementStyle& style) {
  std::map<std::string, std::string> variables;  // how they are split
  for (const PlacedTensor& tensor : tensors)
    if (tensor.role == TensorRole::kVariable) variables[tensor.name] = split_text(tensor, mesh);
  int64_t bytes = 0;
  std::erase_if(tensors, [&](const PlacedTensor& tensor) {
    if (tensor.role != TensorRole::kState) return false;
    const auto variable = variables.find(state_owner(tensor));
    if (variable == variables.end() || variable->second != split_text(tensor, mesh)) return false;
    bytes += bytes_on(tensor, mesh, style);
    return true;
  });
  return bytes;
}

std::string alike_state_text(int64_t bytes, const PlacementStyle& style) {
  return bytes == 0 ? ""
                    : fmt::format("optimizer state, split like the variables: {} {}\n\n", bytes_text(bytes),
                                  style.rank ? "on this device" : "per device");
}

// -- the drawing of one tensor --

class Drawing {
 public:
  Drawing(const PlacedTensor& tensor, const Mesh& mesh, size_t width)
      : tensor_(tensor), mesh_(mesh), grid_(tensor.type.dims, tensor.sharding, mesh) {
    rows_ = drawn_shards(grid_.down().shards, kRowsOfDrawing);
    for (const int64_t row : rows_) margin_ = std::max(margin_, range(grid_.down(), row).size());
    for (int64_t most = std::max<int64_t>(grid_.across().shards, 3);; --most) {
      columns_ = drawn_shards(grid_.across().shards, most);
      measure();
      if (most == 3 || total() <= width) break;
      most = std::min<int64_t>(most, 33);  // no line has room for more columns
    }
  }

  std::string text() const {
    std::string text;
    for (const auto& [side, word] : {std::pair(&grid_.down(), "down"), std::pair(&grid_.across(), "across")})
      if (!side->dims.empty()) text += fmt::format("  {:<7} {}\n", word, dims_text(*side));
    if (!text.empty()) text += "\n";
    if (!grid_.across().dims.empty()) {
      std::vector<std::string> heads;
      for (const int64_t column : columns_) heads.push_back(range(grid_.across(), column));
      text += line("", heads, ' ');
    }
    const std::string rule = line("", {}, '+');
    text += rule;
    for (const int64_t row : rows_) {
      std::vector<std::string> cells;
      for (const int64_t column : columns_) cells.push_back(cell(row, column));
      text += line(grid_.down().dims.empty() ? "" : range(grid_.down(), row), cells, '|') + rule;
    }
    return text;
  }

 private:
  // `batch over rows, heads over cols`.
  std::string dims_text(const ShardGrid::Side& side) const {
    std::string text;
    for (const size_t d : side.dims)
      text += fmt::format("{}{} over {}", text.empty() ? "" : ", ", printable(tensor_.type.dims[d].name),
                          printable(mesh_.names(tensor_.sharding.dims[d])));
    return text;
  }

  std::string range(const ShardGrid::Side& side, int64_t index) const {
    if (index < 0) return "..";
    std::string text;
    for (const Interval& held : grid_.held(side, index))
      text += (text.empty() ? "" : ", ") + indices_text(held);
    return text;
  }

  // `0 2`, or `0 1 2 .. 63` for many ranks.
  std::string cell(int64_t row, int64_t column) const {
    if (row < 0 || column < 0) return "..";
    std::string text;
    for (const int64_t holder : drawn_shards(grid_.holders(), kRanksOfCell + 1))
      text += (text.empty() ? "" : " ") +
              (holder < 0 ? std::string("..") : std::to_string(grid_.rank(row, column, holder)));
    return text;
  }

  void measure() {
    widths_.clear();
    for (const int64_t column : columns_) {
      size_t width = range(grid_.across(), column).size();
      for (const int64_t row : rows_) width = std::max(width, cell(row, column).size());
      widths_.push_back(width + 2);
    }
  }

  size_t total() const {
    size_t sum = margin_ + 3 + 1;
    for (const size_t width : widths_) sum += width + 1;
    return sum;
  }

  // A line of cells with `border` between them; without cells, the rule between lines.
  std::string line(const std::string& label, const std::vector<std::string>& cells, char border) const {
    std::string text = fmt::format("  {:>{}} ", label, margin_) + border;
    for (size_t i = 0; i < widths_.size(); ++i)
      text += (cells.empty() ? std::string(widths_[i], '-') : fmt::format("{:^{}}", cells[i], widths_[i])) +
              border;
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }

  const PlacedTensor& tensor_;
  const Mesh& mesh_;
  ShardGrid grid_;
  std::vector<int64_t> rows_, columns_;
  std::vector<size_t> widths_;
  size_t margin_ = 0;  // of the labels of the rows
};

// The other shardings in which devices hold the tensor.
std::vector<Sharding> other_forms(const EntryPoint& entry, const PlacedTensor& tensor) {
  std::vector<Sharding> forms;
  for (const Value& value : entry.values)
    if (tensor_name(value) == tensor.name && value.type.dims == tensor.type.dims &&
        value.sharding != tensor.sharding &&
        std::find(forms.begin(), forms.end(), value.sharding) == forms.end())
      forms.push_back(value.sharding);
  return forms;
}

constexpr EnumName<TensorRole> kWithArticles[] = {
    {TensorRole::kInput, "an input of"},        {TensorRole::kVariable, "a variable of"},
    {TensorRole::kState, "optimizer state of"}, {TensorRole::kCache, "a cache of"},
    {TensorRole::kOutput, "an output of"},      {TensorRole::kComputed, "computed by"}};

// -- JSON --

using namespace schema_parts;

// The tensors that are listed: of one device, or with the shards of all.
struct Placements {
  const Program& program;
  const EntryPoint& entry;
  std::vector<PlacedTensor> tensors;
  std::optional<int64_t> rank = {};
  bool shows_all_ranks = false;

  const Mesh& mesh() const { return program.mesh(); }
};

Json region_json(const PlacedTensor& tensor, const Mesh& mesh, int64_t rank) {
  return json_list(local_box(tensor.type.dims, tensor.sharding, mesh, mesh.coordinates(rank)),
                   [](const Interval& held) { return json_of(held); });
}

struct HeldBy {
  int64_t rank = 0;
  Json region;
};
const OutputObject<HeldBy> kHeldBy = {{"rank", whole(), &HeldBy::rank},
                                      {"region", reference("region"), &HeldBy::region}};

using Placed = const PlacedTensor&;

const OutputObject<PlacedTensor, Placements> kPlacedTensor = {
    {"name", text(), &PlacedTensor::name},
    {"role", name_of<TensorRole>(), [](Placed tensor) { return to_string(tensor.role); }},
    {"dtype", text(), [](Placed tensor) { return to_string(tensor.type.dtype); }},
    {"dims", reference("dims"), [](Placed tensor) { return json_of(tensor.type.dims); }},
    {"sharding", reference("splits"),
     [](Placed tensor, const Placements& all) {
       return json_of(tensor.type.dims, tensor.sharding, all.mesh());
     }},
    {"partial", reference("partial"),
     [](Placed tensor, const Placements& all) {
       return unless_empty(partial_json(tensor.sharding, all.mesh()));
     }},
    {"bytes_per_device", whole("of the largest shard"),
     [](Placed tensor, const Placements& all) {
       return largest_bytes(tensor.type, tensor.sharding, all.mesh());
     }},
    {"devices_per_shard", whole("that hold each shard, or parts of its sum"),
     [](Placed tensor, const Placements& all) { return holders(tensor, all.mesh()); }},
    {"region", reference("region"),
     [](Placed tensor, const Placements& all) {
       return when(all.rank.has_value(), region_json(tensor, all.mesh(), all.rank.value_or(0)));
     }},
    {"devices", list_of(kHeldBy.schema()), [](Placed tensor, const Placements& all) -> std::optional<Json> {
       if (!all.shows_all_ranks) return {};
       Json devices = Json::array();
       for (int64_t rank = 0; rank < all.mesh().devices(); ++rank)
         devices.push_back(kHeldBy.json({rank, region_json(tensor, all.mesh(), rank)}));
       return devices;
     }}};

const OutputObject<Placements> kPlacements = {
    {"mtfc_placement", version(), kFirstVersion},
    {"model", text(), [](const Placements& all) { return all.program.model; }},
    {"entry", text(), [](const Placements& all) { return all.entry.name; }},
    {"mesh", reference("mesh"), [](const Placements& all) { return json_of(all.mesh()); }},
    {"devices", whole(), [](const Placements& all) { return all.mesh().devices(); }},
    {"device_order", list_of(whole()),
     [](const Placements& all) { return unless_empty(all.mesh().device_order()); }},
    {"rank", whole("whose regions are listed"), &Placements::rank},
    {"tensors", list_of(kPlacedTensor.schema()),
     [](const Placements& all) { return json_list(all.tensors, kPlacedTensor, all); }}};

}  // namespace

std::string placements_text(const Program& program, const EntryPoint& entry, const PlacementStyle& style) {
  const Mesh& mesh = program.mesh();
  std::string text = head_text(program, entry, style);
  std::vector<PlacedTensor> tensors = listed(program, entry, style);
  const bool is_detailed = style.all || style.is_listed != nullptr;
  const int64_t alike_state = is_detailed ? 0 : take_alike_state(tensors, mesh, style);
  const std::vector<AlikeTensors> groups = alike_tensors(tensors, mesh, style);
  for (auto begin = groups.begin(); begin != groups.end();) {
    const auto end = std::find_if(begin, groups.end(), [&](const AlikeTensors& group) {
      return group.first->role != begin->first->role;
    });
    text += role_text({begin, end}, mesh, style);
    if (begin->first->role == TensorRole::kVariable) text += alike_state_text(alike_state, style);
    begin = end;
  }
  text.pop_back();
  return text;
}

std::string placements_json(const Program& program, const EntryPoint& entry, const PlacementStyle& style) {
  return dump_lines(kPlacements.json({program, entry, listed(program, entry, style), style.rank}), 2);
}

std::string placement_text(const Program& program, const EntryPoint& entry, const PlacedTensor& tensor,
                           const PlacementStyle& style) {
  const Mesh& mesh = program.mesh();
  std::string text =
      wrapped(printable(tensor.name) + "  ",
              fmt::format("{} {}, {} {}", to_string(tensor.type.dtype), split_text(tensor, mesh),
                          name_in(kWithArticles, tensor.role), entry.name),
              ", ", style.width);
  const int64_t shards = mesh.size(split_axes(tensor.sharding));
  const std::string whole = bytes_text(bytes(tensor.type));
  const int64_t parts = mesh.size(partial_axes(tensor.sharding)), count = holders(tensor, mesh);
  std::string sizes = whole;
  if (shards > 1)
    sizes += fmt::format(" in {} shards of {}{}", grouped(shards), shards == 1 ? "" : "at most ",
                         bytes_text(largest_bytes(tensor.type, tensor.sharding, mesh)));
  else if (mesh.devices() > 1)
    sizes += ", not split";
  if (count > 1)
    sizes +=
        fmt::format("; {} {} of {}", grouped(count), parts > 1 ? "devices hold parts" : "devices hold copies",
                    shards > 1 ? "each" : "it");
  text += wrapped("", sizes, " ", style.width) + "\n";
  text += Drawing(tensor, mesh, style.width).text();
  for (const Sharding& form : other_forms(entry, tensor))
    text += wrapped("\nalso held as ", printable(to_string(TensorForm(tensor.type.dims, form), mesh)), ", ",
                    style.width);
  return text;
}

std::string placement_json(const Program& program, const EntryPoint& entry, const PlacedTensor& tensor) {
  constexpr bool kShowsAllRanks = true;
  return dump_lines(kPlacements.json({program, entry, {tensor}, {}, kShowsAllRanks}), 2);
}

std::string placement_schema() {
  return output_schema("mtfc show", "What mtfc show --format json prints", kPlacements.schema(),
                       {{"region", list_of(reference("interval"), "an interval for each dimension")}});
}

}  // namespace mtfc
