#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/cost/part_times.h"
#include "core/cost/step_groups.h"
#include "core/program/repeated_names.h"
#include "core/program/reshard_groups.h"
#include "core/tensors/shard_grid.h"
#include "formats/report/html_page.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

Json flops_figure(int64_t flops) {
  return Json::array({flops, count_text(flops, "")});
}

// What steps of one kind, or over the same axes, come to.
struct StepTotals {
  int64_t runs = 0, flops = 0, bytes_sent = 0;
  double seconds = 0;

  void add(const StepCost& step) {
    runs += step.count.runs;
    flops += step.count.flops;
    bytes_sent += step.count.bytes_sent;
    seconds += step.time.seconds;
  }
};

Json totals_rows(const CostReport& report, const std::map<std::string, StepTotals>& totals) {
  Json rows = Json::array();
  for (const auto& [name, total] : totals)
    rows.push_back({name, figure(total.runs), seconds_figure(total.seconds), flops_figure(total.flops),
                    bytes_figure(report, total.bytes_sent)});
  return rows;
}

// Times and bytes by kind of step, by axes, and by blocks down to the depth `parts` of their scopes.
Json totals_data(const CostReport& report, size_t parts) {
  std::map<std::string, StepTotals> kinds, axes;
  for (const StepCost& step : report.steps) {
    kinds[step.kind].add(step);
    if (!step.axes.empty()) axes[report.layout.mesh.names(step.axes)].add(step);
  }
  Json blocks = Json::array();
  for (const PartTime& part : report.time ? part_times(report, parts) : std::vector<PartTime>{}) {
    const double seconds = part.kernels_s + part.collectives_s,
                 share = seconds > 0 ? part.at_peak_s / seconds : 0;
    blocks.push_back({part.part.empty() ? "(no block)" : folded(part.names), seconds_figure(seconds),
                      seconds_figure(part.kernels_s), seconds_figure(part.collectives_s),
                      seconds_figure(part.at_peak_s), figure(share, fmt::format("{:.0f} %", 100 * share)),
                      bytes_figure(report, part.bytes_sent)});
  }
  return {{"kinds", totals_rows(report, kinds)},
          {"axes", totals_rows(report, axes)},
          {"blocks", std::move(blocks)}};
}

// One of the members that a row stands for; `facts` tell it from the others, as in `step 12, 1.23 ms`.
struct Member {
  std::string name, facts, source;
};

// [name, members, source]: the folded() name of the members with `more` behind it, a text for each if they are several,
// and the source that they share.
Json named(const std::vector<Member>& members, const std::string& more = "") {
  std::vector<std::string> names;
  Json texts = Json::array();
  bool is_shared = true;
  for (const Member& member : members) {
    const std::string number = repetition(member.name);
    names.push_back(member.name);
    if (members.size() > 1) texts.push_back(number.empty() ? member.facts : number + ": " + member.facts);
    is_shared = is_shared && member.source == members.front().source;
  }
  return Json::array({folded(names) + more, std::move(texts), is_shared ? members.front().source : ""});
}

Json operation_row(const CostReport& report, const StepGroup& group) {
  const auto time = [](const StepCost* step) { return seconds_text(step->time.seconds); };
  const bool all_alike = std::all_of(group.members.begin(), group.members.end(), [&](const StepCost* step) {
    return time(step) == time(group.members.front());
  });
  std::vector<Member> members;
  for (const StepCost* step : group.members)
    members.push_back({step->name, fmt::format("step {}{}", step->index, all_alike ? "" : ", " + time(step)),
                       step->source});
  const StepCost& sum = group.sum;
  return Json::array({named(members, and_others(sum)), sum.kind, to_string(sum.phase), figure(sum.count.runs),
                      seconds_figure(sum.time.seconds), flops_figure(sum.count.flops),
                      bytes_figure(report, sum.count.bytes_sent), report.layout.mesh.names(sum.axes),
                      bytes_figure(report, group.most_alive), sum.index});
}

// Operations by their kinds and the forms of their names.
using OperationForms = std::map<std::string, std::vector<const OperationPlace*>>;

Json operations_named(const OperationForms& forms) {
  Json list = Json::array();
  for (const auto& [form, places] : forms) {
    std::vector<Member> members;
    for (const OperationPlace* place : places) members.push_back({place->name, "", place->source});
    list.push_back(Json::array({places.front()->kind, named(members)}));
  }
  return list;
}

Json collective_row(const CostReport& report, const CollectiveGroup& group) {
  const Mesh& mesh = report.layout.mesh;
  const ReshardStep& first = *group.members.front();
  std::vector<Member> members;
  OperationForms makers, readers;
  Json steps = Json::array();
  int64_t runs = 0;
  for (const ReshardStep* reshard : group.members) {
    members.push_back({reshard->tensor, fmt::format("step {}", reshard->step.index()), ""});
    makers[operation_form(reshard->maker)].push_back(&reshard->maker);
    for (const OperationPlace& reader : reshard->readers) readers[operation_form(reader)].push_back(&reader);
    steps.push_back(reshard->step.index());
    runs += reshard->runs;
  }
  return Json::array({named(members), bytes_figure(report, group.bytes), figure(runs), std::move(steps),
                      to_string(first.collective.kind), mesh.names(first.collective.axes),
                      to_string(first.from, mesh), target_text(first, mesh), operations_named(makers),
                      operations_named(readers)});
}

// Tensors that differ only in the number of a repetition.
using AliveGroup = std::vector<const AliveTensor*>;

std::vector<AliveGroup> alive_groups(const CostReport& report) {
  const auto form = [](const AliveTensor& tensor) {
    return fmt::format("{}\n{}\n{}", unnumbered(tensor.name), tensor.kind, tensor.bytes);
  };
  std::map<std::string, AliveGroup> forms;
  for (const AliveTensor& tensor : report.alive_at_peak) forms[form(tensor)].push_back(&tensor);
  std::vector<AliveGroup> groups;
  for (const AliveTensor& tensor : report.alive_at_peak)
    if (const auto group = forms.extract(form(tensor))) groups.push_back(group.mapped());
  std::stable_sort(groups.begin(), groups.end(), [](const AliveGroup& a, const AliveGroup& b) {
    return static_cast<int64_t>(a.size()) * a[0]->bytes > static_cast<int64_t>(b.size()) * b[0]->bytes;
  });
  return groups;
}

Json alive_row(const CostReport& report, const AliveGroup& group) {
  std::vector<Member> members;
  int64_t from = group.front()->first_step, to = group.front()->last_step;
  for (const AliveTensor* tensor : group) {
    members.push_back(
        {tensor->name, fmt::format("steps {} to {}", tensor->first_step, tensor->last_step), ""});
    from = std::min<int64_t>(from, tensor->first_step);
    to = std::max<int64_t>(to, tensor->last_step);
  }
  const auto count = static_cast<int64_t>(group.size());
  return Json::array({named(members), group.front()->kind, figure(count),
                      bytes_figure(report, count * group.front()->bytes), from, to});
}

// The first `top` rows, and how many there are.
template <typename Group>
Json rows_of(const CostReport& report, const std::vector<Group>& groups, size_t top,
             Json (*row_of)(const CostReport&, const Group&)) {
  Json rows = Json::array();
  for (size_t i = 0; i < std::min(top, groups.size()); ++i) rows.push_back(row_of(report, groups[i]));
  return {{"all", groups.size()}, {"rows", std::move(rows)}};
}

constexpr size_t kColumns = 1000;       // the width of a drawing
constexpr size_t kMemoryColumns = 500;  // those of them that the drawing of the memory tells apart

// A stretch of time in which a step runs.
struct Piece {
  double begin = 0, end = 0;
  const StepCost* step = nullptr;
};

// The pieces of each group of axes. A step of a loop has one for each of its rounds; the rounds of a loop with too many
// are drawn as one piece behind the first.
std::map<std::string, std::vector<Piece>> pieces_of(const CostReport& report) {
  constexpr int64_t kMostRounds = 200;
  std::map<std::string, std::vector<Piece>> lanes;
  for (const StepCost& step : report.steps) {
    // A collective whose result is unpacked where it is awaited ends there, which may be long after its transfer.
    const auto runs = static_cast<double>(std::max<int64_t>(1, step.count.runs));
    const double begin = step.time.begin_s, end = std::min(step.time.end_s, begin + step.time.seconds / runs);
    if (end <= begin) continue;
    std::vector<Piece>& pieces = lanes[report.layout.mesh.names(step.axes)];
    pieces.push_back({begin, end, &step});
    for (const LoopTime& loop : report.time->loops) {
      if (begin < loop.begin_s || begin >= loop.begin_s + loop.first_s) continue;
      const double second = loop.begin_s + loop.first_s;
      if (loop.rounds > kMostRounds)
        pieces.push_back({second, second + static_cast<double>(loop.rounds - 1) * (end - begin), &step});
      for (int64_t round = 1; round < loop.rounds && loop.rounds <= kMostRounds; ++round) {
        const double later = loop.first_s + static_cast<double>(round - 1) * loop.round_s;
        pieces.push_back({begin + later, end + later, &step});
      }
    }
  }
  return lanes;
}

// [begin, width, phase, what runs] in columns; pieces that are narrow fill whole columns, and say no more.
Json lane_pieces(const std::vector<Piece>& pieces, double total) {
  constexpr double kWide = 4;
  Json list = Json::array();
  std::vector<std::optional<Phase>> narrow(kColumns + 1);
  for (const Piece& piece : pieces) {
    const StepCost& step = *piece.step;
    const double from = kColumns * piece.begin / total, width = kColumns * (piece.end - piece.begin) / total;
    if (width < kWide)
      for (auto c = static_cast<size_t>(from); static_cast<double>(c) < from + width && c < kColumns; ++c)
        narrow[c] = step.phase;
    else
      list.push_back({rounded(from, 5), rounded(width, 5), to_string(step.phase),
                      fmt::format("{} {}, {}", step.kind, step.name, seconds_text(step.time.seconds))});
  }
  for (size_t c = 0, begin = 0; c < kColumns; begin = c) {
    while (c < kColumns && narrow[c] == narrow[begin]) ++c;
    if (narrow[begin]) list.push_back({begin, c - begin, to_string(*narrow[begin])});
  }
  return list;
}

Json lanes_data(const CostReport& report) {
  const double total = report.time->step_s;
  std::map<std::string, double> busy;  // as the totals by mesh axis have it
  for (const StepCost& step : report.steps) busy[report.layout.mesh.names(step.axes)] += step.time.seconds;
  Json lanes = Json::array();
  for (const auto& [axes, pieces] : pieces_of(report))
    lanes.push_back({axes, seconds_text(busy[axes]), fmt::format("{:.0f} %", 100 * busy[axes] / total),
                     lane_pieces(pieces, total)});
  return lanes;
}

// The time in the first round of a loop that stands for [from, to) in a later one; other times stand for themselves.
std::pair<double, double> in_first_round(const std::vector<LoopTime>& loops, double from, double to) {
  for (const LoopTime& loop : loops) {
    const double second = loop.begin_s + loop.first_s,
                 end = second + static_cast<double>(loop.rounds - 1) * loop.round_s;
    if (from < second || from >= end) continue;
    if (to - from >= loop.round_s) return {loop.begin_s, second};
    const double begin = std::min(loop.begin_s + std::fmod(from - second, loop.round_s), second);
    return {begin, std::min(begin + (to - from), second)};
  }
  return {from, to};
}

// When the device is at the next step. The transfer of a collective may begin later than its step, and after steps that
// follow it. If there are no times, each step takes as long.
std::vector<double> ends_of_steps(const CostReport& report, bool is_over_time) {
  std::vector<double> ends(report.memory_over_steps.inputs.size());
  for (size_t s = ends.size(); s-- > 0;)
    ends[s] = !is_over_time          ? static_cast<double>(s + 1)
              : s + 1 == ends.size() ? report.time->step_s
                                     : std::min(ends[s + 1], report.time->steps[s + 1].begin_s);
  return ends;
}

// For each column the fullest step, so that no peak is lost.
std::vector<size_t> fullest_steps(const CostReport& report, bool is_over_time) {
  const MemoryUse& use = report.memory_over_steps;
  const std::vector<double> ends = ends_of_steps(report, is_over_time);
  const size_t columns = is_over_time ? kMemoryColumns : std::min(ends.size(), kMemoryColumns);
  const auto begin_of = [&](size_t c) {
    return ends.back() * static_cast<double>(c) / static_cast<double>(columns);
  };
  std::vector<size_t> chosen;
  for (size_t c = 0; c < columns; ++c) {
    const auto [from, to] = in_first_round(is_over_time ? report.time->loops : std::vector<LoopTime>{},
                                           begin_of(c), begin_of(c + 1));
    // Steps that take no time count where they are.
    auto best = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), from) - ends.begin());
    best = std::min(best, ends.size() - 1);
    while (best > 0 && ends[best - 1] >= from && (best == 1 ? 0.0 : ends[best - 2]) >= from) --best;
    for (size_t s = best + 1; s < ends.size() && (ends[s - 1] < to || c + 1 == columns); ++s)
      if (use.at(s) > use.at(best)) best = s;
    chosen.push_back(best);
  }
  return chosen;
}

// The memory at the chosen steps by kind, each as [[column, bytes]] where the bytes change. The colour of variables and
// state is that of their group, by its number.
Json memory_layers(const CostReport& report, const std::vector<size_t>& chosen) {
  const MemoryUse& use = report.memory_over_steps;
  const MemoryCost& memory = report.memory;
  Json layers = Json::array();
  const auto add = [&](const std::string& name, Json colour, const auto& bytes_at) {
    Json changes = Json::array();
    for (size_t c = 0; c < chosen.size(); ++c)
      if (c == 0 || bytes_at(chosen[c]) != bytes_at(chosen[c - 1]))
        changes.push_back(Json::array({c, bytes_at(chosen[c])}));
    layers.push_back({name, std::move(colour), std::move(changes)});
  };
  int64_t rest = memory.variables + memory.optimizer_state + memory.caches;
  for (const auto& [name, group] : memory.groups) {
    const int64_t bytes = group.variables + group.optimizer_state;
    add("variables and state of " + name, layers.size(), [&](size_t) { return bytes; });
    rest -= bytes;
  }
  add(layers.empty() ? "variables and state" : "other variables and state", "variables",
      [&](size_t) { return rest; });
  add("copies of variables", "variables", [&](size_t step) { return use.variable_copies[step]; });
  add("inputs", "inputs", [&](size_t step) { return use.inputs[step]; });
  add("activations", "activations", [&](size_t step) { return use.activations[step]; });
  add("gradients", "gradients", [&](size_t step) { return use.gradients[step]; });
  add("workspace", "workspace", [&](size_t step) { return use.workspace[step]; });
  return layers;
}

// The kernels and collectives of a step, and the memory meanwhile, over one axis of time, or else memory over steps.
Json step_data(const CostReport& report) {
  const MemoryUse& use = report.memory_over_steps;
  const MemoryCost& memory = report.memory;
  const bool timed = report.time && report.time->step_s > 0;
  const bool is_over_time = timed && report.time->steps.size() == use.inputs.size();
  Json data = {{"lanes", timed ? lanes_data(report) : Json::array()}, {"isOverTime", is_over_time}};
  if (use.inputs.empty()) return data;
  const std::vector<size_t> chosen = fullest_steps(report, is_over_time);
  // With alignment and gaps, which have no step.
  const int64_t needed =
      std::max({int64_t{1}, memory.variables + memory.optimizer_state + memory.caches + use.at(use.peak),
                memory.peak});
  data.update({{"columns", chosen.size()},
               {"layers", memory_layers(report, chosen)},
               {"needed", bytes_figure(report, needed)},
               {"peakStep", use.peak},
               {"lastStep", use.inputs.size() - 1}});
  if (report.device_memory > 0 && needed > report.device_memory)
    data["excess"] = bytes_in(report, needed - report.device_memory);
  return data;
}

using TensorGroup = std::vector<const TensorCost*>;  // of the same dimensions and sharding

// The names of the tensors in their order, with those of repeated blocks folded into one.
std::vector<std::string> folded_names(const TensorGroup& tensors) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> groups;
  for (const TensorCost* tensor : tensors) groups[unnumbered(tensor->name)].push_back(tensor->name);
  for (const TensorCost* tensor : tensors)
    if (const auto group = groups.extract(unnumbered(tensor->name))) names.push_back(folded(group.mapped()));
  return names;
}

constexpr int64_t kSide = 8;  // a side with at most this many shards is drawn in full

// The split dimensions with their axes, and the intervals that the drawn shards hold of them; null for a gap.
Json side_data(const TensorCost& tensor, const Mesh& mesh, const ShardGrid& grid,
               const ShardGrid::Side& side) {
  Json dims = Json::array(), places = Json::array();
  for (const size_t d : side.dims)
    dims.push_back(Json::array({tensor.dims[d].name, mesh.names(tensor.sharding.dims[d])}));
  for (const int64_t shard : drawn_shards(side.shards, kSide)) {
    const auto pair = [](const Interval& held) { return json_of(held); };
    places.push_back(shard < 0 ? Json() : json_list(grid.held(side, shard), pair));
  }
  return Json::array({std::move(dims), std::move(places)});
}

// The tensor as a matrix cut into its shards. A shard is [number, ranks that hold it or the first ones and the last].
Json tensor_data(const TensorGroup& alike, const Mesh& mesh) {
  constexpr int64_t kMostRanks = 5;
  const TensorCost& tensor = *alike.front();
  const ShardGrid grid(tensor.dims, tensor.sharding, mesh);
  Json rows = Json::array();
  for (const int64_t row : drawn_shards(grid.down().shards, kSide)) {
    Json cells = Json::array();
    for (const int64_t column : drawn_shards(grid.across().shards, kSide)) {
      Json ranks = Json::array();
      for (const int64_t holder : drawn_shards(grid.holders(), kMostRanks))
        if (holder >= 0 && row >= 0 && column >= 0) ranks.push_back(grid.rank(row, column, holder));
      cells.push_back(Json::array({row * grid.across().shards + column, std::move(ranks)}));
    }
    rows.push_back(std::move(cells));
  }
  return {{"names", folded_names(alike)},
          {"dims", json_of(tensor.dims)},
          {"partial", partial_json(tensor.sharding, mesh)},
          {"shards", grid.down().shards * grid.across().shards},
          {"holders", grid.holders()},
          {"down", side_data(tensor, mesh, grid, grid.down())},
          {"across", side_data(tensor, mesh, grid, grid.across())},
          {"rows", std::move(rows)}};
}

// The largest tensors; those that are alike are one, and long sides are shortened in the middle.
Json tensors_data(const CostReport& report) {
  constexpr size_t kMostDrawn = 60;
  const Mesh& mesh = report.layout.mesh;
  std::map<std::string, TensorGroup> groups;
  for (const TensorCost& tensor : report.tensors) {
    std::string key = to_string(tensor.dims, tensor.sharding, mesh);
    for (const Dim& dim : tensor.dims) key += fmt::format("|{}", dim.size);
    groups[key].push_back(&tensor);
  }
  std::vector<const TensorGroup*> ordered;
  for (const auto& [key, alike] : groups) ordered.push_back(&alike);
  const auto size_of = [](const TensorGroup* alike) { return elements(alike->front()->dims); };
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const auto* a, const auto* b) { return size_of(a) > size_of(b); });
  Json drawn = Json::array();
  for (size_t i = 0; i < std::min(ordered.size(), kMostDrawn); ++i)
    drawn.push_back(tensor_data(*ordered[i], mesh));
  return {{"all", ordered.size()}, {"drawn", std::move(drawn)}};
}

}  // namespace

Json layout_details(const ComparedLayout& layout, const PageOptions& options) {
  const CostReport& report = *layout.report;
  const Layout& split = report.layout;
  return {{"figures", figures_json(report)},
          {"warnings", report.warnings},
          {"axes", json_of(split.mesh)},
          {"order", split.mesh.device_order()},
          {"rules", json_of(split)},
          {"limitedRules", limited_rules_json(split)},
          {"perNode", options.ranks_per_node},
          {"totals", totals_data(report, options.parts)},
          {"step", step_data(report)},
          {"operations", rows_of(report, costliest_groups(report), options.top, operation_row)},
          {"collectives",
           rows_of(report, collective_groups(layout.reshards, split.mesh), options.top, collective_row)},
          {"memory", memory_json(report)},
          {"alive", rows_of(report, alive_groups(report), options.top, alive_row)},
          {"tensors", tensors_data(report)}};
}

}  // namespace mtfc
