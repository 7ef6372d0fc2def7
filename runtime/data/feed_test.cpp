#include "runtime/data/feed.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/diagnostics/error.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/testing/elements.h"

namespace mtfc::feed_test {
namespace {

struct ShardedInput {
  TensorType type;
  Sharding sharding;
  Mesh mesh;
};

// A program with an entry point of one input and no steps.
Program program_of(const ShardedInput& input) {
  Program program;
  program.layout.mesh = input.mesh;
  EntryPoint entry;
  entry.name = "train";
  entry.values = {{"x", input.type, input.sharding, BufferId(0)}};
  entry.buffers = {{BufferKind::kInput, 4096, 0, 0, 0}};
  entry.arena_bytes = 4096;
  entry.inputs = {{"x", ValueId(0)}};
  program.entry_points.push_back(std::move(entry));
  return program;
}

StoredArray array_of(std::vector<int64_t> shape, StoredType type = StoredType::kU8) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(count * size_of(type)));
  for (int64_t i = 0; i < count; ++i)
    (*bytes)[static_cast<size_t>(i * size_of(type))] = static_cast<std::byte>(i);
  StoredArray array{"x.npy", type, false, std::move(shape), nullptr, bytes->data()};
  array.owner = bytes;
  return array;
}

// Returns the whole input after it was fed, gathered from all devices; checks that replicas agree.
std::vector<double> fed(const ShardedInput& input, const InputData& data, int64_t step, bool training) {
  const Program program = program_of(input);
  const EntryPoint& entry = program.entry_points[0];
  Processes processes = Processes::alone();
  LockstepComm comm(input.mesh, processes);
  Executor executor(program, comm);
  Feed feed(executor, entry, {data}, 3);
  training ? feed.fill_training(step) : feed.fill_evaluation(step);
  std::vector<double> all(static_cast<size_t>(elements(input.type.dims)), -1);
  for (size_t device = 0; device < executor.devices(); ++device) {
    const LocalShard shard = executor.shard(entry, ValueId(0), device);
    const std::vector<int64_t> indices = global_indices(input.type.dims, shard.box);
    for (size_t i = 0; i < indices.size(); ++i) {
      double& slot = all[static_cast<size_t>(indices[i])];
      const double value = load_element(shard.data, input.type.dtype, static_cast<int64_t>(i));
      CHECK((slot == -1 || slot == value));
      slot = value;
    }
  }
  return all;
}

// A program of one device that has only inputs, of at most 1 KiB each.
Program inputs_only(const std::vector<TensorType>& types, const std::vector<InputData>& data) {
  Program program;
  program.layout.mesh = Mesh({{"r", 1}});
  EntryPoint entry;
  entry.arena_bytes = static_cast<int64_t>(1024 * types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const BufferId buffer =
        entry.buffers.add({BufferKind::kInput, 1024, static_cast<int64_t>(1024 * i), 0, 0});
    const ValueId value =
        entry.values.add({data[i].input, types[i], replicated(types[i].dims.size()), buffer});
    entry.inputs.push_back({data[i].input, value});
  }
  program.entry_points.push_back(entry);
  return program;
}

// Returns the values of several inputs in one step, all fed from one text.
std::vector<std::vector<double>> fed_together(const std::vector<TensorType>& types,
                                              const std::vector<InputData>& data, int64_t step,
                                              bool training) {
  const Program program = inputs_only(types, data);
  Processes processes = Processes::alone();
  LockstepComm comm(program.layout.mesh, processes);
  Executor executor(program, comm);
  Feed feed(executor, program.entry_points[0], data, 3);
  training ? feed.fill_training(step) : feed.fill_evaluation(step);
  std::vector<std::vector<double>> all;
  for (size_t i = 0; i < types.size(); ++i) {
    const LocalShard shard = executor.shard(program.entry_points[0], ValueId(i), 0);
    all.emplace_back();
    for (int64_t k = 0; k < shard.elements(); ++k)
      all.back().push_back(load_element(shard.data, types[i].dtype, k));
  }
  return all;
}

// Fills the first input in the step that follows `rows` rows, and returns its values.
std::vector<double> fed_after(int64_t rows, const std::vector<TensorType>& types,
                              const std::vector<InputData>& data) {
  const Program program = inputs_only(types, data);
  Processes processes = Processes::alone();
  LockstepComm comm(program.layout.mesh, processes);
  Executor executor(program, comm);
  Feed feed(executor, program.entry_points[0], data, 3);
  feed.go_on(7, rows);
  feed.fill_training(7);
  CHECK(feed.rows_before(8) == rows + feed.batch());
  const LocalShard shard = executor.shard(program.entry_points[0], ValueId(size_t{0}), 0);
  std::vector<double> values;
  for (int64_t k = 0; k < shard.elements(); ++k)
    values.push_back(load_element(shard.data, types[0].dtype, k));
  return values;
}

InputData tokens_of(const std::string& name, int64_t count, int64_t shift) {
  return {name, "text:" + name, TokenSource{array_of({count}), 0, shift}, {}, 1};
}

const Mesh kMesh({{"r", 2}, {"c", 3}});
const TensorType kPair{DType::kF32, {{"batch", 4}, {"io", 5}}};
const Sharding kSplit{{{0}, {1}}, {}};

TEST_CASE("an array of the input's shape is fed every step") {
  for (const int64_t step : {0, 9}) {
    const std::vector<double> values =
        fed({kPair, kSplit, kMesh}, {"x", "", array_of({4, 5}), {}, 0.5}, step, true);
    for (size_t i = 0; i < 20; ++i) CHECK(values[i] == 0.5 * static_cast<double>(i));
  }
}

TEST_CASE("rows come in one permutation per epoch, whole and the same for every layout") {
  const InputData data{"x", "", array_of({12, 5}), std::pair<int64_t, int64_t>{2, 12}, 1};
  std::vector<double> rows;
  for (int64_t step = 0; step < 5; ++step) {
    const std::vector<double> split = fed({kPair, kSplit, kMesh}, data, step, true);
    CHECK(split == fed({kPair, replicated(2), Mesh({{"r", 1}})}, data, step, true));
    for (size_t i = 0; i < 4; ++i) {
      rows.push_back(split[5 * i] / 5);
      for (size_t k = 0; k < 5; ++k) CHECK(split[5 * i + k] == split[5 * i] + static_cast<double>(k));
    }
  }
  // 5 steps of 4 rows are two epochs of the rows 2 to 11.
  std::vector<double> first(rows.begin(), rows.begin() + 10), second(rows.begin() + 10, rows.end());
  CHECK(first != second);
  for (std::vector<double>* epoch : {&first, &second}) {
    CHECK(!std::is_sorted(epoch->begin(), epoch->end()));
    std::sort(epoch->begin(), epoch->end());
    for (size_t i = 0; i < 10; ++i) CHECK((*epoch)[i] == static_cast<double>(i + 2));
  }
}

TEST_CASE("rows are counted up to 2^53, of arrays and of texts") {
  const InputData rows{"x", "", array_of({9, 5}), {}, 1}, text = tokens_of("x", 30, 0);
  for (const InputData* data : {&rows, &text}) {
    for (const double value : fed_after(kMostCounted - 4, {kPair}, {*data}))
      CHECK((value >= 0 && value < 45));
    for (const int64_t before : {kMostCounted - 3, kMostCounted, INT64_MAX - 2, INT64_MAX})
      CHECK_THROWS_WITH_AS(
          fed_after(before, {kPair}, {*data}),
          fmt::format(
              "step 8 is out of reach: training has taken {} rows before step 7, and can count no more "
              "than 9007199254740992",
              before)
              .c_str(),
          AgreedError);
  }
  // An input whose batch is larger is at a later position than the rows that are counted.
  const TensorType one{DType::kF32, {{"one", 1}, {"io", 5}}};
  InputData other = rows;
  other.input = "y";
  CHECK_NOTHROW(fed_after(kMostCounted / 4, {one, kPair}, {rows, other}));
  CHECK_THROWS_AS(fed_after(kMostCounted - 1, {one, kPair}, {rows, other}), AgreedError);
}

TEST_CASE("evaluation goes in order and counts what it leaves out") {
  const InputData data{"x", "", array_of({10, 5}), {}, 1};
  const std::vector<double> values = fed({kPair, kSplit, kMesh}, data, 1, false);
  for (size_t i = 0; i < 20; ++i) CHECK(values[i] == static_cast<double>(20 + i));
  const Program program = program_of({kPair, kSplit, kMesh});
  Processes processes = Processes::alone();
  LockstepComm comm(kMesh, processes);
  Executor executor(program, comm);
  const Feed feed(executor, program.entry_points[0], {data}, 3);
  CHECK(feed.evaluation_batches() == 2);
  CHECK(feed.rows_left_out() == 2);
  CHECK(feed.batch() == 4);
}

TEST_CASE("training takes the windows at every token, once per epoch, the same for every layout") {
  // 20 tokens have 16 windows of 5: four steps of four windows are an epoch.
  const TensorType type{DType::kI32, kPair.dims};
  const InputData data = tokens_of("x", 20, 0);
  std::vector<double> starts;
  for (int64_t step = 0; step < 8; ++step) {
    const std::vector<double> split = fed({type, kSplit, kMesh}, data, step, true);
    CHECK(split == fed({type, replicated(2), Mesh({{"r", 1}})}, data, step, true));
    CHECK(split == fed({type, {{{}, {1, 0}}, {}}, kMesh}, data, step, true));
    for (size_t i = 0; i < 4; ++i) {
      starts.push_back(split[5 * i]);
      for (size_t k = 0; k < 5; ++k) CHECK(split[5 * i + k] == split[5 * i] + static_cast<double>(k));
    }
  }
  std::vector<double> first(starts.begin(), starts.begin() + 16), second(starts.begin() + 16, starts.end());
  CHECK(first != second);
  for (std::vector<double>* epoch : {&first, &second}) {
    std::sort(epoch->begin(), epoch->end());
    for (size_t i = 0; i < 16; ++i) CHECK((*epoch)[i] == static_cast<double>(i));
  }
}

TEST_CASE("evaluation takes windows one after the other") {
  const TensorType type{DType::kI32, kPair.dims};
  const InputData data = tokens_of("x", 43, 0);
  const std::vector<double> values = fed({type, kSplit, kMesh}, data, 1, false);
  for (size_t i = 0; i < 20; ++i) CHECK(values[i] == static_cast<double>(20 + i));
  const Program program = program_of({type, kSplit, kMesh});
  Processes processes = Processes::alone();
  LockstepComm comm(kMesh, processes);
  Executor executor(program, comm);
  CHECK(Feed(executor, program.entry_points[0], {data}, 3).evaluation_batches() == 2);
  // With 44 tokens, a window and its shift extend over 10: the seventh begins at 30, an eighth would need 45.
  const Feed shifted(executor, program.entry_points[0], {tokens_of("x", 44, 5)}, 3);
  CHECK(shifted.evaluation_batches() == 1);
  CHECK(shifted.rows_left_out() == 3);
  CHECK(shifted.batch() == 4);
}

TEST_CASE("inputs over one text share the starts of their windows") {
  const std::vector<TensorType> types = {{DType::kI32, {{"batch", 3}, {"length", 4}}},
                                         {DType::kI64, {{"batch", 3}}},
                                         {DType::kF32, {{"batch", 3}, {"length", 4}}}};
  // The windows extend over 5 tokens, so 9 tokens have 5 starts.
  const std::vector<InputData> data = {tokens_of("a", 9, 0), tokens_of("b", 9, 4), tokens_of("c", 9, 1)};
  std::vector<double> starts;
  for (int64_t step = 0; step < 5; ++step) {
    const auto values = fed_together(types, data, step, true);
    for (size_t i = 0; i < 3; ++i) {
      starts.push_back(values[0][4 * i]);
      CHECK(values[1][i] == starts.back() + 4);
      CHECK(values[2][4 * i + 3] == starts.back() + 4);
    }
  }
  std::sort(starts.begin(), starts.end());
  for (size_t i = 0; i < starts.size(); ++i) CHECK(starts[i] == std::floor(static_cast<double>(i) / 3));
  // Windows come in order and each token is a target once: here the single tokens have the largest shift.
  const auto next =
      fed_together(types, {tokens_of("a", 13, 0), tokens_of("b", 13, 4), tokens_of("c", 13, 1)}, 1, false);
  const auto shifted =
      fed_together(types, {tokens_of("a", 17, 0), tokens_of("b", 17, 0), tokens_of("c", 17, 1)}, 0, false);
  for (size_t i = 0; i < 3; ++i) {
    const double start = static_cast<double>(3 + i);
    CHECK(next[0][4 * i] == start);
    CHECK(next[1][i] == start + 4);
    CHECK(shifted[0][4 * i] == static_cast<double>(4 * i));
    CHECK(shifted[2][4 * i] == static_cast<double>(4 * i + 1));
  }
}

TEST_CASE("an input without dimensions is one token") {
  CHECK(fed({{DType::kI32, {}}, replicated(0), kMesh}, tokens_of("x", 9, 3), 2, false)[0] == 5);
}

TEST_CASE("texts that are too short or cut differently are refused") {
  const TensorType type{DType::kI32, {{"batch", 3}, {"length", 4}}};
  CHECK_NOTHROW(fed_together({type}, {tokens_of("a", 5, 1)}, 0, true));
  CHECK_THROWS_WITH_AS(fed_together({type}, {tokens_of("a", 4, 1)}, 0, true),
                       "text:a: 4 tokens are too few for the input 'a', whose windows span 5", RunError);
  InputData later = tokens_of("b", 9, 0);
  std::get<TokenSource>(later.source).first = 9;
  CHECK_THROWS_WITH_AS(
      fed_together({type, type}, {tokens_of("a", 9, 0), later}, 0, true),
      "error: the inputs 'a' and 'b' read different parts of x.npy (give both the same rows, split "
      "and width: their windows start at the same tokens)",
      UserError);
}

TEST_CASE("inputs that are iterated over must have equally many rows") {
  const TensorType type{DType::kI32, {{"batch", 3}, {"length", 4}}};
  const auto rows = [](const std::string& name, int64_t count) {
    return InputData{name, name + ".npy", array_of({count, 4}), {}, 1};
  };
  for (const bool training : {true, false}) {
    CHECK_THROWS_WITH_AS(fed_together({type, type}, {rows("images", 9), rows("labels", 6)}, 0, training),
                         "'images' has 9 rows and 'labels' 6: they can't be paired", RunError);
    CHECK_NOTHROW(fed_together({type, type}, {rows("images", 9), rows("labels", 9)}, 0, training));
    // As many rows as a batch has are rows too.
    for (const auto& [images, labels] : std::vector<std::pair<int64_t, int64_t>>{{9, 3}, {3, 9}, {4, 3}}) {
      const std::string problem =
          fmt::format("'images' has {} rows and 'labels' {}: they can't be paired", images, labels);
      CHECK_THROWS_WITH_AS(
          fed_together({type, type}, {rows("images", images), rows("labels", labels)}, 0, training),
          problem.c_str(), RunError);
    }
    // An array along other dimensions, or beside random numbers, is the same at every step.
    const TensorType mask{DType::kI32, {{"from", 3}, {"length", 4}}};
    CHECK_NOTHROW(fed_together({type, mask}, {rows("images", 9), rows("mask", 3)}, 0, training));
    CHECK_NOTHROW(fed_together({type, type}, {rows("images", 3), rows("labels", 3)}, 0, training));
    CHECK_NOTHROW(fed_together(
        {type, type}, {{"images", "", RandomSource{RandomKind::kInteger, 0, 9}, {}, 1}, rows("labels", 3)}, 0,
        training));
    InputData batch = rows("labels", 9);
    batch.rows = {3, 6};
    CHECK_THROWS_WITH_AS(fed_together({type, type}, {rows("images", 9), batch}, 0, training),
                         "'images' has 9 rows and 'labels' 3: they can't be paired", RunError);
    CHECK_NOTHROW(fed_together({type, type}, {rows("images", 3), batch}, 0, training));
    InputData part = rows("images", 9);
    part.rows = {1, 7};
    CHECK_NOTHROW(fed_together({type, type}, {part, rows("labels", 6)}, 0, training));
  }
  const auto text = [](const std::string& name, int64_t count) {
    InputData data = tokens_of(name, count, 0);
    std::get<TokenSource>(data.source).tokens.file = name;
    return data;
  };
  CHECK_THROWS_WITH_AS(fed_together({type, type}, {text("a", 20), text("b", 30)}, 0, true),
                       "'a' has 17 windows and 'b' 27: they can't be paired", RunError);
  CHECK_NOTHROW(fed_together({type, type}, {text("a", 20), text("b", 20)}, 0, true));
  CHECK_THROWS_WITH_AS(fed_together({type, type}, {text("a", 20), rows("labels", 3)}, 0, true),
                       "'a' has 17 windows and 'labels' 3 rows: they can't be paired", RunError);
  CHECK_THROWS_WITH_AS(fed_together({type, type}, {text("a", 20), rows("labels", 17)}, 0, true),
                       "'a' has 17 windows and 'labels' 17 rows: they can't be paired", RunError);
}

TEST_CASE("random values depend on the step and not on the layout") {
  for (const RandomKind kind : {RandomKind::kNormal, RandomKind::kUniform, RandomKind::kInteger}) {
    const InputData data{"x", "", RandomSource{kind, 0, 10}, {}, 1};
    const std::vector<double> values = fed({kPair, kSplit, kMesh}, data, 1, true);
    CHECK(values == fed({kPair, replicated(2), Mesh({{"r", 1}})}, data, 1, true));
    CHECK(values != fed({kPair, kSplit, kMesh}, data, 2, true));
    CHECK(values != fed({kPair, kSplit, kMesh}, data, 1, false));
    if (kind == RandomKind::kNormal) continue;
    for (const double value : values) CHECK((value >= 0 && value < 10));
  }
}

TEST_CASE("values are converted from the stored type and byte order") {
  StoredArray array = array_of({4, 5}, StoredType::kI32);
  array.big_endian = true;  // the lowest byte is now the highest
  const TensorType wide{DType::kI64, kPair.dims};
  CHECK(fed({wide, kSplit, kMesh}, {"x", "", array, {}, 1}, 0, true)[3] == 3.0 * (1 << 24));
  array.big_endian = false;
  CHECK(fed({{DType::kF64, kPair.dims}, kSplit, kMesh}, {"x", "", array, {}, 1}, 0, true)[3] == 3);
}

TEST_CASE("data that does not fit is refused with both shapes") {
  const auto feed = [](const TensorType& type, const InputData& data) {
    fed({type, kSplit, kMesh}, data, 0, true);
  };
  CHECK_THROWS_WITH_AS(feed(kPair, {"x", "", array_of({4, 6}), {}, 1}),
                       "x.npy: an array of shape [4, 6] can't feed the input 'x' of shape [batch=4, io=5]",
                       RunError);
  CHECK_THROWS_WITH_AS(feed(kPair, {"x", "", array_of({20}), {}, 1}),
                       "x.npy: an array of shape [20] can't feed the input 'x' of shape [batch=4, io=5]",
                       RunError);
  CHECK_THROWS_WITH_AS(feed(kPair, {"x", "", array_of({3, 5}), {}, 1}),
                       "x.npy: 3 rows are too few for the input 'x', which takes 4 at a time", RunError);
  CHECK_THROWS_WITH_AS(feed(kPair, {"x", "", array_of({9, 5}), std::pair<int64_t, int64_t>{5, 10}, 1}),
                       "x.npy: rows 5:10 are not in an array of shape [9, 5]", RunError);
  CHECK_THROWS_WITH_AS(feed({DType::kI32, kPair.dims}, {"x", "", array_of({4, 5}, StoredType::kF32), {}, 1}),
                       "x.npy: f32 values can't fill the input 'x', which is i32", RunError);
  CHECK_THROWS_AS(feed(kPair, {"y", "", array_of({4, 5}), {}, 1}), UserError);
}

TEST_CASE("rows that fill up the last batch of an evaluation are marked, and in training all are there") {
  const InputData rows{"x", "", array_of({7, 2}), {}, 1}, present{"mask", "present", PresentRows{}, {}, 1};
  const Dims pair = {{"batch", 3}, {"in", 2}};
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kI32, DType::kI64, DType::kBool}) {
    const std::vector<TensorType> types = {{DType::kF32, pair}, {dtype, pair}};
    CHECK(fed_together(types, {rows, present}, 1, false) ==
          std::vector<std::vector<double>>{{6, 7, 8, 9, 10, 11}, {1, 1, 1, 1, 1, 1}});
    CHECK(fed_together(types, {rows, present}, 2, false) ==
          std::vector<std::vector<double>>{{12, 13, 0, 1, 2, 3}, {1, 1, 0, 0, 0, 0}});
    CHECK(fed_together(types, {rows, present}, 9, true)[1] == std::vector<double>(6, 1));
  }
}

}  // namespace
}  // namespace mtfc::feed_test
