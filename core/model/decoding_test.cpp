#include "core/model/decoding.h"

#include <doctest/doctest.h>

#include <limits>

#include "core/compile/pipeline.h"
#include "core/program/program_check.h"

namespace mtfc::decoding_test {
namespace {

const Dim kBatch{"batch", 6}, kLength{"length", 10}, kVocab{"vocab", 8}, kModel{"model", 4};

// A model that embeds the token, adds the position's vector, keeps the sum of all, and predicts from it. The
// vocabulary comes first in the logits.
Model summing_model() {
  Model model;
  model.dims = {kBatch, kLength, kVocab, kModel};
  model.variables.push_back({"table", {DType::kF32, {kVocab, kModel}}, Init{}, true, false, {}});
  DecodeSpec decode;
  decode.inputs = {{"token", {DType::kI32, {kBatch}}, "", {}}, {"position", {DType::kI32, {}}, "", {}}};
  decode.caches.push_back({"rows", {DType::kF32, {kBatch, kLength, kModel}}, std::nullopt, false, false, {}});
  GraphBuilder b;
  const TensorId token = b.add_input("token", decode.inputs[0].type);
  const TensorId position = b.add_input("position", decode.inputs[1].type);
  const TensorId table = b.add_variable("table", model.variables[0].type);
  const TensorId cache = b.add_variable("rows", decode.caches[0].type);
  const TensorId row = b.op("gather", {table, token}, {{"dim", kVocab}});
  const TensorId all = b.op("update_slice", {cache, row, position}, {{"dim", kLength}});
  const TensorId sum = b.op("reduce_sum", {all}, {{"over", Dims{kLength}}});
  decode.logits = b.op("einsum", {sum, table}, {{"dims", Dims{kVocab, kBatch}}});
  decode.assignments.push_back({"rows", all, {}});
  decode.graph = std::move(b).build();
  model.decode = std::move(decode);
  return model;
}

// The same, with a cache that holds a tensor made from the input `sources`, and a training graph beside it.
Model translating_model() {
  Model model = summing_model();
  DecodeSpec decode = *std::move(model.decode);
  const TensorType words{DType::kI32, {kBatch, kLength}};
  model.inputs = {{"sources", words, "", {}}, {"tokens", words, "", {}}};
  GraphBuilder b;
  const TensorId sources = b.add_input("sources", words);
  const TensorId tokens = b.add_input("tokens", words);
  const TensorId table = b.add_variable("table", model.variables[0].type);
  b.set_origin({"embedded", {}, Phase::kForward});
  const TensorId embedded = b.op("gather", {table, sources}, {{"dim", kVocab}});
  const TensorId summary = b.op("reduce_sum", {embedded}, {{"over", Dims{kLength}}});
  b.set_origin({"loss", {}, Phase::kForward});
  const TensorId others = b.op("gather", {table, tokens}, {{"dim", kVocab}});
  model.outputs = {{"loss", b.op("reduce_sum", {others}, {{"over", Dims{kBatch, kLength, kModel}}})}};
  model.graph = std::move(b).build();

  decode.caches.push_back({"summary", {DType::kF32, {kModel, kBatch}}, std::nullopt, false, false, {}});
  decode.held = {{"summary", summary, {}}};
  GraphBuilder d;
  for (const Node& node : decode.graph.nodes()) d.copy(decode.graph, node, node.operands);
  const TensorId held = d.add_variable("summary", decode.caches.back().type);
  d.set_origin({"bias", {}, Phase::kForward});
  const TensorId bias = d.op("einsum", {held, d.graph().find("table")}, {{"dims", Dims{kVocab, kBatch}}});
  decode.logits = d.op("add", {decode.logits, bias});
  decode.graph = std::move(d).build();
  model.decode = std::move(decode);
  return model;
}

Layout split(const std::string& dim) {
  return {Mesh({{"p", 2}}), {{dim, {0}, {}}}};
}

CompileOptions with_decode() {
  CompileOptions options;
  options.decode = true;
  return options;
}

}  // namespace

TEST_CASE("generation goes on for as long as the cache that is written at the position") {
  Model model = summing_model();
  CHECK(decode_positions(*model.decode) == 10);
  model.decode->inputs.push_back({"seen", {DType::kBool, {kBatch, {"places", 7}}}, "", {}});
  CHECK(decode_positions(*model.decode) == 7);
  CHECK(decode_positions({}) == std::numeric_limits<int64_t>::max());
}

TEST_CASE("a step reads all places of a cache unless attention reads them") {
  DecodeSpec decode = *std::move(summing_model().decode);
  CHECK(reads_all_places(decode, kLength.name));  // reduce_sum
  CHECK(!reads_all_places(decode, "places"));
  GraphBuilder b;
  const TensorId query = b.add_input("query", {DType::kF32, {kBatch, kModel}});
  const TensorId seen = b.add_input("seen", {DType::kBool, {kBatch, kLength}});
  const TensorId position = b.add_input("position", {DType::kI32, {}});
  const TensorId cache = b.add_variable("rows", {DType::kF32, {kBatch, kLength, kModel}});
  const TensorId all = b.op("update_slice", {cache, query, position}, {{"dim", kLength}});
  b.op("attention", {query, all, all, seen}, {{"over", kLength}, {"dim", kModel}});
  decode.graph = std::move(b).build();
  CHECK(!reads_all_places(decode, kLength.name));
}

TEST_CASE("encode computes what caches hold, from nothing but the inputs that it needs") {
  const Model model = translating_model();
  for (const bool propagates : {false, true})
    for (const char* dim : {"batch", "vocab", "model", "length"}) {
      CAPTURE(dim);
      CAPTURE(propagates);
      Layout layout = split(dim);
      layout.propagate = propagates;
      const Model reduced = only_decode(model);
      REQUIRE(reduced.inputs.size() == 1);
      CHECK(reduced.inputs[0].name == "sources");
      CHECK(reduced.graph.find("tokens") == kNoTensor);
      for (const Model& compiled : {model, reduced}) {
        const Program program = compile(compiled, layout, with_decode());
        const EntryPoint *encode = program.find("encode"), *decode = program.find("decode");
        REQUIRE(encode);
        REQUIRE(encode->inputs.size() == 1);
        CHECK(encode->inputs[0].name == "sources");
        REQUIRE(encode->caches.size() == 1);
        CHECK(encode->caches[0].decl.name == "summary");
        REQUIRE(decode->caches.size() == 2);
        CHECK(encode->caches[0].sharding == decode->caches[1].sharding);
        CHECK(!find_program_fault(program));
      }
      CompileOptions alone = with_decode();
      alone.entries = {"encode"};
      CHECK(compile(model, layout, alone).entry_points[0].caches[0].sharding ==
            compile(model, layout, with_decode()).find("encode")->caches[0].sharding);
    }
  CHECK(!compile(summing_model(), split("batch"), with_decode()).find("encode"));
}

TEST_CASE("logits come whole to every device, with the vocabulary last") {
  for (const char* dim : {"batch", "vocab", "model", "length"}) {
    CAPTURE(dim);
    const Program program = compile(summing_model(), split(dim), with_decode());
    const EntryPoint& decode = *program.find("decode");
    REQUIRE(decode.outputs.size() == 1);
    CHECK(decode.outputs[0].name == "logits");
    const Value& logits = decode.values[decode.outputs[0].value];
    CHECK(logits.type.dims == Dims{{"batch.whole", 6}, {"vocab.whole", 8}});
    CHECK(logits.sharding == Sharding{{{}, {}}, {}});
  }
}

TEST_CASE("caches lie behind the variables, in decode only, and are no variables of the program") {
  const Program without = compile(summing_model(), {}, {}),
                with = compile(summing_model(), {}, with_decode());
  CHECK(without.find("decode") == nullptr);
  REQUIRE(with.find("decode") != nullptr);
  const std::vector<ProgramVariable>& caches = with.find("decode")->caches;
  REQUIRE(caches.size() == 1);
  CHECK(caches[0].offset == 128);  // the table's 8 rows of 4 numbers
  CHECK(caches[0].bytes == 6 * 10 * 4 * 4);
  CHECK(with.variables.size() == 1);
  CHECK(with.find("init")->arena_bytes == without.find("init")->arena_bytes);
  CHECK(with.find("evaluate")->arena_bytes == without.find("evaluate")->arena_bytes);
  CHECK(with.find("decode")->arena_bytes >= 128 + caches[0].bytes);
}

TEST_CASE("only what decode needs is left of a model") {
  Model model = summing_model();
  model.train = TrainSpec{};
  const Model left = only_decode(std::move(model));
  CHECK(!left.train);
  CHECK(left.variables.size() == 1);
  CHECK(left.decode->caches.size() == 1);
  CHECK(compile(left, split("vocab"), with_decode()).find("train") == nullptr);
}

}  // namespace mtfc::decoding_test
