#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc::update_slice_op {
namespace {

constexpr int kTensor = 0, kPiece = 1, kAt = 2;

// The dimension of the piece that lies along `dim`; empty if the piece is one row.
Dims rows_of(const Attributes& attributes) {
  return attributes.has("from") ? Dims{attributes.get<Dim>("from")} : Dims{};
}

void require_piece(const OpCall& call, const Dim& dim, const Dims& rows) {
  const TensorType &tensor = call.operands[kTensor], &piece = call.operands[kPiece];
  if (contains(piece.dims, dim.name))
    throw OpError{"the piece " + to_string(piece) + " has the dimension '" + dim.name +
                      "', along which it replaces elements of the tensor",
                  "rename this dimension of the piece, and name it in 'from'", kPiece};
  const Dims expected = unite(without(tensor.dims, {dim}), rows);
  if (!same_set(piece.dims, expected))
    throw OpError{
        "the piece must have the dimensions [" + to_string(expected) + "], but it is " + to_string(piece),
        rows.empty() ? "state in 'from' which dimension of the piece lies along '" + dim.name + "'" : "",
        kPiece};
  if (piece.dtype != tensor.dtype)
    throw OpError{"operands have different dtypes: " + to_string(tensor) + " and " + to_string(piece),
                  "use cast to make them the same", kPiece};
}

std::vector<TensorType> infer(const OpCall& call) {
  const TensorType &tensor = call.operands[kTensor], &at = call.operands[kAt];
  const Dim& dim = call.attributes.get<Dim>("dim");
  require_known({dim}, tensor.dims, to_string(tensor), "dim");
  const Dims rows = rows_of(call.attributes);
  for (const Dim& own : rows) {
    if (contains(tensor.dims, own.name))
      throw OpError{
          "'from' names the dimension '" + own.name + "', which the tensor " + to_string(tensor) + " has too",
          "rename that of the piece", -1, "from"};
    if (own.size > dim.size)
      throw OpError{"a piece of " + std::to_string(own.size) + " does not fit into '" + dim.name +
                        "', which has size " + std::to_string(dim.size),
                    "", -1, "from"};
  }
  require_piece(call, dim, rows);
  if (!is_integer(at.dtype) || !at.dims.empty())
    throw OpError{"the position must be an integer scalar, but it is " + to_string(at),
                  at.dims.empty() ? "use cast to make it i32" : "", kAt};
  return {tensor};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  std::vector<Factor> factors = pass_factors(call, results);
  // The devices that hold the replaced rows are known only at run time.
  for (const Dim& rows : rows_of(call.attributes))
    factors.push_back(factor(rows.name, Factor::Kind::kNeedsReplication, call, results));
  return factors;
}

// The tensor's gradient is that of the result with zeros in place of the piece; the piece's gradient is cut
// out there.
std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorType tensor = b.type(node.operands[kTensor]), piece = b.type(node.operands[kPiece]);
  if (!is_float(tensor.dtype)) return {kNoTensor, kNoTensor, kNoTensor};
  const Dim dim = node.attributes.get<Dim>("dim");
  const Dims rows = rows_of(node.attributes);
  const Attributes wide = {{"dtype", DType::kI64}};
  const TensorId at = b.op("cast", {node.operands[kAt]}, wide);
  TensorId replaced = at;
  if (!rows.empty())
    replaced = b.op("add", {b.op("range", {}, {{"dim", rows[0]}, {"dtype", DType::kI64}}), at});
  const TensorId of_piece = b.op("gather", {gradients[0], replaced}, {{"dim", dim}});

  const int64_t count = rows.empty() ? 1 : rows[0].size;
  const TensorId row = b.op("range", {}, {{"dim", dim}, {"dtype", DType::kI64}});
  const TensorId end = b.op("add", {at, b.constant(static_cast<double>(count), DType::kI64)});
  const TensorId inside = b.op("and", {b.op("greater_equal", {row, at}), b.op("less", {row, end})});
  const TensorId of_tensor =
      b.op("where", {inside, b.constant(0, tensor.dtype), gradients[0]}, {{"dims", tensor.dims}});
  return {of_tensor, reduce_to(b, of_piece, piece.dims), kNoTensor};
}

std::vector<Example> examples() {
  const auto row = [](ExampleOperand tensor, ExampleOperand piece, ExampleOperand at, std::string_view dim) {
    return Example{{std::move(tensor), std::move(piece), std::move(at)}, {{"dim", dim_of(dim)}}};
  };
  const auto rows = [](ExampleOperand tensor, ExampleOperand piece, ExampleOperand at, std::string_view dim,
                       std::string_view from) {
    return Example{{std::move(tensor), std::move(piece), std::move(at)},
                   {{"dim", dim_of(dim)}, {"from", dim_of(from)}}};
  };
  return {
      rows(normal("length=7 model=3"), normal("new=2 model=3"), indices("", 6), "length=7", "new=2"),
      rows(normal("batch=3 length=7 model=2"), normal("model=2 new=5 batch=3"), indices("", 3, DType::kI64),
           "length=7", "new=5"),
      rows(normal("model=3 length=7"), normal("new=7 model=3"), indices("", 1), "length=7", "new=7"),
      row(normal("length=7 model=3"), normal("model=3"), indices("", 7), "length=7"),
      row(normal("batch=2 model=3 length=5"), normal("model=3 batch=2"), indices("", 5), "length=5"),
      row(normal("length=3"), normal(""), indices("", 3), "length=3"),
      rows(normal("length=7 model=3", DType::kF32), normal("new=3 model=3", DType::kF32), indices("", 5),
           "length=7", "new=3"),
      rows(steps("batch=5 length=2", DType::kI32), steps("batch=5 new=1", DType::kI32), indices("", 2),
           "length=2", "new=1"),
      row(flags("length=5 model=3"), flags("model=3"), indices("", 5), "length=5"),
  };
}

}  // namespace

extern const OpDef kOp = indexing({
    .name = "update_slice",
    .doc = "The tensor, in which the piece replaces elements along `dim`, beginning at a position "
           "known at run time; the operands are tensor, piece and position.",
    .min_operands = 3,
    .max_operands = 3,
    .attributes = {{"dim", AttributeType::kDim, true, "the dimension of the tensor to write along"},
                   {"from", AttributeType::kDim, false,
                    "the dimension of the piece that lies along `dim`; if absent, the piece is one "
                    "row"}},
    .own_dtypes = {{kAt, DType::kI32}},
    .infer = infer,
    .examples = examples(),
    .worked = {worked(
        {known("length=5", {1, 2, 3, 4, 5}), known("new=2", {8, 9}), known("", {3}, DType::kI32)},
        {{"dim", dim_of("length=5")}, {"from", dim_of("new=2")}}, {{1, 2, 3, 8, 9}})},
    .roles = roles,
    .linear_in = {{kTensor, kPiece}},
    .gradient = gradient,
    .traits = {.position_operand = kAt, .overwrites = true},
});

}  // namespace mtfc::update_slice_op
