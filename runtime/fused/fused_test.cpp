#include "runtime/fused/fused.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/compile/pipeline.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/compute/threads.h"
#include "runtime/execute/executor.h"

namespace mtfc::fused_test {
namespace {

// y = softmax of x[r, c] over c; outputs: per row the log of the sum of x², per column the mean of y, and the
// sum of all of y.
Model softmax_model(int64_t rows, int64_t columns) {
  const Dim r{"r", rows}, c{"c", columns};
  GraphBuilder b;
  Model model;
  const auto output = [&](const std::string& name, TensorId id) {
    b.name(id, name);
    b.mark_from_model(id);
    model.outputs.push_back({name, id});
  };
  const TensorId x = b.add_input("x", {DType::kF64, {r, c}});
  model.inputs.push_back({"x", {DType::kF64, {r, c}}, "", {}});
  const TensorId e = b.op("exp", {b.op("sub", {x, b.op("reduce_max", {x}, {{"over", Dims{c}}})})});
  const TensorId y = b.op("div", {e, b.op("reduce_sum", {e}, {{"over", Dims{c}}})});
  output("y", y);
  output("norm", b.op("log", {b.op("reduce_sum", {b.op("square", {x})}, {{"over", Dims{c}}})}));
  output("mean", b.op("reduce_mean", {y}, {{"over", Dims{r}}}));
  output("all", b.op("reduce_sum", {y}));
  model.graph = std::move(b).build();
  return model;
}

double input(int64_t i) {
  return std::sin(static_cast<double>(i) * 0.37 + 1) * 3;
}

struct Softmax {
  std::vector<double> y, norm, mean;
  double all = 0;
};

Softmax expected(int64_t rows, int64_t columns) {
  Softmax s{std::vector<double>(static_cast<size_t>(rows * columns)),
            std::vector<double>(static_cast<size_t>(rows)),
            std::vector<double>(static_cast<size_t>(columns))};
  for (int64_t i = 0; i < rows; ++i) {
    double largest = -INFINITY, sum = 0, squares = 0;
    for (int64_t j = 0; j < columns; ++j) largest = std::max(largest, input(i * columns + j));
    for (int64_t j = 0; j < columns; ++j) {
      const double x = input(i * columns + j);
      sum += s.y[static_cast<size_t>(i * columns + j)] = std::exp(x - largest);
      squares += x * x;
    }
    s.norm[static_cast<size_t>(i)] = std::log(squares);
    for (int64_t j = 0; j < columns; ++j) {
      double& y = s.y[static_cast<size_t>(i * columns + j)];
      y /= sum;
      s.mean[static_cast<size_t>(j)] += y / static_cast<double>(rows);
      s.all += y;
    }
  }
  return s;
}

// Returns all outputs of the model, one after another.
std::vector<double> outputs_of(int64_t rows, int64_t columns, int64_t tile) {
  const Program program = compile(softmax_model(rows, columns), {}, {});
  const EntryPoint& entry = *program.find("evaluate");
  REQUIRE(std::any_of(entry.steps.begin(), entry.steps.end(), [](const Step& step) {
    return step.kind() == StepKind::kFused && step.members().size() > 4;
  }));
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm, {.fused_tile = tile});
  const LocalShard x = executor.shard(entry, entry.inputs[0].value, 0);
  for (int64_t i = 0; i < x.elements(); ++i) reinterpret_cast<double*>(x.data)[i] = input(i);
  executor.run(entry, 0);
  std::vector<double> values;
  for (const Binding& output : entry.outputs) {
    const LocalShard shard = executor.shard(entry, output.value, 0);
    const double* data = reinterpret_cast<const double*>(shard.data);
    values.insert(values.end(), data, data + shard.elements());
  }
  return values;
}

void check(int64_t rows, int64_t columns, int64_t tile) {
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(tile);
  const Softmax want = expected(rows, columns);
  std::vector<double> all = want.y;
  all.insert(all.end(), want.norm.begin(), want.norm.end());
  all.insert(all.end(), want.mean.begin(), want.mean.end());
  all.push_back(want.all);
  const std::vector<double> found = outputs_of(rows, columns, tile);
  REQUIRE(found.size() == all.size());
  size_t wrong = 0;
  for (size_t i = 0; i < all.size(); ++i)
    wrong += std::abs(found[i] - all[i]) <= 1e-12 * std::max(1.0, std::abs(all[i])) ? 0U : 1U;
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("rows shorter and longer than a tile, more and fewer than a block") {
  set_threads(2);
  for (const int64_t rows : {1, 2, 3, 17, 130})
    for (const int64_t columns : {1, 5, 64, 1000, 1024, 1025, 3001}) check(rows, columns, kFusedTile);
  for (const int64_t tile : {1, 2, 7, 16, 100}) check(13, 37, tile);
}

TEST_CASE("the sums of a fused step do not depend on the number of threads") {
  std::vector<std::vector<double>> found;
  for (const int threads : {1, 2, 3}) {
    set_threads(threads);
    found.push_back(outputs_of(301, 257, kFusedTile));
    found.push_back(outputs_of(301, 257, kFusedTile));
  }
  set_threads(2);
  for (const std::vector<double>& other : found) CHECK(other == found[0]);
}

}  // namespace mtfc::fused_test
