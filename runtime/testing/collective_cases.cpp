#include "runtime/testing/collective_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/lower/arena_layout.h"
#include "core/program/collective_cost.h"
#include "core/tensors/bf16.h"
#include "runtime/comm/transfer.h"
#include "runtime/testing/elements.h"

namespace mtfc {
namespace {

BufferId add_buffer(EntryPoint& entry, BufferKind kind, int64_t bytes) {
  return entry.buffers.add({kind, bytes, 0, 0, 1});
}

void place_buffers(EntryPoint& entry) {
  std::vector<ArenaBlock> blocks;
  for (const Buffer& buffer : entry.buffers)
    blocks.push_back({buffer.bytes, buffer.first_step, buffer.last_step, 0});
  entry.arena_bytes = place_blocks(blocks, kAlignment);
  for (size_t b = 0; b < blocks.size(); ++b) entry.buffers[b].offset = blocks[b].offset;
}

// Returns element `index` as device `rank` holds it: the same everywhere unless the value is partial. Small
// integers, so that sums and products are exact; some devices hold NaN where floats are compared.
//
// Sums of bf16: the third and fourth device each add to a 1 of the first what would be rounded away if it were added
// alone.
double case_value(const CollectiveCase& c, int64_t index, int64_t rank) {
  if (c.rounds_once && c.from.dtype == DType::kBF16 && c.reduce == ReduceKind::kSum &&
      !c.from_sharding.partial.empty())
    return rank == 0 ? 1 : rank == 2 || rank == 3 ? 0x1p-8 : 0;
  if (c.from_sharding.partial.empty())
    return c.from.dtype == DType::kBool ? index % 2 : static_cast<double>(index);
  const int64_t mixed = (index * 7 + rank * 5) % 11;
  if (c.from.dtype == DType::kBool) return mixed % 2;
  if (c.reduce == ReduceKind::kProd) return mixed % 3 - 1;
  const bool compared = c.reduce == ReduceKind::kMax || c.reduce == ReduceKind::kMin;
  if (compared && is_float(c.from.dtype) && index % 4 == 1 && mixed == 3) return std::nan("");
  return static_cast<double>(mixed) - 5;
}

// `members`: the ranks of the group, in its order.
double expected_value(const CollectiveCase& c, int64_t index, const std::vector<int64_t>& members) {
  if (c.from_sharding.partial.empty()) return case_value(c, index, 0);
  double result = 0;
  for (size_t member = 0; member < members.size(); ++member) {
    const double value = case_value(c, index, members[member]);
    if (member == 0) {
      result = value;
      continue;
    }
    if (std::isnan(value) || std::isnan(result)) {
      result = std::nan("");
      continue;
    }
    switch (c.reduce) {
      case ReduceKind::kSum:
        result += value;
        break;
      case ReduceKind::kProd:
        result *= value;
        break;
      case ReduceKind::kMax:
        result = std::max(result, value);
        break;
      case ReduceKind::kMin:
        result = std::min(result, value);
        break;
    }
  }
  return c.from.dtype == DType::kBF16 ? static_cast<double>(Bf16(result)) : result;
}

// The second value of a combined all_reduce holds the elements that the first one would hold from here on.
constexpr int64_t kOfSecond = 3;

// A test in two forms: with a buffer for the result, and in place.
void add_case(std::vector<CollectiveCase>& cases, CollectiveCase c) {
  cases.push_back(c);
  c.in_place = true;
  c.name += " in place";
  cases.push_back(std::move(c));
}

// Reductions of the matrix `type` over `mesh`, partial over all axes, or over the last and split over the
// first.
void add_reductions(std::vector<CollectiveCase>& cases, const Mesh& mesh, const TensorType& type,
                    ReduceKind kind) {
  const std::string name = to_string(mesh) + " " + to_string(kind) + " " + to_string(type);
  AxisList all;
  Sharding partial = replicated(2);
  for (size_t i = 0; i < mesh.axes().size(); ++i) {
    all.push_back(static_cast<int>(i));
    partial.partial.push_back({all.back(), kind});
  }
  const auto add = [&](const std::string& what, CollectiveKind collective, const AxisList& axes,
                       const Sharding& from, const Sharding& to) {
    CollectiveCase made{what + " " + name, mesh, collective, axes, type, from, type, to, kind};
    made.is_combined = what.starts_with("combined");
    add_case(cases, std::move(made));
  };
  add("all_reduce", CollectiveKind::kAllReduce, all, partial, replicated(2));
  add("combined all_reduce", CollectiveKind::kAllReduce, all, partial, replicated(2));
  add("reduce_scatter rows", CollectiveKind::kReduceScatter, all, partial, {{all, {}}, {}});
  add("reduce_scatter columns", CollectiveKind::kReduceScatter, all, partial, {{{}, all}, {}});
  if (all.size() == 1) return;
  const AxisList last{all.back()};
  const Sharding split{{{0}, {}}, {{all.back(), kind}}};
  add("reduce_scatter of one axis", CollectiveKind::kReduceScatter, all, partial, {{{}, last}, {}});
  add("reduce_scatter beside a split", CollectiveKind::kReduceScatter, last, split, {{{0}, last}, {}});
  add("all_reduce beside a split", CollectiveKind::kAllReduce, last, split, {{{0}, {}}, {}});
  add("combined all_reduce beside a split", CollectiveKind::kAllReduce, last, split, {{{0}, {}}, {}});
}

// The shardings of a matrix over the mesh: each axis splits rows or columns, or is partial (a sum), or is unused.
std::vector<Sharding> matrix_shardings(const Mesh& mesh) {
  std::vector<Sharding> all{replicated(2)};
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
    const std::vector<Sharding> without_axis = all;
    for (const Sharding& sharding : without_axis) {
      all.push_back(sharding);
      all.back().partial.push_back({static_cast<int>(axis), ReduceKind::kSum});
      for (size_t d = 0; d < sharding.dims.size(); ++d)
        for (size_t at = 0; at <= sharding.dims[d].size(); ++at) {
          all.push_back(sharding);
          AxisList& axes = all.back().dims[d];
          axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(at), static_cast<int>(axis));
        }
    }
  }
  return all;
}

// Adds a case for every kind and every change of an [n, 5] matrix's sharding that the kind can make.
void add_changes(std::vector<CollectiveCase>& cases, const Mesh& mesh, int64_t n) {
  const TensorType type{DType::kF32, {{"a", n}, {"b", 5}}};
  const std::vector<Sharding> shardings = matrix_shardings(mesh);
  for (const Sharding& from : shardings)
    for (const Sharding& to : shardings) {
      if (!to.partial.empty()) continue;
      for (const CollectiveFacts& facts : collective_kinds()) {
        const std::optional<AxisList> axes = facts.group({type.dims, from, to, mesh});
        if (!axes || axes->empty()) continue;
        const std::string name =
            fmt::format("{} of {} over {} from {} to {}", to_string(facts.kind), to_string(type),
                        to_string(mesh), to_string(type.dims, from, mesh), to_string(type.dims, to, mesh));
        add_case(cases, {name, mesh, facts.kind, *axes, type, from, type, to});
      }
    }
}

// Moves of an [n, 5] matrix to other shapes.
void add_moves(std::vector<CollectiveCase>& cases, const Mesh& mesh, int64_t n) {
  const TensorType type{DType::kF32, {{"a", n}, {"b", 5}}};
  const TensorType flat{DType::kF32, {{"c", 5 * n}}}, turned{DType::kF32, {{"b", 5}, {"a", n}}};
  AxisList all;
  for (size_t i = 0; i < mesh.axes().size(); ++i) all.push_back(static_cast<int>(i));
  const auto add = [&](const std::string& what, const Sharding& from, const TensorType& result,
                       const Sharding& to) {
    const std::string name = what + " " + to_string(mesh) + " " + to_string(type);
    add_case(cases, {name, mesh, CollectiveKind::kExchange, all, type, from, result, to});
  };
  const Sharding rows{{all, {}}, {}}, columns{{{}, all}, {}};
  add("exchange to another shape", columns, flat, {{all}, {}});
  add("exchange between shapes without common cuts", rows, turned, columns);
}

// Adds exchanges that give devices what windows read of a [16n, 5] matrix, along rows or along columns. In one kind,
// each device gets a halo on either side. In the other, the only device with a place gets the whole matrix: it receives
// more than any device sends.
void add_halos(std::vector<CollectiveCase>& cases, const Mesh& mesh, int64_t n) {
  const TensorType type{DType::kF32, {{"a", 16 * n}, {"b", 5}}};
  AxisList all;
  for (size_t i = 0; i < mesh.axes().size(); ++i) all.push_back(static_cast<int>(i));
  for (size_t d = 0; d < type.dims.size(); ++d) {
    Sharding split = replicated(2);
    split.dims[d] = all;
    const int64_t size = type.dims[d].size;
    for (const WindowSplit& window : {WindowSplit{d, size, 1, 1, 3, 1}, WindowSplit{d, 1, 1, 0, size, 1}}) {
      Sharding read = split;
      read.windows = {window};
      cases.push_back({fmt::format("halos of {} places along {} {} {}", window.size, type.dims[d].name,
                                   to_string(mesh), to_string(type)),
                       mesh, CollectiveKind::kExchange, all, type, split, type, read});
    }
  }
}

}  // namespace

std::vector<CollectiveCase> collective_cases(int64_t devices) {
  std::vector<Mesh> meshes{Mesh({{"p", devices}})};
  if (devices > 2 && devices % 2 == 0) meshes.push_back(Mesh({{"r", 2}, {"c", devices / 2}}));
  std::vector<CollectiveCase> cases;
  for (const Mesh& mesh : meshes)
    for (const int64_t n : {8, 7, 3, 1}) {
      for (const DType dtype :
           {DType::kF32, DType::kF64, DType::kBF16, DType::kI32, DType::kI64, DType::kBool})
        for (const ReduceKind kind :
             {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kProd})
          if (dtype != DType::kBool || kind == ReduceKind::kMax || kind == ReduceKind::kMin)
            add_reductions(cases, mesh, {dtype, {{"a", n}, {"b", 5}}}, kind);
      // Even shards of 8, uneven ones of 3, of which the fourth is empty: the other sizes would only repeat these.
      if (n == 8 || n == 3) add_changes(cases, mesh, n);
      add_moves(cases, mesh, n);
      add_halos(cases, mesh, n);
    }
  return cases;
}

EntryPoint collective_entry(const CollectiveCase& c) {
  EntryPoint entry;
  entry.name = "train";
  Step start, wait;
  start.name = wait.name = "y";
  const int64_t in = largest_bytes(c.from, c.from_sharding, c.mesh);
  const int64_t out = largest_bytes(c.to, c.to_sharding, c.mesh);
  for (int i = 0; i < (c.is_combined ? 2 : 1); ++i) {
    const BufferId operand = add_buffer(entry, BufferKind::kActivation, c.in_place ? std::max(in, out) : in);
    const BufferId result = c.in_place ? operand : add_buffer(entry, BufferKind::kActivation, out);
    start.inputs.push_back(entry.values.add({"x", c.from, c.from_sharding, operand}));
    start.outputs.push_back(entry.values.add({"y", c.to, c.to_sharding, result}));
  }
  const Collective collective{c.kind, c.axes, c.reduce};
  start.action = StartCollective{collective};
  wait.inputs = start.inputs;
  wait.outputs = start.outputs;
  wait.action = AwaitCollective{collective, StepIndex(0)};
  if (const int64_t bytes = collective_workspace(entry, start, c.mesh); bytes > 0)
    start.workspace = wait.workspace = add_buffer(entry, BufferKind::kWorkspace, bytes);
  entry.steps = {start, wait};
  place_buffers(entry);
  return entry;
}

void fill_case(const CollectiveCase& c, const EntryPoint& entry, const Coordinates& at, const Arena& arena) {
  const std::vector<ValueId>& operands = entry.steps[0].inputs;
  const int64_t rank = c.mesh.rank(at);
  for (size_t k = 0; k < operands.size(); ++k) {
    const Place place = place_of(entry, operands[k], c.mesh, at);
    const std::vector<int64_t> indices = global_indices(c.from.dims, place.box);
    for (size_t i = 0; i < indices.size(); ++i)
      store_element(arena.at(place.offset), c.from.dtype, static_cast<int64_t>(i),
                    case_value(c, indices[i] + static_cast<int64_t>(k) * kOfSecond, rank));
  }
}

int64_t wrong_elements(const CollectiveCase& c, const EntryPoint& entry, const Coordinates& at,
                       const Arena& arena) {
  std::vector<int64_t> members;
  for (int64_t member = 0; member < c.mesh.size(c.axes); ++member)
    members.push_back(c.mesh.rank(c.mesh.moved(at, c.axes, member)));
  const std::vector<ValueId>& results = entry.steps[0].outputs;
  int64_t wrong = 0;
  for (size_t k = 0; k < results.size(); ++k) {
    const Place place = place_of(entry, results[k], c.mesh, at);
    const std::vector<int64_t> indices = global_indices(c.to.dims, place.box);
    for (size_t i = 0; i < indices.size(); ++i) {
      const double found = load_element(arena.at(place.offset), c.to.dtype, static_cast<int64_t>(i));
      const double expected = expected_value(c, indices[i] + static_cast<int64_t>(k) * kOfSecond, members);
      if (!(found == expected || (std::isnan(found) && std::isnan(expected)))) ++wrong;
    }
  }
  return wrong;
}

bool moved_as_predicted(const CollectiveCase& c, const EntryPoint& entry,
                        const std::vector<Coordinates>& devices, const CollectiveCost& moved,
                        int64_t rounds) {
  CollectiveCost most;
  for (const Coordinates& at : devices) {
    if (plan_collective(entry, entry.steps[0], c.mesh, at).axes != c.axes) return true;
    const CollectiveCost cost = collective_cost(entry, entry.steps[0], c.mesh, at);
    most.elements = std::max(most.elements, cost.elements * rounds);
    most.bytes_sent = std::max(most.bytes_sent, cost.bytes_sent * rounds);
  }
  return moved == most;
}

}  // namespace mtfc
