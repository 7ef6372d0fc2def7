#include "core/rewrite/store_weights.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/graph/op_registry.h"
#include "core/op_rules/example.h"

namespace mtfc::store_weights_test {
namespace {

const Dim kBatch = dim_of("batch=5"), kVocab = dim_of("vocab=11"), kWide = dim_of("model=7"),
          kHidden = dim_of("hidden=3");
const TensorType kTable{DType::kF32, {kVocab, kWide}}, kLayer{DType::kF32, {kWide, kHidden}},
    kBias{DType::kF32, {kHidden}};

VariableDecl variable(const std::string& name, const TensorType& type) {
  return {name, type, Init{}, true, false, {}};
}

// A table under a further name, whose rows are picked and also give the logits; a layer with a bias; a layer that is
// squared as well; and one of which the model returns the values.
Model decoding_model() {
  Model model;
  model.dims = {kBatch, kVocab, kWide, kHidden};
  model.variables = {variable("table", kTable), variable("layer", kLayer), variable("bias", kBias),
                     variable("squared", kLayer), variable("shown", kLayer)};
  GraphBuilder m;
  std::vector<TensorId> leaves;
  for (const VariableDecl& decl : model.variables) leaves.push_back(m.add_variable(decl.name, decl.type));
  m.set_origin({"square", {}, Phase::kForward});
  m.op("mul", {leaves[3], leaves[3]});
  model.outputs = {{"shown", leaves[4]}};
  model.graph = std::move(m).build();

  DecodeSpec decode;
  decode.inputs = {{"token", {DType::kI32, {kBatch}}, "", {}}, {"position", {DType::kI32, {}}, "", {}}};
  GraphBuilder b;
  const TensorId token = b.add_input("token", decode.inputs[0].type);
  b.add_input("position", decode.inputs[1].type);
  std::vector<TensorId> own;
  for (const VariableDecl& decl : model.variables) own.push_back(b.add_variable(decl.name, decl.type));
  const TensorId table = b.add(op_named("identity"), {own[0]}, {}, {"again"})[0];
  const TensorId x = b.add(op_named("gather"), {table, token}, {{"dim", kVocab}}, {"x"})[0];
  TensorId sum =
      b.add(op_named("einsum"), {x, own[1], b.constant(0.5, DType::kF32)}, {{"over", Dims{kWide}}}, {"h"})[0];
  sum = b.op("add", {sum, own[2]});
  for (const size_t i : {3, 4})
    sum = b.op("add", {sum, b.op("einsum", {x, own[i]}, {{"over", Dims{kWide}}})});
  const TensorId back = b.op("einsum", {sum, own[1]}, {{"over", Dims{kHidden}}});
  static_cast<void>(back);
  const TensorId logits = b.add(op_named("einsum"), {x, table}, {{"over", Dims{kWide}}}, {"logits"})[0];
  decode.logits = b.op("add", {logits, b.op("reduce_sum", {sum}, {{"over", Dims{kHidden}}})});
  decode.graph = std::move(b).build();
  model.decode = std::move(decode);
  return model;
}

const VariableDecl* find(const Model& model, const std::string& name) {
  const auto at = std::find_if(model.variables.begin(), model.variables.end(),
                               [&](const VariableDecl& decl) { return decl.name == name; });
  return at == model.variables.end() ? nullptr : &*at;
}

DType dtype(const Model& model, const std::string& name) {
  return model.decode->graph.type(model.decode->graph.find(name)).dtype;
}

}  // namespace

TEST_CASE("weights that only products and gathers read are stored in fewer bits, and all else stays f32") {
  const Model stored = store_weights(decoding_model(), WeightFormat::kBF16);
  CHECK(stored.variables.size() == 5);
  CHECK(find(stored, "table")->type == TensorType{DType::kBF16, kTable.dims});
  CHECK(find(stored, "layer")->type == TensorType{DType::kBF16, kLayer.dims});
  for (const char* name : {"bias", "squared", "shown"}) CHECK(find(stored, name)->type.dtype == DType::kF32);
  CHECK(dtype(stored, "again") == DType::kBF16);
  for (const char* name : {"x", "h", "logits"}) CHECK(dtype(stored, name) == DType::kF32);
  CHECK(stored.decode->graph.type(stored.decode->logits).dims == Dims{kBatch, kVocab});
}

TEST_CASE("the rows of int8 weights have scales, where all uses agree on what a row is") {
  const Model stored = store_weights(decoding_model(), WeightFormat::kInt8);
  CHECK(find(stored, "table")->type == TensorType{DType::kI8, kTable.dims});
  CHECK(find(stored, "table")->scale == "table.scale");
  CHECK(find(stored, "table.scale")->type == TensorType{DType::kF32, {kVocab}});
  CHECK(find(stored, "table.scale")->is_scale);
  // One product contracts its first dimension, and another one its second.
  CHECK(find(stored, "layer")->type == kLayer);
  CHECK_FALSE(find(stored, "layer.scale"));
}

TEST_CASE("weights in f32 leave the model as it is") {
  const Model model = decoding_model();
  const Model same = store_weights(model, WeightFormat::kF32);
  CHECK(to_string(same.decode->graph) == to_string(model.decode->graph));
}

}  // namespace mtfc::store_weights_test
