// The rate of prepared einsums compared with plain sgemm calls (always of f32) of the same inner sizes on dense
// matrices:
//   einsum_bench [--bf16] [THREADS...]     (default: einsums of f32, with 1 and 2 threads)
// The two alternate and their medians are compared; "least" is the ratio of their minimum times, which other
// work on the machine disturbs less. Plain products of a batch run either in a row on all threads, or in
// parallel on one thread each; the better of the two counts. The last table has products too small for
// arithmetic to dominate their time.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/graph/op_registry.h"
#include "core/op_rules/einsum_plan.h"
#include "core/op_rules/example.h"
#include "core/tensors/alignment.h"
#include "core/tensors/bf16.h"
#include "runtime/compute/kernel.h"
#include "runtime/compute/openblas.h"
#include "runtime/compute/threads.h"
#include "runtime/memory/arena.h"
#include "runtime/testing/kernel_call.h"

namespace {

using namespace mtfc;

struct Case {
  const char* first;
  const char* second;
  const char* result;
};

// Products of attention, projections, gradients, experts and general contractions; then the six products of
// models/two_layer.json.
constexpr Case kCases[] = {
    {"b=8 h=8 q=256 d=64", "b=8 h=8 k=256 d=64", "b=8 h=8 q=256 k=256"},
    {"b=8 h=8 q=256 k=256", "b=8 h=8 k=256 d=64", "b=8 h=8 q=256 d=64"},
    {"b=8 q=256 h=8 d=64", "b=8 k=256 h=8 d=64", "b=8 h=8 q=256 k=256"},
    {"b=8 h=8 q=256 k=256", "b=8 k=256 h=8 d=64", "b=8 q=256 h=8 d=64"},
    {"b=8 l=256 m=512", "m=512 h=8 k=64", "b=8 l=256 h=8 k=64"},
    {"b=8 l=256 h=8 k=64", "h=8 k=64 m=512", "b=8 l=256 m=512"},
    {"b=8 l=256 m=512", "b=8 l=256 f=2048", "m=512 f=2048"},
    {"e=8 g=8 c=64 m=512", "e=8 m=512 h=2048", "e=8 g=8 c=64 h=2048"},
    {"a=64 b=64 c=32 d=32", "d=32 c=32 e=64 f=64", "a=64 b=64 e=64 f=64"},
    {"i=64 j=64 k=512", "j=64 i=64 l=512", "k=512 l=512"},
    {"b=1024 i=1024", "i=1024 h=4096", "b=1024 h=4096"},
    {"b=1024 h=4096", "h=4096 i=1024", "b=1024 i=1024"},
    {"b=1024 i=1024", "b=1024 h=4096", "i=1024 h=4096"},
    {"b=1024 h=4096", "i=1024 h=4096", "b=1024 i=1024"},
    {"b=1024 h=4096", "b=1024 i=1024", "h=4096 i=1024"},
    {"b=1024 i=1024", "h=4096 i=1024", "b=1024 h=4096"},
};

// Products of a matrix and a vector, of long and thin matrices, and with a group of dimensions torn apart.
constexpr Case kOddCases[] = {
    {"k=4096", "k=4096 n=4096", "n=4096"},
    {"m=4096 k=4096", "k=4096", "m=4096"},
    {"b=64 k=512", "b=64 k=512 n=512", "b=64 n=512"},
    {"b=64 m=512 k=512", "b=64 k=512", "b=64 m=512"},
    {"m=4 k=1024", "k=1024 n=4096", "m=4 n=4096"},
    {"m=8192 k=1024", "k=1024 n=8", "m=8192 n=8"},
    {"k=100000 m=16", "k=100000 n=16", "m=16 n=16"},
    {"k=100000 m=100", "k=100000 n=10", "m=100 n=10"},
    {"m=2048 k=2", "k=2 n=2048", "m=2048 n=2048"},
    {"i=64 k=512 j=16", "k=512 l=512", "i=64 j=16 l=512"},
    {"i=512 k=256 b=16", "k=256 b=16 j=512", "b=16 i=512 j=512"},
    {"i=256 p=16 j=256", "k=256 j=256", "i=256 k=256 p=16"},
    {"i=128 j=128 b=64", "b=64 j=128 k=128", "i=128 k=128 b=64"},
    {"k=1000000", "k=1000000", ""},
    {"b=3 m=512 k=512", "b=3 k=512 n=512", "b=3 m=512 n=512"},
    {"b=4096 m=16 k=16", "b=4096 k=16 n=16", "b=4096 m=16 n=16"},
    {"m=100 k=784", "k=784 n=1000", "m=100 n=1000"},
    {"m=100 k=1000", "k=1000 n=10", "m=100 n=10"},
};

constexpr Case kTinyCases[] = {
    {"m=2 k=2", "k=2 n=2", "m=2 n=2"},       {"m=8 k=8", "k=8 n=8", "m=8 n=8"},
    {"m=16 k=10", "k=10 n=16", "m=16 n=16"}, {"m=16 k=10", "n=16 k=10", "m=16 n=16"},
    {"k=10 m=16", "k=10 n=16", "m=16 n=16"},
};

DType measured = DType::kF32;  // of the einsums

TensorType type_of(const char* dims) {
  return {measured, dims_of(dims)};
}

EinsumPlan plan_of(const Case& c) {
  return plan_einsum(held_whole(type_of(c.first)), held_whole(type_of(c.second)),
                     held_whole(type_of(c.result)));
}

/// Values in [-1, 1), the same in every run.
template <typename T>
void fill(T* values, int64_t count) {
  uint32_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    values[i] = static_cast<T>(static_cast<float>(state >> 8) / (1 << 23) - 1);
  }
}

/// One einsum, run as the executor would.
class Einsum {
 public:
  explicit Einsum(const Case& c)
      : types_{type_of(c.first), type_of(c.second), type_of(c.result)}, arena_(place()) {
    const Attributes attributes = {{"dims", types_[2].dims}};
    const KernelSite site{attributes, {tensor(0), tensor(1)}, {tensor(2)}, "bench", workspace_bytes_};
    kernel_ = kernel_named("einsum").prepare(site);
    for (size_t i = 0; i < 2; ++i) {
      if (measured == DType::kBF16)
        fill(reinterpret_cast<Bf16*>(arena_.at(offsets_[i])), elements(types_[i].dims));
      else
        fill(reinterpret_cast<float*>(arena_.at(offsets_[i])), elements(types_[i].dims));
    }
    operands_ = {arena_.at(offsets_[0]), arena_.at(offsets_[1])};
    results_ = {arena_.at(offsets_[2])};
  }

  void run() { kernel_({operands_, results_, arena_.at(offsets_[3]), 0, 0}); }

 private:
  LocalTensor tensor(size_t i) const { return {types_[i], whole_box(types_[i].dims)}; }

  int64_t place() {
    const Attributes attributes = {{"dims", types_[2].dims}};
    const std::vector<LocalType> local = held_whole(types_);
    workspace_bytes_ = op_named("einsum").workspace({attributes, {local.data(), 2}}, {&local[2], 1});
    int64_t bytes = 0;
    for (const TensorType& type : types_) offsets_.push_back(bytes), bytes += aligned(mtfc::bytes(type));
    offsets_.push_back(bytes);
    return bytes + workspace_bytes_;
  }

  std::vector<TensorType> types_;
  std::vector<int64_t> offsets_;  // operands, result, workspace
  int64_t workspace_bytes_ = 0;
  Arena arena_;
  Kernel kernel_;
  std::vector<const std::byte*> operands_;
  std::vector<std::byte*> results_;
};

/// Dense products c = a * b, `count` of them, by OpenBLAS alone.
struct Plain {
  int64_t count, m, n, k;
  Arena arena;

  Plain(int64_t of, int64_t rows, int64_t columns, int64_t inner)
      : count(of), m(rows), n(columns), k(inner), arena(4 * of * (m * k + k * n + m * n)) {
    fill(reinterpret_cast<float*>(arena.at(0)), count * (m * k + k * n));
  }

  void one(int64_t i) {
    float* a = reinterpret_cast<float*>(arena.at(0));
    float* b = a + count * m * k;
    float* c = b + count * k * n;
    openblas().sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<blasint>(m),
                     static_cast<blasint>(n), static_cast<blasint>(k), 1, a + i * m * k,
                     static_cast<blasint>(k), b + i * k * n, static_cast<blasint>(n), 0, c + i * m * n,
                     static_cast<blasint>(n));
  }

  void in_a_row() {
    for (int64_t i = 0; i < count; ++i) one(i);
  }

  void in_parallel() {
#pragma omp parallel for
    for (int64_t i = 0; i < count; ++i) one(i);
  }
};

template <typename Run>
double seconds(int repeats, const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeats;
}

struct Figure {
  double median, least;
};

Figure figure_of(std::vector<double>& samples) {
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples.front()};
}

struct Figures {
  Figure ours, row, parallel;
};

Figures measure(Einsum& einsum, Plain& plain) {
  constexpr double kSample = 1e-3, kTotal = 0.3;
  einsum.run();
  plain.in_a_row();
  plain.in_parallel();
  const double once = std::max(seconds(1, [&] { einsum.run(); }), 1e-8);
  const int repeats = std::max(1, static_cast<int>(kSample / once));
  const int rounds = std::clamp(static_cast<int>(kTotal / (3 * once * repeats)), 5, 101);
  std::vector<double> ours, row, parallel;
  for (int i = 0; i < rounds; ++i) {
    ours.push_back(seconds(repeats, [&] { einsum.run(); }));
    row.push_back(seconds(repeats, [&] { plain.in_a_row(); }));
    parallel.push_back(plain.count > 1 ? seconds(repeats, [&] { plain.in_parallel(); }) : row.back());
  }
  return {figure_of(ours), figure_of(row), figure_of(parallel)};
}

std::string text_of(const Case& c) {
  const auto names = [](const char* dims) {
    std::string text;
    for (const Dim& dim : dims_of(dims)) text += dim.name;
    return text;
  };
  return names(c.first) + "," + names(c.second) + "->" + names(c.result);
}

void print_rates(std::span<const Case> cases, int threads) {
  fmt::print("{:<22} {:>5} {:>5} {:>5} {:>7} {:>4} {:>10} {:>8} {:>8} {:>6} {:>6}   {} threads\n", "einsum",
             "count", "m", "n", "k", "copy", "us", "Gflop/s", "plain", "ratio", "least", threads);
  for (const Case& c : cases) {
    const EinsumPlan plan = plan_of(c);
    const int64_t count = elements(plan.batch);
    Einsum einsum(c);
    Plain plain(count, plan.m, plan.n, plan.k);
    const Figures time = measure(einsum, plain);
    const double best = std::min(time.row.median, time.parallel.median);
    const double least = std::min(time.row.least, time.parallel.least);
    const double flops = 2e-9 * static_cast<double>(count * plan.m * plan.n * plan.k);
    fmt::print(
        "{:<22} {:>5} {:>5} {:>5} {:>7} {:>4} {:>10.1f} {:>8.1f} {:>8.1f} {:>6.2f} {:>6.2f}\n", text_of(c),
        count, plan.m, plan.n, plan.k,
        fmt::format("{}{}{}", plan.a.packed ? "a" : "", plan.b.packed ? "b" : "", plan.c.packed ? "c" : ""),
        time.ours.median * 1e6, flops / time.ours.median, flops / best, best / time.ours.median,
        least / time.ours.least);
  }
}

void print_tiny() {
  fmt::print("{:<22} {:>12} {:>12}\n", "one tiny product", "ns a call", "ns of sgemm");
  for (const Case& c : kTinyCases) {
    const EinsumPlan plan = plan_of(c);
    Einsum einsum(c);
    Plain plain(1, plan.m, plan.n, plan.k);
    const Figures time = measure(einsum, plain);
    fmt::print("{:<22} {:>12.0f} {:>12.0f}\n", fmt::format("{} x {} x {}", plan.m, plan.n, plan.k),
               time.ours.least * 1e9, time.row.least * 1e9);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> threads;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--bf16")
      measured = DType::kBF16;
    else
      threads.push_back(std::max(1, std::atoi(argv[i])));
  }
  if (threads.empty()) threads = {1, 2};
  for (const int count : threads) {
    set_threads(count);
    print_rates(kCases, count);
    print_rates(kOddCases, count);
    print_tiny();
  }
}
