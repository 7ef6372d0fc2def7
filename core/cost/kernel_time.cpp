#include "core/cost/kernel_time.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/diagnostics/enum_names.h"
#include "core/op_rules/attention.h"
#include "core/op_rules/conv_plan.h"
#include "core/op_rules/einsum_plan.h"
#include "core/program/ring.h"

namespace mtfc {
namespace {

// The class of a family's kernels. A contraction of a single operand sums it, so it counts as a reduction. Convolutions
// are listed as `conv` and `grouped_conv`, and attention that is not listed is priced as products.
constexpr auto kClasses = std::to_array<EnumName<Family>>({{Family::kElementwise, "elementwise"},
                                                           {Family::kElementwiseChecked, "elementwise"},
                                                           {Family::kReduction, "reduction"},
                                                           {Family::kContraction, "reduction"},
                                                           {Family::kAttention, "attention"},
                                                           {Family::kConvolution, "conv"},
                                                           {Family::kPooling, "pooling"},
                                                           {Family::kIndexing, "indexing"},
                                                           {Family::kRelabel, "movement"},
                                                           {Family::kMovement, "movement"},
                                                           {Family::kGenerator, "generator"}});

std::string class_of(Family family) {
  return std::string(name_in(kClasses, family));
}

// The curve of the first name that the profile lists, or nullptr.
const Curve* listed(const Hardware& hardware, std::initializer_list<std::string> names) {
  for (const std::string& name : names)
    if (const auto at = hardware.efficiency.find(name); at != hardware.efficiency.end()) return &at->second;
  return nullptr;
}

double share(const Hardware& hardware, std::initializer_list<std::string> names, double size) {
  const Curve* curve = listed(hardware, names);
  return curve ? curve->at(size) : 1;
}

// The keys that price products, the most particular first.
const std::vector<std::string> kProducts = {"einsum"}, kWidenedProducts = {"widened_einsum", "einsum"},
                               kBatchedProducts = {"batched_einsum", "einsum"}, kConvs = {"conv", "einsum"},
                               kGroupedConvs = {"grouped_conv", "conv", "batched_einsum", "einsum"};

// The share by the first of `kinds` that the profile lists: of a table at `sizes`, of a curve at `size`.
std::optional<double> table_share(const Hardware& hardware, const std::vector<std::string>& kinds,
                                  std::span<const double> sizes, double size) {
  for (const std::string& kind : kinds) {
    if (const auto table = hardware.tables.find(kind); table != hardware.tables.end())
      return table->second.at(sizes);
    if (const auto curve = hardware.efficiency.find(kind); curve != hardware.efficiency.end())
      return curve->second.at(size);
  }
  return std::nullopt;
}

// The share of a product a[m, k] * b[k, n] by the first of `kinds` that the profile lists.
double share_of_product(const Hardware& hardware, const std::vector<std::string>& kinds, int64_t m, int64_t n,
                        int64_t k) {
  const double sizes[] = {static_cast<double>(m), static_cast<double>(n), static_cast<double>(k)};
  return table_share(hardware, kinds, sizes, 2 * sizes[0] * sizes[1] * sizes[2]).value_or(1);
}

// The traffic of the copies that a plan makes of operands and result: each is written, and read again.
int64_t bytes_packed(std::span<const LocalType> operands, const LocalType& result, const EinsumPlan& plan) {
  const auto left = static_cast<size_t>(plan.left);
  int64_t sum = 0;
  if (plan.a.packed) sum += bytes(operands[left]);
  if (plan.b.packed) sum += bytes(operands[1 - left]);
  if (plan.c.packed) sum += bytes(result);
  return 2 * sum;
}

// Adds a contraction of two operands, according to the plan that the executor uses.
void add_products(std::span<const LocalType> operands, const LocalType& result, double flops,
                  const Hardware& hardware, KernelTime& time) {
  const EinsumPlan plan = plan_einsum(operands[0], operands[1], result);
  const DType dtype = product_dtype(operands[0].dtype, operands[1].dtype);
  const double at_peak = flops / hardware.peak(dtype);
  if (plan.multiplies) {
    time.compute_s += at_peak / share(hardware, {"mul", "elementwise"}, flops);
    return;
  }
  const std::vector<std::string>& kinds = elements(plan.batch) > 1                 ? kBatchedProducts
                                          : size_of(result.dtype) > size_of(dtype) ? kWidenedProducts
                                                                                   : kProducts;
  time.compute_s += at_peak / share_of_product(hardware, kinds, plan.m, plan.n, plan.k);
  if (const auto copied = static_cast<double>(bytes_packed(operands, result, plan)); copied > 0)
    time.memory_s += copied / hardware.memory_bandwidth.at(copied);
}

// True if the operation multiplies operands, so that products are added up.
bool adds_products(const OpDef& op, size_t operands) {
  return op.family == Family::kAttention || op.family == Family::kConvolution ||
         (op.family == Family::kContraction && operands == 2);
}

// The flops that a kernel really computes. Pairs of an attention count even where they are not seen, but its kernel
// leaves out most of these, and computes some beside its window.
double computed_flops(const OpDef& op, const LocalCall& call, const std::vector<LocalType>& results) {
  const auto counted = static_cast<double>(op.flops(call, results));
  return op.family == Family::kAttention ? counted * share_computed(call) : counted;
}

// The names by which a profile lists an attention, or a gradient of one.
std::vector<std::string> names_of_attention(const OpDef& op) {
  return {std::string(op.signature.name), class_of(Family::kAttention)};
}

// The length of the memory, the heads of all elements of the batch, and how many of them share a head of the memory.
// The longest dimension of the queries counts their positions, and others tell heads apart that share the memory.
std::array<double, 3> attention_places(const LocalCall& call, const AttentionSizes& sizes) {
  int64_t positions = 1;
  const LocalDims& memory = call.operands[1].dims;
  for (const LocalDim& dim : call.operands[0].dims)
    if (!contains(memory, dim.name)) positions = std::max(positions, dim.size);
  const int64_t group = std::max<int64_t>(sizes.queries / positions, 1);
  return {static_cast<double>(sizes.memory), static_cast<double>(sizes.batch * group),
          static_cast<double>(group)};
}

// A share that a profile lists is that of the operations of the pairs that queries see. Otherwise attention multiplies
// the queries and the memory of one position of the batch at a time, and `flops` are those of the pairs that it
// computes.
void add_attention(const OpDef& op, const LocalCall& call, double flops, const Hardware& hardware,
                   KernelTime& time) {
  const AttentionSizes sizes = attention_sizes(call);
  const std::array<double, 3> places = attention_places(call, sizes);
  double share = 1;
  if (const auto listed_share = table_share(hardware, names_of_attention(op), places, places[0]))
    share = *listed_share * share_computed(call) / share_seen(call);
  else
    share = share_of_product(hardware, kBatchedProducts, sizes.queries, sizes.memory, sizes.inner);
  time.compute_s += flops / (hardware.peak(call.operands[0].dtype) * share);
}

void add_convolution(const LocalCall& call, const LocalType& result, double flops, const Hardware& hardware,
                     KernelTime& time) {
  const ConvSizes sizes = conv_sizes(call.attributes, call.operands, result);
  time.compute_s += flops / (hardware.peak(result.dtype) *
                             share_of_product(hardware, sizes.groups > 1 ? kGroupedConvs : kConvs, sizes.m,
                                              sizes.n, sizes.k));
}

// The best share of any shape of product, including products that are computed by multiplying elements.
double best_share_of_products(const OpDef& op, const Hardware& hardware) {
  const auto best_of = [&](const std::string& kind, double otherwise) {
    if (const auto table = hardware.tables.find(kind); table != hardware.tables.end())
      return table->second.most();
    const Curve* curve = listed(hardware, {kind});
    return curve ? curve->most() : otherwise;
  };
  if (op.family == Family::kAttention)
    for (const std::string& name : names_of_attention(op))
      if (const double best = best_of(name, 0); best > 0) return best;
  const Curve* multiplied = listed(hardware, {"mul", "elementwise"});
  return std::max({best_of("einsum", 1), best_of("widened_einsum", 0), best_of("batched_einsum", 0),
                   best_of("conv", 0), best_of("grouped_conv", 0), multiplied ? multiplied->most() : 1});
}

void add_operations(const OpDef& op, const LocalCall& call, const std::vector<LocalType>& results,
                    const Hardware& hardware, KernelTime& time) {
  const double flops = computed_flops(op, call, results);
  if (flops <= 0) return;
  const double peak = hardware.peak(rated_dtype(op, call.operands, results[0]));
  const std::string name(op.signature.name), kind = class_of(op.family);
  time.peak_s += flops / peak;
  if (op.family == Family::kAttention)
    add_attention(op, call, flops, hardware, time);
  else if (op.family == Family::kConvolution)
    add_convolution(call, results[0], flops, hardware, time);
  else if (adds_products(op, call.operands.size()))
    add_products(call.operands, results[0], flops, hardware, time);
  else
    time.compute_s += flops / (peak * share(hardware, {name, kind}, flops));
}

// Adds the operations of a kernel step, or of a member of a fused one.
void add_operations(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Hardware& hardware,
                    KernelTime& time) {
  const std::vector<LocalType> operands = local_types(entry, step.inputs, mesh, mesh.last());
  add_operations(*step.op(), {step.attributes(), operands},
                 local_types(entry, step.outputs, mesh, mesh.last()), hardware, time);
}

// Adds all turns of a ring, each as long as that of the largest slice.
void add_turns(const EntryPoint& entry, const Step& step, const Mesh& mesh, const Hardware& hardware,
               KernelTime& time) {
  const Ring ring(entry, step, mesh);
  const Coordinates last = mesh.last();
  const auto [first, second, result] = ring.tensors(last, ring.self(last));
  const std::vector<LocalType> operands = {first.type, second.type};
  KernelTime turn;
  add_operations(*step.op(), {step.attributes(), operands}, {result.type}, hardware, turn);
  const auto turns = static_cast<double>(ring.members());
  time.overhead_s *= turns;
  time.issued = ring.members();
  time.compute_s += turns * turn.compute_s;
  time.memory_s += turns * turn.memory_s;
  time.peak_s += turns * turn.peak_s;
}

double memory_seconds(const MemoryAccess& access, const Hardware& hardware) {
  const Curve& bandwidth =
      access.writes && hardware.write_bandwidth ? *hardware.write_bandwidth : hardware.memory_bandwidth;
  return static_cast<double>(access.bytes) / bandwidth.at(static_cast<double>(access.distance));
}

// The time of an operation that computes nothing, but picks or moves elements at its own pace.
double moving_seconds(const EntryPoint& entry, const Step& step, int64_t bytes, const Hardware& hardware) {
  const Curve* pace = listed(hardware, {std::string(step.op()->signature.name), class_of(step.op()->family)});
  if (!pace) return 0;
  const DType dtype = entry.values[step.outputs[0]].type.dtype;
  const double touched = static_cast<double>(bytes) / static_cast<double>(size_of(dtype));
  return touched / (hardware.peak(computed_dtype(dtype)) * pace->at(touched));
}

}  // namespace

KernelTime kernel_time(const EntryPoint& entry, const Step& step, const std::vector<MemoryAccess>& traffic,
                       const Mesh& mesh, const Hardware& hardware) {
  KernelTime time;
  // A relabelling, and a slice whose result lies in its operand, move nothing.
  const bool moves_nothing = (step.kind() == StepKind::kSlice || step.op()) && traffic.empty();
  if (moves_nothing) return time;
  time.overhead_s = hardware.step_overhead_s;
  time.overlap = hardware.overlap;
  time.issued = 1;
  for (const MemoryAccess& access : traffic) {
    time.bytes += access.bytes;
    time.memory_s += memory_seconds(access, hardware);
  }
  if (step.kind() == StepKind::kKernel) {
    add_operations(entry, step, mesh, hardware, time);
    if (time.peak_s <= 0) time.compute_s = moving_seconds(entry, step, time.bytes, hardware);
  }
  if (step.kind() == StepKind::kRing) add_turns(entry, step, mesh, hardware, time);
  for (const Step& member : step.members()) add_operations(entry, member, mesh, hardware, time);
  return time;
}

KernelTime operation_time(const OpDef& op, const LocalCall& call, const std::vector<LocalType>& results,
                          const Hardware& hardware) {
  KernelTime time;
  time.overlap = hardware.overlap;
  add_operations(op, call, results, hardware, time);
  return time;
}

KernelTime node_time(const OpDef& op, const LocalCall& call, const std::vector<LocalType>& results,
                     const Hardware& hardware) {
  if (op.family == Family::kRelabel) return {};
  int64_t touched = 0;
  for (const LocalType& result : results) touched += bytes(result);
  if (is_product(op))
    for (const LocalType& operand : call.operands) touched += bytes(operand);
  KernelTime time = operation_time(op, call, results, hardware);
  if (touched > 0)
    time.memory_s +=
        static_cast<double>(touched) / hardware.memory_bandwidth.at(static_cast<double>(touched));
  return time;
}

DType rated_dtype(const OpDef& op, std::span<const LocalType> operands, const LocalType& result) {
  if (is_product(op) && !operands.empty())
    return product_dtype(operands.front().dtype,
                         operands.size() == 2 ? operands[1].dtype : operands[0].dtype);
  const DType dtype =
      result.dtype == DType::kBool && !operands.empty() ? operands.back().dtype : result.dtype;
  return computed_dtype(dtype);
}

double share_useful(const OpDef& op, const Attributes& attributes) {
  return op.family == Family::kAttention ? share_seen(attributes) : 1;
}

double least_seconds(const EntryPoint& entry, const Step& step, const Hardware& hardware) {
  const std::vector<LocalType> operands = held_whole(global_types(entry, step.inputs)),
                               results = held_whole(global_types(entry, step.outputs));
  const double flops = static_cast<double>(step.op()->flops({step.attributes(), operands}, results)) *
                       share_useful(*step.op(), step.attributes());
  if (flops <= 0) return 0;
  const double peak = hardware.peak(rated_dtype(*step.op(), operands, results[0]));
  if (adds_products(*step.op(), operands.size()))
    return flops / (peak * best_share_of_products(*step.op(), hardware));
  const Curve* curve =
      listed(hardware, {std::string(step.op()->signature.name), class_of(step.op()->family)});
  return flops / (peak * (curve ? curve->most() : 1));
}

}  // namespace mtfc
