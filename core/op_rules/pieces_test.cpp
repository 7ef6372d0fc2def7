#include "core/op_rules/pieces.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "core/graph/op_registry.h"

namespace mtfc::pieces_test {
namespace {

struct Use {
  const OpDef* op;
  Example example;
  std::vector<TensorType> operands, results;
  std::vector<Factor> factors;
};

std::vector<Use> uses() {
  std::vector<Use> found;
  for (const OpDef* op : all_ops())
    for (const Example& example : op->signature.examples) {
      Use use{op, example, {}, {}, {}};
      for (const ExampleOperand& operand : example.operands) use.operands.push_back(operand.type);
      use.results = op->signature.infer({example.attributes, use.operands});
      if (op->family != Family::kRelabel)
        use.factors = op->roles({example.attributes, use.operands}, use.results);
      if (moved_factor(use.factors)) found.push_back(std::move(use));
    }
  return found;
}

Box random_box(const Dims& dims, std::mt19937& random) {
  Box box;
  for (const Dim& dim : dims) {
    const auto parts = static_cast<int64_t>(random() % 4 + 1);
    box.push_back(shard_interval(dim.size, parts, static_cast<int64_t>(random()) % parts));
  }
  return box;
}

int64_t offset(const Box& box, const std::vector<int64_t>& at) {
  int64_t result = 0;
  for (size_t i = 0; i < box.size(); ++i) result = result * box[i].size() + at[i] - box[i].begin;
  return result;
}

bool inside(const Box& box, const std::vector<int64_t>& at) {
  for (size_t i = 0; i < box.size(); ++i)
    if (at[i] < box[i].begin || at[i] >= box[i].end) return false;
  return true;
}

// Maps offsets in `to` to offsets in `from`, index by index, by the definition of a piece.
std::map<int64_t, int64_t> pairs(const Use& use, size_t operand, const Box& from, const Box& to) {
  const Factor& moved = *moved_factor(use.factors);
  const Dims &source = use.operands[operand].dims, &dims = use.results[0].dims;
  std::map<int64_t, int64_t> found;
  for (int64_t flat = 0; flat < elements(dims); ++flat) {
    std::vector<int64_t> at(dims.size());
    for (int64_t rest = flat, i = static_cast<int64_t>(dims.size()) - 1; i >= 0; --i) {
      at[static_cast<size_t>(i)] = rest % dims[static_cast<size_t>(i)].size;
      rest /= dims[static_cast<size_t>(i)].size;
    }
    const int64_t moved_index = at[static_cast<size_t>(moved.results[0])];
    for (const Piece& piece : moved.pieces)
      for (int64_t i = 0; i < piece.count; ++i) {
        if (piece.operand != static_cast<int>(operand) || piece.to + i * piece.to_step != moved_index)
          continue;
        std::vector<int64_t> origin(source.size());
        for (size_t s = 0; s < source.size(); ++s)
          origin[s] = static_cast<int>(s) == moved.operands[operand]
                          ? piece.from + i * piece.from_step
                          : at[static_cast<size_t>(position(dims, source[s].name))];
        if (inside(from, origin) && inside(to, at)) found[offset(to, at)] = offset(from, origin);
      }
  }
  return found;
}

}  // namespace

TEST_CASE("pieces go where they belong, whatever regions devices hold") {
  std::mt19937 random(7);
  int compared = 0;
  for (const Use& use : uses()) {
    const PieceMap map(*use.op, use.example.attributes, use.operands, use.results);
    for (int trial = 0; trial < 40; ++trial)
      for (size_t k = 0; k < use.operands.size(); ++k) {
        const Box from = random_box(use.operands[k].dims, random),
                  to = random_box(use.results[0].dims, random);
        const std::map<int64_t, int64_t> expected = pairs(use, k, from, to);
        CAPTURE(use.op->signature.name);
        CHECK(map.common_elements(k, from, to) == static_cast<int64_t>(expected.size()));
        std::vector<Run> runs;
        map.append_runs(k, from, to, runs);
        std::map<int64_t, int64_t> found;
        for (const Run& run : runs)
          for (int64_t i = 0; i < run.length; ++i)
            CHECK(found.emplace(run.to + i * run.to_step, run.from + i * run.from_step).second);
        CHECK(found == expected);
        compared += !expected.empty();
      }
  }
  CHECK(compared > 500);
}

TEST_CASE("whole rows are one run, and a reversed row too") {
  const TensorType x{DType::kF32, {{"a", 100}, {"b", 50}}};
  const auto runs_of = [&](std::string_view op, const Attributes& attributes) {
    const PieceMap map(op_named(op), attributes, std::vector{x}, std::vector{x});
    std::vector<Run> runs;
    map.append_runs(0, {{0, 100}, {0, 50}}, {{0, 100}, {0, 50}}, runs);
    return runs.size();
  };
  CHECK(runs_of("shift", {{"dim", Dim{"a", 100}}, {"by", int64_t{3}}}) == 1);
  CHECK(runs_of("shift", {{"dim", Dim{"a", 100}}, {"by", int64_t{3}}, {"wrap", true}}) == 2);
  CHECK(runs_of("reverse", {{"dim", Dim{"b", 50}}}) == 100);
  CHECK(runs_of("reverse", {{"dim", Dim{"a", 100}}}) == 100);
}

}  // namespace mtfc::pieces_test
