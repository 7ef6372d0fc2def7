#include <doctest/doctest.h>

#include <algorithm>
#include <type_traits>

#include "core/graph/graph.h"
#include "core/graph/op_registry.h"
#include "core/op_rules/example.h"

namespace mtfc::ops_test {
namespace {

std::vector<TensorType> types_of(const Example& example) {
  std::vector<TensorType> types;
  for (const ExampleOperand& operand : example.operands) types.push_back(operand.type);
  return types;
}

TensorType type(std::string_view dims, DType dtype = DType::kF32) {
  return {dtype, dims_of(dims)};
}

TensorType result_of(std::string_view op, const std::vector<TensorType>& operands,
                     const Attributes& attributes = {}) {
  return find_signature(op)->infer({attributes, operands}).at(0);
}

/// `message | hint | operand 1 | 'attribute'`, without the parts that are empty.
std::string error_of(std::string_view op, const std::vector<TensorType>& operands,
                     const Attributes& attributes = {}) {
  try {
    find_signature(op)->infer({attributes, operands});
  } catch (const OpError& error) {
    return error.what() + (error.hint.empty() ? "" : " | " + error.hint) +
           (error.operand < 0 ? "" : " | operand " + std::to_string(error.operand)) +
           (error.attribute.empty() ? "" : " | '" + error.attribute + "'");
  }
  return "no error";
}

/// The same for attention over m=7 that contracts k=3.
std::string attention_error(const std::vector<TensorType>& operands, const Attributes& more = {}) {
  Attributes attributes = {{"over", Dim{"m", 7}}, {"dim", Dim{"k", 3}}};
  for (const auto& [name, value] : more.entries()) attributes.set(name, value);
  return error_of("attention", operands, attributes);
}

/// Checks that a factor's dimension has one name and one size wherever it appears (only its size where the factor reads
/// operands through windows), and that every dimension of every tensor has a factor, except for the indexed dimension
/// of operations that take indices.
void check_factors(const OpDef& op, const OpCall& call, const std::vector<TensorType>& results) {
  for (const Factor& factor : op.roles(call, results)) {
    CHECK(factor.operands.size() == call.operands.size());
    CHECK(factor.results.size() == results.size());
    Dims seen;
    for (size_t i = 0; i < factor.operands.size(); ++i)
      if (factor.operands[i] >= 0)
        seen.push_back(call.operands[i].dims.at(static_cast<size_t>(factor.operands[i])));
    for (size_t i = 0; i < factor.results.size(); ++i)
      if (factor.results[i] >= 0) seen.push_back(results[i].dims.at(static_cast<size_t>(factor.results[i])));
    CHECK_FALSE(seen.empty());
    if (factor.kind == Factor::Kind::kPermuted) continue;
    for (const Dim& dim : seen)
      CHECK((dim == seen[0] || (!factor.windows.empty() && dim.size == seen[0].size)));
    if (factor.kind == Factor::Kind::kPass) CHECK(factor.results[0] >= 0);
    if (factor.kind == Factor::Kind::kReduce)
      CHECK(std::any_of(factor.results.begin(), factor.results.end(), [](int at) { return at < 0; }));
  }
}

void check_every_dimension_has_one_factor(const OpDef& op, const OpCall& call,
                                          const std::vector<TensorType>& results) {
  const std::vector<Factor> factors = op.roles(call, results);
  const auto reads = [](const Factor& factor, size_t operand, size_t dim) {
    return std::any_of(factor.windows.begin(), factor.windows.end(), [&](const OperandWindow& window) {
      return static_cast<size_t>(window.operand) == operand && window.split.dim == dim;
    });
  };
  // Factors read a dimension through windows, or it is one of a single factor.
  for (size_t i = 0; i < call.operands.size(); ++i)
    for (size_t d = 0; d < call.operands[i].dims.size(); ++d) {
      const bool is_read =
          std::any_of(factors.begin(), factors.end(), [&](const Factor& f) { return reads(f, i, d); });
      CHECK(std::count_if(factors.begin(), factors.end(), [&](const Factor& f) {
              return f.operands[i] == static_cast<int>(d);
            }) == (is_read ? 0 : 1));
    }
  for (size_t i = 0; i < results.size(); ++i)
    for (size_t d = 0; d < results[i].dims.size(); ++d)
      CHECK(std::count_if(factors.begin(), factors.end(),
                          [&](const Factor& f) { return f.results[i] == static_cast<int>(d); }) == 1);
}

}  // namespace

// Counts are those of one device, factors those of whole tensors.
static_assert(std::is_invocable_v<decltype(OpDef::flops), LocalCall, std::vector<LocalType>>);
static_assert(!std::is_invocable_v<decltype(OpDef::flops), OpCall, std::vector<LocalType>>);
static_assert(!std::is_invocable_v<decltype(OpDef::flops), LocalCall, std::vector<TensorType>>);
static_assert(!std::is_invocable_v<decltype(OpDef::roles), LocalCall, std::vector<TensorType>>);
static_assert(!std::is_invocable_v<decltype(OpDef::roles), OpCall, std::vector<LocalType>>);

TEST_CASE("every example of every operation infers, and its roles and counts fit") {
  for (const OpDef* op : all_ops()) {
    CAPTURE(op->signature.name);
    CHECK_FALSE(op->signature.doc.empty());
    CHECK_FALSE(op->signature.examples.empty());
    for (size_t i = 0; i < op->signature.examples.size(); ++i) {
      CAPTURE(i);
      const Example& example = op->signature.examples[i];
      const std::vector<TensorType> types = types_of(example);
      const OpCall call{example.attributes, types};
      const std::vector<TensorType> results = op->signature.infer(call);
      REQUIRE_FALSE(results.empty());
      const std::vector<LocalType> operands_whole = held_whole(types), results_whole = held_whole(results);
      const LocalCall call_whole{example.attributes, operands_whole};
      CHECK(op->flops(call_whole, results_whole) >= 0);
      if (op->workspace) CHECK(op->workspace(call_whole, results_whole) >= 0);
      if (op->family == Family::kRelabel) {
        CHECK(op->roles(call, results).empty());
        continue;
      }
      check_factors(*op, call, results);
      check_every_dimension_has_one_factor(*op, call, results);
    }
  }
}

TEST_CASE("worked examples of operations and composites have as many results as are inferred") {
  const auto check = [](const Signature& signature) {
    CAPTURE(signature.name);
    for (const WorkedExample& worked : signature.worked) {
      std::vector<TensorType> types;
      for (const KnownTensor& operand : worked.operands) types.push_back(operand.type);
      const std::vector<TensorType> results = signature.infer({worked.attributes, types});
      REQUIRE(results.size() == worked.results.size());
      for (size_t i = 0; i < results.size(); ++i)
        CHECK(elements(results[i].dims) == static_cast<int64_t>(worked.results[i].size()));
    }
  };
  for (const OpDef* op : all_ops()) check(op->signature);
  for (const CompositeDef* composite : all_composites()) check(composite->signature);
}

TEST_CASE("the traits of every operation fit its signature") {
  for (const OpDef* op : all_ops()) {
    CAPTURE(op->signature.name);
    const OpTraits& traits = op->traits;
    const int operands = op->signature.min_operands;
    const auto takes = [&](std::string_view attribute, AttributeType type) {
      return std::any_of(
          op->signature.attributes.begin(), op->signature.attributes.end(),
          [&](const AttributeSpec& spec) { return spec.name == attribute && spec.type == type; });
    };
    if (traits.neutral) CHECK((operands == 2 && op->signature.max_operands == 2));
    if (traits.copies != Copies::kNothing) CHECK((operands == 1 && op->signature.max_operands == 1));
    if (traits.averages) CHECK(op->family == Family::kReduction);
    if (traits.is_constant)
      CHECK((op->family == Family::kGenerator && takes("value", AttributeType::kNumber)));
    CHECK(traits.position_operand < operands);
    if (traits.position_operand >= 0) CHECK(takes("dim", AttributeType::kDim));
    if (traits.own_pace) CHECK((op->family == Family::kElementwise || op->family == Family::kGenerator));
  }
}

TEST_CASE("a contraction is linear in each operand, however many there are") {
  const auto sets = [](std::string_view op, size_t operands) {
    const std::vector<TensorType> types(operands);
    return linear_sets(op_named(op), {{}, types});
  };
  CHECK(sets("einsum", 9) == std::vector<std::vector<int>>{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}});
  CHECK(sets("concat", 3) == std::vector<std::vector<int>>{{0, 1, 2}});
  CHECK(sets("add", 2) == std::vector<std::vector<int>>{{0, 1}});
}

TEST_CASE("a cast is linear where it loses nothing of a float, or may round the terms of a sum") {
  const auto is_linear = [](DType from, DType to, bool rounds = false) {
    const std::vector<TensorType> types = {{from, {}}};
    return !linear_sets(op_named("cast"), {{{"dtype", to}, {kRoundsTerms, rounds}}, types}).empty();
  };
  CHECK(is_linear(DType::kBF16, DType::kF32));
  CHECK(is_linear(DType::kF32, DType::kF64));
  CHECK_FALSE(is_linear(DType::kF32, DType::kBF16));
  CHECK(is_linear(DType::kF32, DType::kBF16, true));
  for (const DType dtype : {DType::kI32, DType::kI64, DType::kBool}) {
    CHECK_FALSE(is_linear(dtype, DType::kF64, true));
    CHECK_FALSE(is_linear(DType::kBF16, dtype, true));
  }
}

TEST_CASE("every example of every composite infers what it expands to") {
  for (const CompositeDef* composite : all_composites()) {
    CAPTURE(composite->signature.name);
    for (const Example& example : composite->signature.examples) {
      GraphBuilder b;
      std::vector<TensorId> operands;
      for (const ExampleOperand& operand : example.operands)
        operands.push_back(b.add_input("x", operand.type));
      const Node node{.kind = NodeKind::kComposite,
                      .composite = composite,
                      .operands = operands,
                      .attributes = example.attributes};
      const std::vector<TensorId> results = composite->expand(b, node);
      const std::vector<TensorType> types = types_of(example);
      const std::vector<TensorType> inferred = composite->signature.infer({example.attributes, types});
      REQUIRE(results.size() == inferred.size());
      for (size_t i = 0; i < results.size(); ++i) CHECK(b.type(results[i]) == inferred[i]);
    }
  }
}

TEST_CASE("operands that differ in dtype from the others have one of their own") {
  for (const std::string& name : operation_names()) {
    CAPTURE(name);
    const Signature& signature = *find_signature(name);
    const auto is_own = [&](int operand) {
      return std::any_of(signature.own_dtypes.begin(), signature.own_dtypes.end(),
                         [&](const OwnDType& own) { return own.operand == operand; });
    };
    const auto is_float_operand = [](const ExampleOperand& operand) { return is_float(operand.type.dtype); };
    for (const OwnDType& own : signature.own_dtypes)
      CHECK(std::any_of(signature.examples.begin(), signature.examples.end(), [&](const Example& example) {
        const auto at = static_cast<size_t>(own.operand);
        return at < example.operands.size() && example.operands[at].type.dtype == own.literal;
      }));
    for (const Example& example : signature.examples) {
      if (std::none_of(example.operands.begin(), example.operands.end(), is_float_operand)) continue;
      for (size_t i = 0; i < example.operands.size(); ++i)
        if (!is_float_operand(example.operands[i])) CHECK(is_own(static_cast<int>(i)));
    }
  }
}

TEST_CASE("element-wise operations align operands by name") {
  CHECK(to_string(result_of("add", {type("a=2 b=3"), type("b=3")})) == "f32[a=2, b=3]");
  CHECK(to_string(result_of("add", {type("b=3"), type("a=2 b=3")})) == "f32[a=2, b=3]");
  CHECK(to_string(result_of("add", {type("b=3"), type("a=2")})) == "f32[b=3, a=2]");
  CHECK(to_string(result_of("add", {type("a=2 b=3"), type("b=3 a=2")})) == "f32[a=2, b=3]");
  CHECK(to_string(result_of("add", {type("a=2"), type("b=3")}, {{"dims", dims_of("b=3 a=2")}})) ==
        "f32[b=3, a=2]");
  CHECK(to_string(result_of("greater_equal", {type("a=2"), type("b=3")})) == "bool[a=2, b=3]");
  CHECK(to_string(result_of("where", {type("a=2", DType::kBool), type("b=3"), type("")})) == "f32[a=2, b=3]");
}

TEST_CASE("element-wise operations refuse what they can't work with") {
  CHECK(error_of("add", {type("a=2"), type("a=2", DType::kI32)}) ==
        "operands have different dtypes: f32[a=2] and i32[a=2] | use cast to make them the same | operand 1");
  CHECK(error_of("exp", {type("a=2", DType::kI32)}) ==
        "needs f32, f64 or bf16, but the operand is i32[a=2] | use cast to make it f32 | operand 0");
  CHECK(error_of("mul", {type("a=2"), type("a=2", DType::kBool)}) ==
        "needs numbers, but the operand is bool[a=2] | use cast to make it f32 or i32 | operand 1");
  CHECK(error_of("sub", {type("a=2"), type("b=3")}, {{"dims", dims_of("a=2")}}) ==
        "'dims' must list every dimension of the result once; it has [a=2], but the result has [a=2, b=3] | "
        "'dims'");
  CHECK(error_of("sub", {type("a=2"), type("b=3")}, {{"dims", dims_of("a=2 a=2")}}) ==
        "'dims' names the dimension 'a' twice | 'dims'");
  CHECK(error_of("where", {type("a=2"), type("a=2"), type("")}) ==
        "the condition must be bool, but it is f32[a=2] | equal and greater_equal make bool | operand 0");
  CHECK(error_of("where", {type("a=2", DType::kBool), type("a=2"), type("", DType::kI32)}) ==
        "the two choices have different dtypes: f32[a=2] and i32[] | use cast to make them the same | "
        "operand 2");
  CHECK(error_of("and", {type("a=2", DType::kBool), type("a=2")}) ==
        "needs bool, but the operand is f32[a=2] | use cast to make it bool | operand 1");
  CHECK(error_of("not", {type("a=2", DType::kI32)}) ==
        "needs bool, but the operand is i32[a=2] | use cast to make it bool | operand 0");
  CHECK(error_of("less", {type("a=2", DType::kBool), type("a=2", DType::kBool)}) ==
        "needs numbers, but the operand is bool[a=2] | use cast to make it f32 or i32 | operand 0");
  CHECK(error_of("not_equal", {type("a=2", DType::kI32), type("a=2", DType::kI64)}) ==
        "operands have different dtypes: i32[a=2] and i64[a=2] | use cast to make them the same | operand 1");
  CHECK(error_of("pow", {type("a=2"), type("", DType::kI32)}) ==
        "needs f32, f64 or bf16, but the operand is i32[] | use cast to make it f32 | operand 1");
  CHECK(to_string(result_of("not_equal", {type("a=2", DType::kBool), type("b=3", DType::kBool)})) ==
        "bool[a=2, b=3]");
}

TEST_CASE("attention names the operand or attribute that is wrong") {
  const TensorType q = type("b=2 l=5 k=3"), k = type("b=2 m=7 k=3"), draws = type("l=5 b=2", DType::kI64),
                   mask = type("b=2 m=7", DType::kBool), bias = type("l=5 m=7");
  CHECK(attention_error({q, k, k}) == "no error");
  CHECK(attention_error({q, k, k, bias}) == "no error");
  CHECK(attention_error({q, k, k, bias, mask, draws}, {{"dropout", 0.5}}) == "no error");
  CHECK(attention_error({q, k, k, type("l=5 m=7", DType::kF64)}) ==
        "the bias is f64[l=5, m=7], but it must be f32 as q is | use cast | operand 3");
  CHECK(attention_error({q, k, k, mask, bias}) ==
        "only a bias and a mask may follow q, k and v | with 'dropout', numbers of the queries follow too | "
        "operand 4");
  CHECK(attention_error({q, k, k, bias, bias}) ==
        "the mask is f32[l=5, m=7], but it must be bool | use cast or a comparison | operand 4");
  CHECK(attention_error({q, k, k, mask}) == "no error");
  CHECK(attention_error({q, k, k, draws}, {{"dropout", 0.5}}) == "no error");
  CHECK(attention_error({q, k, k, mask, draws}, {{"dropout", 0.5}}) == "no error");
  CHECK(
      attention_error({q, type("b=2 m=7 k=3", DType::kF64), k}) ==
      "k is f64[b=2, m=7, k=3], but q, k and v must be all f32, all f64 or all bf16 | use cast | operand 1");
  CHECK(attention_error({type("b=2 l=5"), k, k}) ==
        "'dim' names the dimension 'k', which q, f32[b=2, l=5], lacks | 'dim'");
  CHECK(attention_error({q, k, type("b=2 k=3")}) ==
        "'over' names the dimension 'm', which v, f32[b=2, k=3], lacks | 'over'");
  CHECK(attention_error({q, type("b=2 h=4 m=7 k=3"), k}) ==
        "k has the dimension 'h', which q, f32[b=2, l=5, k=3], lacks | use broadcast | operand 0");
  CHECK(
      attention_error({q, k, type("b=2 m=7")}) ==
      "v is f32[b=2, m=7], but it needs one dimension beside 'm' and the batch dimensions [b=2] | operand 2");
  CHECK(attention_error({q, k, type("b=2 m=7 l=5")}) ==
        "v's dimension 'l' is also a dimension of q that k lacks | rename it | operand 2");
  CHECK(attention_error({q, k, k}, {{"causal", true}}) ==
        "'causal' needs 'positions', the dimension of the queries that counts along 'm'");
  CHECK(attention_error({q, k, k}, {{"window", int64_t{-1}}}) ==
        "'window' is negative | 0 is no window | 'window'");
  CHECK(attention_error({q, k, k}, {{"window", int64_t{4}}, {"positions", Dim{"b", 2}}}) ==
        "'positions' names the dimension 'b', which does not tell the queries apart: [l=5] do | 'positions'");
  CHECK(attention_error({q, k, k, k}) ==
        "the bias has the dimension 'k', which the scores, of [b=2, l=5, m=7], lack | rename it | operand 3");
  CHECK(attention_error({q, k, k, type("b=2 m=7", DType::kI32)}) ==
        "the mask is i32[b=2, m=7], but it must be bool | use cast or a comparison | operand 3");
  CHECK(attention_error({q, k, k, type("b=2 x=7", DType::kBool)}) ==
        "the mask has the dimension 'x', which the scores, of [b=2, l=5, m=7], lack | rename it | operand 3");
  CHECK(attention_error({q, k, k, mask, draws}) ==
        "only a bias and a mask may follow q, k and v | with 'dropout', numbers of the queries follow too | "
        "operand 4");
  CHECK(attention_error({q, k, k}, {{"dropout", 0.5}}) ==
        "'dropout' needs one more operand, i64[b=2, l=5], with a number for each query | dropout_attention "
        "makes "
        "these numbers by itself | 'dropout'");
  CHECK(attention_error({q, k, k, mask}, {{"dropout", 0.5}}) ==
        "the numbers of the queries, for 'dropout', are bool[b=2, m=7], but they must be i64[b=2, l=5] | "
        "operand 3");
  CHECK(attention_error({q, k, k, draws}, {{"dropout", 1.0}}) ==
        "'dropout' must be at least 0 and less than 1, but it is 1 | 'dropout'");
}

TEST_CASE("einsum and reductions name the dimension that is wrong") {
  const TensorType x = type("batch=5 hidden=7"), w = type("hidden=7 io=3");
  CHECK(to_string(result_of("einsum", {x, w}, {{"over", dims_of("hidden=7")}})) == "f32[batch=5, io=3]");
  CHECK(error_of("einsum", {x, w}, {{"over", dims_of("hiden=7")}}) ==
        "'over' names the dimension 'hiden', which is not in any of the operands | did you mean 'hidden'? | "
        "'over'");
  CHECK(error_of("einsum", {x, w}) ==
        "needs 'dims', the dimensions of the result, or 'over', the dimensions to contract");
  CHECK(error_of("einsum", {x, w}, {{"over", dims_of("io=3")}, {"dims", dims_of("batch=5")}}) ==
        "'dims' and 'over' exclude each other | use one of them | 'over'");
  CHECK(error_of("reduce_sum", {x}, {{"over", dims_of("io=3")}}) ==
        "'over' names the dimension 'io', which is not in f32[batch=5, hidden=7] | 'over'");
  CHECK(error_of("reduce_max", {x}, {{"over", dims_of("batch=5")}, {"dims", dims_of("batch=5")}}) ==
        "'over' and 'dims' exclude each other | use one of them | 'dims'");
  CHECK(error_of("reduce_mean", {type("batch=5", DType::kI32)}) ==
        "needs f32, f64 or bf16, but the operand is i32[batch=5] | use cast to make it f32 | operand 0");
  CHECK(to_string(result_of("reduce_sum", {x})) == "f32[]");
  CHECK(to_string(result_of("reduce_sum", {type("a=2 b=3 c=5")}, {{"dims", dims_of("c=5 a=2")}})) ==
        "f32[c=5, a=2]");
  CHECK(error_of("argmax", {x}, {{"over", dims_of("batch=5 hidden=7")}}) ==
        "'over' must name one dimension | 'over'");
  CHECK(error_of("reduce_any", {x}) ==
        "needs bool, but the operand is f32[batch=5, hidden=7] | use cast to make it bool | operand 0");
  CHECK(error_of("reduce_prod", {type("batch=5", DType::kBool)}) ==
        "needs numbers, but the operand is bool[batch=5] | use cast to make it f32 or i32 | operand 0");
  CHECK(error_of("logsumexp", {type("batch=5", DType::kI32)}) ==
        "needs f32, f64 or bf16, but the operand is i32[batch=5] | use cast to make it f32 | operand 0");
}

TEST_CASE("normalization says what it can't do") {
  const TensorType x = type("batch=5 model=7");
  CHECK(to_string(result_of("layer_norm", {x}, {{"over", dims_of("model=7")}})) == "f32[batch=5, model=7]");
  CHECK(error_of("layer_norm", {x}, {{"over", Dims{}}}) == "'over' names no dimension | 'over'");
  CHECK(
      error_of("rms_norm", {x}, {{"over", dims_of("modell=7")}}) ==
      "'over' names the dimension 'modell', which is not in f32[batch=5, model=7] | did you mean 'model'? | "
      "'over'");
  CHECK(error_of("rms_norm", {x}, {{"over", dims_of("model=7 model=7")}}) ==
        "'over' names the dimension 'model' twice | 'over'");
  CHECK(error_of("layer_norm", {x}, {{"over", dims_of("model=7")}, {"eps", -0.5}}) ==
        "'eps' is -0.5, but it is added under a square root | use a small positive number | 'eps'");
  CHECK(error_of("rms_norm", {type("a=2", DType::kI32)}, {{"over", dims_of("a=2")}}) ==
        "needs f32, f64 or bf16, but the operand is i32[a=2] | use cast to make it f32 | operand 0");
}

TEST_CASE("relabelling and movement check sizes and names") {
  const TensorType x = type("a=4 b=6");
  CHECK(error_of("reshape", {x}, {{"dims", dims_of("c=5 d=5")}}) ==
        "[a=4, b=6] has 24 elements, but 'dims' [c=5, d=5] has 25 | 'dims'");
  CHECK(error_of("rename", {x}, {{"map", std::vector<Renaming>{{"a", dim_of("c=5")}}}}) ==
        "'map' renames 'a' of size 4 to 'c' of size 5 | the sizes must be the same; use reshape to change "
        "them | "
        "'map'");
  CHECK(error_of("rename", {type("a=4 b=4")}, {{"map", std::vector<Renaming>{{"a", dim_of("b=4")}}}}) ==
        "'map' leaves two dimensions named 'b' | 'map'");
  CHECK(error_of("rename", {x}, {{"map", std::vector<Renaming>{{"length", dim_of("d=4")}}}}) ==
        "'map' names the dimension 'length', which is not in f32[a=4, b=6] | 'map'");
  CHECK(to_string(result_of("rename", {type("a=4 b=4")},
                            {{"map", std::vector<Renaming>{{"a", dim_of("b=4")}, {"b", dim_of("a=4")}}}})) ==
        "f32[b=4, a=4]");
  CHECK(error_of("broadcast", {x}, {{"dims", dims_of("a=4 c=5")}}) ==
        "'dims' must name every dimension of the operand, but 'b' is missing | reduce_sum and the other "
        "reductions "
        "remove a dimension | 'dims'");
  CHECK(error_of("transpose", {x}, {{"dims", dims_of("a=4")}}) ==
        "'dims' must list every dimension of the result once; it has [a=4], but the result has [a=4, b=6] | "
        "'dims'");
}

TEST_CASE("gather and scatter_add check table, indices and dimensions") {
  const TensorType table = type("vocab=7 model=3"), index = type("batch=5", DType::kI32);
  const Attributes vocab = {{"dim", dim_of("vocab=7")}};
  CHECK(to_string(result_of("gather", {table, index}, vocab)) == "f32[batch=5, model=3]");
  CHECK(to_string(result_of("gather", {type("batch=5 vocab=7"), index}, vocab)) == "f32[batch=5]");
  CHECK(error_of("gather", {table, type("batch=5")}, vocab) ==
        "the indices must be i32 or i64, but they are f32[batch=5] | use cast to make them i32 | operand 1");
  CHECK(error_of("gather", {table, index}, {{"dim", dim_of("vocap=7")}}) ==
        "'dim' names the dimension 'vocap', which is not in the table f32[vocab=7, model=3] | did you mean "
        "'vocab'? | "
        "'dim'");
  CHECK(to_string(result_of("scatter_add", {type("batch=5 model=3"), index}, vocab)) ==
        "f32[vocab=7, model=3]");
  CHECK(to_string(result_of("scatter_add", {type("model=3"), index}, vocab)) == "f32[vocab=7, model=3]");
  CHECK(error_of("scatter_add", {type("batch=5 vocab=7"), index}, vocab) ==
        "the updates have the indexed dimension 'vocab', but the indices do not | rename one of the two | "
        "operand 0");
  CHECK(error_of("scatter_add", {type("batch=5 model=3"), index},
                 {{"dim", dim_of("vocab=7")}, {"dims", dims_of("vocab=7 batch=5")}}) ==
        "'dims' must name 'model' | 'dims'");
}

TEST_CASE("gather, scatter_add and gather_dot check their third operand, and what is added up") {
  const TensorType table = type("vocab=7 model=3"), index = type("batch=5 choice=2", DType::kI32);
  const TensorType weights = type("choice=2 batch=5");
  const Attributes vocab = {{"dim", dim_of("vocab=7")}};
  const Attributes over = {{"dim", dim_of("vocab=7")}, {"over", dims_of("choice=2")}};
  CHECK(to_string(result_of("gather", {table, index, weights}, over)) == "f32[batch=5, model=3]");
  CHECK(error_of("gather", {table, index, type("batch=5")}, vocab) ==
        "the weights must have the dimensions of the indices i32[batch=5, choice=2], but they are "
        "f32[batch=5] | use broadcast, or reduce_sum over the others | operand 2");
  CHECK(
      error_of("gather", {table, index, type("batch=5 choice=2", DType::kF64)}, vocab) ==
      "the weights are f64[batch=5, choice=2], but the first operand is f32[vocab=7, model=3] | use cast to "
      "make the dtypes agree | operand 2");
  CHECK(error_of("gather", {table, index}, {{"dim", dim_of("vocab=7")}, {"over", dims_of("model=3")}}) ==
        "'over' names the dimension 'model', which is not in the indices i32[batch=5, choice=2] | 'over'");
  CHECK(error_of("scatter_add", {type("batch=5 model=3"), index, type("batch=5 model=3")}, vocab) ==
        "the weights must have the dimensions of the indices i32[batch=5, choice=2], but they are "
        "f32[batch=5, model=3] | use broadcast, or reduce_sum over the others | operand 2");
  CHECK(to_string(result_of("gather_dot", {table, index, type("batch=5 model=3")}, vocab)) ==
        "f32[batch=5, choice=2]");
  CHECK(error_of("gather_dot", {table, index, type("batch=5")}, vocab) ==
        "the third operand f32[batch=5] lacks the table's dimension 'model' | use broadcast | operand 2");
  CHECK(error_of("gather_dot", {table, index, type("model=3 other=4")}, vocab) ==
        "the third operand f32[model=3, other=4] has the dimension 'other', which neither the table's slices "
        "nor the indices have | rename it, or use reduce_sum | operand 2");
}

TEST_CASE("count_before checks what it counts along") {
  const TensorType index = type("batch=5 choice=2", DType::kI32);
  CHECK(to_string(result_of("count_before", {index},
                            {{"dim", dim_of("experts=7")}, {"over", dims_of("choice=2 batch=5")}})) ==
        "i32[batch=5, choice=2]");
  CHECK(error_of("count_before", {index}, {{"dim", dim_of("experts=7")}, {"over", dims_of("tokens=5")}}) ==
        "'over' names the dimension 'tokens', which is not in the indices i32[batch=5, choice=2] | 'over'");
  CHECK(error_of("count_before", {type("batch=5")},
                 {{"dim", dim_of("experts=7")}, {"over", dims_of("batch=5")}}) ==
        "the indices must be i32 or i64, but they are f32[batch=5] | use cast to make them i32 | operand 0");
}

TEST_CASE("one_hot and update_slice check dimensions") {
  const TensorType index = type("batch=5", DType::kI32);
  CHECK(to_string(result_of("one_hot", {index}, {{"dim", dim_of("classes=7")}})) ==
        "f32[batch=5, classes=7]");
  CHECK(
      error_of("one_hot", {index}, {{"dim", dim_of("batch=5")}}) ==
      "the indices i32[batch=5] have the dimension 'batch' already | rename it, or name another dimension | "
      "'dim'");
  CHECK(error_of("one_hot", {type("batch=5")}, {{"dim", dim_of("classes=7")}}) ==
        "the indices must be i32 or i64, but they are f32[batch=5] | use cast to make them i32 | operand 0");
  const TensorType cache = type("length=7 model=3"), at = type("", DType::kI32);
  const Attributes row = {{"dim", dim_of("length=7")}};
  CHECK(to_string(result_of("update_slice", {cache, type("model=3"), at}, row)) == "f32[length=7, model=3]");
  CHECK(error_of("update_slice", {cache, type("length=7 model=3"), at}, row) ==
        "the piece f32[length=7, model=3] has the dimension 'length', along which it replaces elements of "
        "the tensor "
        "| rename this dimension of the piece, and name it in 'from' | operand 1");
  CHECK(error_of("update_slice", {cache, type("new=2 model=3"), at}, row) ==
        "the piece must have the dimensions [model=3], but it is f32[new=2, model=3] | state in 'from' which "
        "dimension of the piece lies along 'length' | operand 1");
  CHECK(error_of("update_slice", {cache, type("new=8 model=3"), at},
                 {{"dim", dim_of("length=7")}, {"from", dim_of("new=8")}}) ==
        "a piece of 8 does not fit into 'length', which has size 7 | 'from'");
  CHECK(error_of("update_slice", {cache, type("model=3", DType::kF64), at}, row) ==
        "operands have different dtypes: f32[length=7, model=3] and f64[model=3] | use cast to make them the "
        "same | operand 1");
  CHECK(error_of("update_slice", {cache, type("model=3"), type("")}, row) ==
        "the position must be an integer scalar, but it is f32[] | use cast to make it i32 | operand 2");
  CHECK(error_of("update_slice", {cache, type("model=3"), type("batch=5", DType::kI32)}, row) ==
        "the position must be an integer scalar, but it is i32[batch=5] | operand 2");
}

TEST_CASE("cumsum and top_k check dimensions and sizes") {
  const TensorType x = type("batch=5 classes=7");
  CHECK(error_of("cumsum", {x}, {{"dim", dim_of("clases=7")}}) ==
        "'dim' names the dimension 'clases', which is not in f32[batch=5, classes=7] | did you mean "
        "'classes'? | 'dim'");
  const auto top = [](std::string_view to) {
    return Attributes{{"dim", dim_of("classes=7")}, {"to", dim_of(to)}};
  };
  CHECK(to_string(result_of("top_k", {x}, top("best=7"))) == "f32[batch=5, best=7]");
  CHECK(error_of("top_k", {x}, top("best=8")) ==
        "can't take the 8 largest elements of 'classes', which has only 7 | 'to'");
  CHECK(error_of("top_k", {x}, top("batch=5")) ==
        "'to' names the dimension 'batch', which f32[batch=5, classes=7] has already | 'to'");
  Attributes stated = top("best=2");
  stated.set("k", int64_t{3});
  CHECK(error_of("top_k", {x}, stated) ==
        "'k' is 3, but 'to' names the dimension 'best' of size 2 | leave 'k' out, or make it the "
        "size of 'best' | 'k'");
}

TEST_CASE("generators check what they are to make") {
  CHECK(error_of("constant", {}, {{"value", 0.5}, {"dtype", DType::kI32}}) ==
        "0.5 is not a whole number, as i32 needs | 'value'");
  CHECK(error_of("constant", {}, {{"value", 3e9}, {"dtype", DType::kI32}}) ==
        "3000000000 is out of the range of i32 | 'value'");
  CHECK(error_of("random_normal", {}, {{"dims", dims_of("a=2")}, {"dtype", DType::kI32}}) ==
        "'dtype' must be f32, f64 or bf16, not i32 | use cast for other types | 'dtype'");
  CHECK(error_of("range", {}, {{"dim", dim_of("a=2")}, {"dtype", DType::kBool}}) ==
        "an index is a number, but 'dtype' is bool | 'dtype'");
}

TEST_CASE("dropout checks its rate") {
  CHECK(error_of("dropout", {type("batch=5")}, {{"rate", 1.0}}) ==
        "'rate' must be at least 0 and less than 1, but it is 1 | 'rate'");
  CHECK(error_of("dropout", {type("batch=5", DType::kI32)}, {{"rate", 0.5}}) ==
        "needs f32, f64 or bf16, but the operand is i32[batch=5] | use cast to make it f32 | operand 0");
}

TEST_CASE("the cross-entropy says which labels it wants") {
  const TensorType logits = type("batch=5 classes=7");
  const Attributes over = {{"over", dims_of("classes=7")}};
  CHECK(to_string(result_of("softmax_cross_entropy", {logits, type("batch=5", DType::kI32)}, over)) ==
        "f32[batch=5]");
  CHECK(error_of("softmax_cross_entropy", {logits, type("batch=5 classes=7", DType::kI32)}, over) ==
        "integer labels are class indices and must not have the class dimension 'classes', but they are "
        "i32[batch=5, classes=7] | cast them to f32 if they are a distribution | operand 1");
  CHECK(error_of("softmax_cross_entropy", {logits, type("batch=5")}, over) ==
        "a distribution must have the class dimension 'classes', but the labels are f32[batch=5] | class "
        "indices are "
        "i32 or i64 | operand 1");
  CHECK(
      error_of("softmax_cross_entropy", {logits, type("rows=3", DType::kI32)}, over) ==
      "the labels have the dimension 'rows', which is not in the logits f32[batch=5, classes=7] | operand 1");
  CHECK(error_of("softmax", {logits}, {{"over", Dims{}}}) == "'over' names no dimension | 'over'");
}

}  // namespace mtfc::ops_test
