#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <span>

#include "core/cost/collective_time.h"
#include "core/program/collective_cost.h"
#include "runtime/calibrate/calibration_parts.h"
#include "runtime/comm/mpi/comm_mpi.h"

namespace mtfc {
namespace {

struct Change {
  Sharding from, to;
};

// A change of a matrix's sharding that a collective of this kind makes over `axes`; nothing if other kinds make all
// that are tried.
std::optional<Change> change_by(CollectiveKind kind, const AxisList& axes, const Mesh& mesh) {
  const Sharding whole = replicated(2), rows{{axes, {}}, {}}, columns{{{}, axes}, {}};
  Sharding sum = whole;
  for (const int axis : axes) sum.partial.push_back({axis, ReduceKind::kSum});
  const Dims dims{{"a", mesh.size(axes)}, {"b", mesh.size(axes)}};
  for (const Change& change :
       {Change{sum, whole}, Change{sum, rows}, Change{rows, whole}, Change{rows, columns}})
    if (collective_between({dims, change.from, change.to, mesh}) == Collective{kind, axes}) return change;
  return std::nullopt;
}

// A program of one collective over `axes`, on a matrix whose larger side has `bytes` bytes.
EntryPoint entry_of(CollectiveKind kind, const AxisList& axes, const Mesh& mesh, int64_t bytes) {
  const int64_t devices = mesh.size(axes);
  const TensorType type{DType::kF32, {{"a", devices}, {"b", std::max<int64_t>(1, bytes / 4 / devices)}}};
  const Change change = change_by(kind, axes, mesh).value();
  const int64_t room = aligned(mtfc::bytes(type));
  EntryPoint entry;
  entry.name = "train";
  // As in a planned program, the result takes the operand's place if the kind allows it. The workspace is large enough
  // for every kind.
  const bool in_place = works_in_place(kind);
  entry.values = {{"x", type, change.from, BufferId(0)}, {"y", type, change.to, BufferId(in_place ? 0 : 1)}};
  const int64_t workspace = room * (devices + 1);
  entry.buffers = {{BufferKind::kActivation, room, 0, 0, 1},
                   {BufferKind::kActivation, room, room, 0, 1},
                   {BufferKind::kWorkspace, workspace, 2 * room, 0, 1}};
  entry.arena_bytes = 2 * room + workspace;
  const Collective collective{kind, axes};
  Step start, wait;
  start.name = wait.name = "y";
  start.inputs = {ValueId(0)};
  start.outputs = {ValueId(1)};
  start.workspace = BufferId(2);
  start.action = StartCollective{collective};
  wait.action = AwaitCollective{collective, StepIndex(0)};
  entry.steps = {start, wait};
  return entry;
}

// The elements of a value that this rank holds.
std::span<uint32_t> local_bits(const EntryPoint& entry, const Mesh& mesh, ValueId id, const Arena& arena) {
  const Value& value = entry.values[id];
  const int64_t offset = entry.buffers[value.buffer].offset;
  const LocalDims dims = local_types(entry, {id}, mesh, mesh.last())[0].dims;
  return {reinterpret_cast<uint32_t*>(arena.at(offset)), static_cast<size_t>(elements(dims))};
}

class CollectiveCalibration {
 public:
  CollectiveCalibration(const Mesh& mesh, Stopwatch& watch, NodeMemory& node,
                        const CalibrationOptions& options, std::vector<FitQuality>& fits)
      : mesh_(mesh), watch_(watch), node_(node), options_(options), fits_(fits) {}

  Link link(const AxisList& axes) {
    Link link;
    // Within a node every rank does its part of the work itself, while it waits.
    link.overlaps = !lies_in_a_node(axes, mesh_, watch_.processes().ranks_on_node());
    std::vector<LinkSample> all;
    for (const CollectiveFacts& facts : collective_kinds()) {
      const CollectiveKind kind = facts.kind;
      if (!change_by(kind, axes, mesh_)) continue;
      options_.begins(fmt::format("{} over {}", to_string(kind), mesh_.names(axes)));
      const std::vector<LinkSample> samples = fit(kind, axes, link);
      all.insert(all.end(), samples.begin(), samples.end());
    }
    adopt_rates(link);
    const auto [alpha, beta] = fit_line(all);
    link.latency_s = alpha;
    link.bytes_per_s = 1 / std::max(beta, 1e-15);
    return link;
  }

 private:
  // A kind that was not measured takes the rate of one whose messages go the same ways.
  static void adopt_rates(Link& link) {
    for (const CollectiveFacts& missing : collective_kinds()) {
      if (link.collectives.count(to_string(missing.kind)) > 0) continue;
      for (const CollectiveFacts& alike : collective_kinds()) {
        const auto measured = link.collectives.find(to_string(alike.kind));
        if (measured == link.collectives.end() || alike.pairwise != missing.pairwise) continue;
        link.collectives.emplace(to_string(missing.kind), Rate(measured->second));
        break;
      }
    }
  }

  // Operands are freshly written by their rank, and results are read: if ranks share memory, both then are in
  // other ranks' caches. Reducing the same operands repeatedly would leave them in the cache of the reducing
  // rank.
  LinkSample measure(CollectiveKind kind, const AxisList& axes, int64_t bytes) {
    const EntryPoint entry = entry_of(kind, axes, mesh_, bytes);
    MpiComm comm(mesh_, watch_.processes(), node_);
    const std::vector<Arena> arenas = comm.make_arenas(entry.arena_bytes);
    std::memset(arenas[0].at(0), 0, static_cast<size_t>(entry.arena_bytes));
    const auto collectives = comm.prepare(entry, arenas);
    const std::span<uint32_t> operand = local_bits(entry, mesh_, ValueId(0), arenas[0]),
                              result = local_bits(entry, mesh_, ValueId(1), arenas[0]);
    uint32_t bits = 0;  // stays zero, but the compiler can't know that and has to read
    const auto write = [&] { std::fill(operand.begin(), operand.end(), bits); };
    const auto read = [&] { bits = std::reduce(result.begin(), result.end(), bits, std::bit_or()) & 1; };
    const double alone = watch_.seconds([&] {
      write();
      read();
    });
    const double all = watch_.seconds([&] {
      write();
      collectives->start(0);
      collectives->wait(0);
      read();
    });
    const double seconds = std::max(all - alone, all / 20);
    const CollectiveCost cost = collective_cost(entry, entry.steps[0], mesh_, mesh_.last());
    const auto messages = static_cast<double>(messages_sent(kind, mesh_.size(axes)));
    return {messages, static_cast<double>(cost.bytes_sent), seconds};
  }

  // Takes the latency from the shortest sample, then for every size the bandwidth that remains. Returns all
  // samples.
  std::vector<LinkSample> fit(CollectiveKind kind, const AxisList& axes, Link& link) {
    Rate rate;
    std::vector<LinkSample> samples;
    for (int64_t bytes = 256; bytes <= 16 << 20; bytes *= bytes < 4096 ? 16 : 4)
      samples.push_back(measure(kind, axes, bytes));
    rate.latency_s = samples[0].seconds / samples[0].messages;
    std::vector<std::pair<double, double>> points;
    for (size_t i = 1; i < samples.size(); ++i) {
      const LinkSample& s = samples[i];
      const double left = std::max(s.seconds - samples[0].seconds, s.seconds / 20);
      points.emplace_back(s.bytes, s.bytes / left);
    }
    rate.bytes_per_s = Curve(points);
    link.collectives[to_string(kind)] = rate;
    std::vector<double> predicted, measured;
    for (const int64_t bytes : {8 << 10, 128 << 10, 2 << 20}) {
      const LinkSample s = measure(kind, axes, bytes);
      measured.push_back(s.seconds);
      predicted.push_back(s.messages * rate.latency_s + s.bytes / rate.bytes_per_s.at(s.bytes));
    }
    fits_.push_back(
        fit_quality(fmt::format("{} over {}", to_string(kind), mesh_.names(axes)), predicted, measured));
    return samples;
  }

  const Mesh& mesh_;
  Stopwatch& watch_;
  NodeMemory& node_;
  const CalibrationOptions& options_;
  std::vector<FitQuality>& fits_;
};

}  // namespace

std::pair<double, double> fit_line(const std::vector<LinkSample>& samples) {
  double mm = 0, mb = 0, bb = 0, m = 0, b = 0;
  for (const LinkSample& s : samples) {
    const double messages = s.messages / s.seconds, bytes = s.bytes / s.seconds;
    mm += messages * messages;
    mb += messages * bytes;
    bb += bytes * bytes;
    m += messages;
    b += bytes;
  }
  const double determinant = mm * bb - mb * mb;
  double alpha = determinant > 0 ? (m * bb - b * mb) / determinant : -1;
  double beta = determinant > 0 ? (b * mm - m * mb) / determinant : -1;
  if (alpha < 0) {
    alpha = 0;
    beta = bb > 0 ? b / bb : 0;
  } else if (beta < 0) {
    beta = 0;
    alpha = mm > 0 ? m / mm : 0;
  }
  return {alpha, beta};
}

MeasuredLinks calibrate_collectives(const Mesh& mesh, Stopwatch& watch, NodeMemory& node,
                                    const CalibrationOptions& options) {
  MeasuredLinks measured;
  CollectiveCalibration calibration(mesh, watch, node, options, measured.fits);
  AxisList all;
  for (size_t i = 0; i < mesh.axes().size(); ++i)
    if (mesh.axes()[i].size > 1) all.push_back(static_cast<int>(i));
  Link slowest;
  for (const int axis : all) {
    const Link link = calibration.link({axis});
    measured.axes[mesh.names({axis})] = link;
    if (slowest.bytes_per_s.most() <= 0 || link.bytes_per_s.most() < slowest.bytes_per_s.most())
      slowest = link;
  }
  if (all.size() > 1) measured.axes[mesh.names(all)] = calibration.link(all);
  measured.axes["*"] = slowest;
  return measured;
}

}  // namespace mtfc
