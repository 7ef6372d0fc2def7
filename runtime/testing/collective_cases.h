#pragma once
// Single collectives as whole programs, with the answer computed directly: for the tests of both kinds of
// Comm.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/program/collective_cost.h"
#include "core/program/program.h"
#include "runtime/comm/transfer.h"
#include "runtime/memory/arena.h"

namespace mtfc {

struct CollectiveCase {
  std::string name;
  Mesh mesh;
  CollectiveKind kind;
  AxisList axes;
  TensorType from;
  Sharding from_sharding;
  TensorType to;
  Sharding to_sharding;
  ReduceKind reduce = ReduceKind::kSum;
  bool in_place = false;
};

/// One collective from value 0 to value 1, with the workspace that the planner grants.
inline EntryPoint entry_of(const CollectiveCase& c) {
  EntryPoint entry;
  entry.name = "train";
  const int64_t size = size_of(c.from.dtype);
  const int64_t in = elements(largest_dims(c.from.dims, c.from_sharding, c.mesh)) * size;
  const int64_t out = elements(largest_dims(c.to.dims, c.to_sharding, c.mesh)) * size;
  entry.values = {{"x", c.from, c.from_sharding, 0}, {"y", c.to, c.to_sharding, c.in_place ? 0 : 1}};
  Step start;
  start.kind = StepKind::kStart;
  start.name = "y";
  start.inputs = {0};
  start.outputs = {1};
  start.workspace = 2;
  start.collective = c.kind;
  start.axes = c.axes;
  start.reduce = c.reduce;
  const int64_t workspace = collective_workspace(entry, start, c.mesh);
  const int64_t first = c.in_place ? std::max(in, out) : in;
  entry.buffers = {{BufferKind::kActivation, first, 0, 0, 1},
                   {BufferKind::kActivation, out, aligned(first), 0, 1},
                   {BufferKind::kWorkspace, workspace, aligned(first) + aligned(out), 0, 1}};
  entry.arena_bytes = aligned(first) + aligned(out) + workspace;
  Step wait;
  wait.kind = StepKind::kWait;
  wait.name = "y";
  wait.started = 0;
  entry.steps = {start, wait};
  return entry;
}

/// Row-major positions in the global tensor of the elements of `box`, in the box's own order.
inline std::vector<int64_t> global_indices(const Dims& dims, const Box& box) {
  std::vector<int64_t> indices{0};
  for (size_t i = 0; i < dims.size(); ++i) {
    std::vector<int64_t> finer;
    finer.reserve(indices.size() * static_cast<size_t>(box[i].end - box[i].begin));
    for (const int64_t outer : indices)
      for (int64_t k = box[i].begin; k < box[i].end; ++k) finer.push_back(outer * dims[i].size + k);
    indices = std::move(finer);
  }
  return indices;
}

inline void store(std::byte* data, DType dtype, int64_t index, double value) {
  switch (dtype) {
    case DType::kF32:
      reinterpret_cast<float*>(data)[index] = static_cast<float>(value);
      return;
    case DType::kF64:
      reinterpret_cast<double*>(data)[index] = value;
      return;
    case DType::kI32:
      reinterpret_cast<int32_t*>(data)[index] = static_cast<int32_t>(value);
      return;
    case DType::kI64:
      reinterpret_cast<int64_t*>(data)[index] = static_cast<int64_t>(value);
      return;
    case DType::kBool:
      reinterpret_cast<uint8_t*>(data)[index] = value != 0;
      return;
  }
}

inline double fetch(const std::byte* data, DType dtype, int64_t index) {
  switch (dtype) {
    case DType::kF32:
      return reinterpret_cast<const float*>(data)[index];
    case DType::kF64:
      return reinterpret_cast<const double*>(data)[index];
    case DType::kI32:
      return reinterpret_cast<const int32_t*>(data)[index];
    case DType::kI64:
      return static_cast<double>(reinterpret_cast<const int64_t*>(data)[index]);
    case DType::kBool:
      return reinterpret_cast<const uint8_t*>(data)[index];
  }
  return 0;
}

/// What the device `rank` holds of element `index`: the same everywhere unless the value is partial. Small
/// integers, so that sums and products are exact; some devices hold NaN where floats are compared.
inline double case_value(const CollectiveCase& c, int64_t index, int64_t rank) {
  if (c.from_sharding.partial.empty())
    return c.from.dtype == DType::kBool ? index % 2 : static_cast<double>(index);
  const int64_t mixed = (index * 7 + rank * 5) % 11;
  if (c.from.dtype == DType::kBool) return mixed % 2;
  if (c.reduce == ReduceKind::kProd) return mixed % 3 - 1;
  const bool compared = c.reduce == ReduceKind::kMax || c.reduce == ReduceKind::kMin;
  if (compared && is_float(c.from.dtype) && index % 4 == 1 && mixed == 3) return std::nan("");
  return static_cast<double>(mixed) - 5;
}

/// `members`: the ranks of the group, in its order.
inline double expected_value(const CollectiveCase& c, int64_t index, const std::vector<int64_t>& members) {
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
  return result;
}

inline void fill_case(const CollectiveCase& c, const EntryPoint& entry, const Coordinates& at,
                      const Arena& arena) {
  const Place place = place_of(entry, 0, c.mesh, at);
  const std::vector<int64_t> indices = global_indices(c.from.dims, place.box);
  const int64_t rank = c.mesh.rank(at);
  for (size_t i = 0; i < indices.size(); ++i)
    store(arena.at(place.offset), c.from.dtype, static_cast<int64_t>(i), case_value(c, indices[i], rank));
}

/// The number of wrong elements on the device at `at`.
inline int64_t wrong_elements(const CollectiveCase& c, const EntryPoint& entry, const Coordinates& at,
                              const Arena& arena) {
  const Place place = place_of(entry, 1, c.mesh, at);
  const std::vector<int64_t> indices = global_indices(c.to.dims, place.box);
  std::vector<int64_t> members;
  for (int64_t member = 0; member < c.mesh.size(c.axes); ++member)
    members.push_back(c.mesh.rank(c.mesh.moved(at, c.axes, member)));
  int64_t wrong = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    const double found = fetch(arena.at(place.offset), c.to.dtype, static_cast<int64_t>(i));
    const double expected = expected_value(c, indices[i], members);
    if (!(found == expected || (std::isnan(found) && std::isnan(expected)))) ++wrong;
  }
  return wrong;
}

/// Whether these `rounds` rounds have moved what is predicted, on the device of `devices` that moves most.
/// Predictions are for groups in which nobody has what another member sends; elsewhere it isn't asked.
inline bool moved_as_predicted(const CollectiveCase& c, const EntryPoint& entry,
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

/// A test in two forms: with a buffer for the result, and in place.
inline void add_case(std::vector<CollectiveCase>& cases, CollectiveCase c) {
  cases.push_back(c);
  c.in_place = true;
  c.name += " in place";
  cases.push_back(std::move(c));
}

/// Reductions of the matrix `type` over `mesh`, partial over all axes, or over the last and split over the
/// first.
inline void add_reductions(std::vector<CollectiveCase>& cases, const Mesh& mesh, const TensorType& type,
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
    add_case(cases, {what + " " + name, mesh, collective, axes, type, from, type, to, kind});
  };
  add("all_reduce", CollectiveKind::kAllReduce, all, partial, replicated(2));
  add("reduce_scatter rows", CollectiveKind::kReduceScatter, all, partial, {{all, {}}, {}});
  add("reduce_scatter columns", CollectiveKind::kReduceScatter, all, partial, {{{}, all}, {}});
  if (all.size() == 1) return;
  const AxisList last{all.back()};
  const Sharding split{{{0}, {}}, {{all.back(), kind}}};
  add("reduce_scatter of one axis", CollectiveKind::kReduceScatter, all, partial, {{{}, last}, {}});
  add("reduce_scatter beside a split", CollectiveKind::kReduceScatter, last, split, {{{0}, last}, {}});
  add("all_reduce beside a split", CollectiveKind::kAllReduce, last, split, {{{0}, {}}, {}});
}

/// Moves of an [n, 5] matrix between shardings and shapes.
inline void add_moves(std::vector<CollectiveCase>& cases, const Mesh& mesh, int64_t n) {
  const TensorType type{DType::kF32, {{"a", n}, {"b", 5}}};
  const TensorType flat{DType::kF32, {{"c", 5 * n}}}, turned{DType::kF32, {{"b", 5}, {"a", n}}};
  AxisList all;
  for (size_t i = 0; i < mesh.axes().size(); ++i) all.push_back(static_cast<int>(i));
  const auto add = [&](const std::string& what, CollectiveKind collective, const AxisList& axes,
                       const Sharding& from, const TensorType& result, const Sharding& to) {
    const std::string name = what + " " + to_string(mesh) + " " + to_string(type);
    add_case(cases, {name, mesh, collective, axes, type, from, result, to});
  };
  const CollectiveKind gather = CollectiveKind::kAllGather, exchange = CollectiveKind::kExchange,
                       all_to_all = CollectiveKind::kAllToAll;
  const Sharding rows{{all, {}}, {}}, columns{{{}, all}, {}};
  add("all_gather rows", gather, all, rows, type, replicated(2));
  add("all_gather columns", gather, all, columns, type, replicated(2));
  add("all_to_all rows to columns", all_to_all, all, rows, type, columns);
  add("exchange to another shape", exchange, all, columns, flat, {{all}, {}});
  add("exchange between shapes without common cuts", exchange, all, rows, turned, columns);
  if (all.size() == 1) return;
  add("all_gather of a minor axis", gather, {1}, {{{0, 1}, {}}, {}}, type, {{{0}, {}}, {}});
  add("all_to_all of a minor axis", all_to_all, {1}, {{{0, 1}, {}}, {}}, type, {{{0}, {1}}, {}});
  add("exchange of swapped axes", exchange, all, {{{0}, {1}}, {}}, type, {{{1}, {0}}, {}});
  add("exchange where the source has replicas", exchange, all, {{{0}, {}}, {}}, type, {{{}, {0, 1}}, {}});
}

/// Collectives on `devices` devices: every kind, even and uneven, empty shards, several axes, reshapes.
inline std::vector<CollectiveCase> collective_cases(int64_t devices) {
  std::vector<Mesh> meshes{Mesh({{"p", devices}})};
  if (devices == 4) meshes.push_back(Mesh({{"r", 2}, {"c", 2}}));
  std::vector<CollectiveCase> cases;
  for (const Mesh& mesh : meshes)
    for (const int64_t n : {8, 7, 3, 1}) {
      for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kBool})
        for (const ReduceKind kind :
             {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kProd})
          if (dtype != DType::kBool || kind == ReduceKind::kMax || kind == ReduceKind::kMin)
            add_reductions(cases, mesh, {dtype, {{"a", n}, {"b", 5}}}, kind);
      add_moves(cases, mesh, n);
    }
  return cases;
}

}  // namespace mtfc
